// An object that lives in one process and is called from all.   towline run -n 4 04_remote_object
#include <towline/object.hpp>
#include <towline/world.hpp>

#include <cstdio>
#include <mutex>

class tally {
public:
    explicit tally(long start) : n_(start) {}
    ~tally() { std::printf("the tally of %ld has ended\n", n_); }
    long add(long d)
    {
        std::scoped_lock lock(mutex_);  // calls run at the same time
        return n_ += d;
    }

private:
    std::mutex mutex_;
    long n_;
};

// The handle is an argument; it counts as a reference.
void join(towline::remote<tally> const& t, int rank)
{
    towline::async<&tally::add>(t, rank).get();
}

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    if (w.rank() != 0)
        return 0;  // the end of the world answers calls
    auto t = towline::create<tally>(w.next(), 100).get();
    for (towline::locality l : w.all())
        towline::async<&join>(l, t, l.rank()).get();
    std::printf("the tally at rank %d is %ld\n", t.where().rank(), towline::async<&tally::add>(t, 0).get());
}
