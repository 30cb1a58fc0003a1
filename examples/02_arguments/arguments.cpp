// Structures, containers and views as arguments: nothing to write for them.   towline run -n 2 02_arguments
#include <towline/async.hpp>
#include <towline/world.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

struct particle {
    double x, y, z;
    std::string tag;
};

std::size_t count(std::vector<particle> const& all, std::string const& tag)
{
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](particle const& p) { return p.tag == tag; }));
}

// The span looks into the message: nothing is copied or allocated here.
double last(std::span<double const> values)
{
    return values.empty() ? throw std::invalid_argument("there is no last one") : values.back();
}

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    std::vector<particle> const ps{{0, 0, 1, "red"}, {1, 2, 3, "blue"}, {4, 5, 6, "red"}};
    std::vector<double> field(100'000, 0.5);
    auto x = towline::async<&last>(w.next(), towline::borrow(field));  // read where it is: leave it alone until sent
    x.sent().get();
    field.clear();
    std::printf("rank %d: %zu red, last %.1f\n", w.rank(), towline::async<&count>(w.next(), ps, "red").get(), x.get());
    try {
        towline::async<&last>(w.next(), field).get();
    } catch (towline::remote_error const& e) {
        std::printf("rank %d: %s\n", w.rank(), e.what());
    }
}
