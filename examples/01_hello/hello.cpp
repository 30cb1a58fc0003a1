// Every process greets the next one.   towline run -n 4 01_hello
#include <towline/async.hpp>
#include <towline/world.hpp>

#include <cstdio>
#include <string>

std::string greet(std::string const& name)
{
    return "hello, " + name + ", from rank " + std::to_string(towline::here().rank());  // where this function runs
}

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    towline::future<std::string> answer = towline::async<&greet>(w.next(), "rank " + std::to_string(w.rank()));
    std::printf("rank %d of %d got: %s\n", w.rank(), w.size(), answer.get().c_str());
}
