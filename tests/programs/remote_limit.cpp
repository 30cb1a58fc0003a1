// TOWLINE_MAX_MESSAGE bounds what decoding a message may allocate, at the callee and at the caller. Run with 1M.
#include "remote_check.hpp"

#include <towline/towline.hpp>

namespace tl = towline;

static std::size_t size_of(std::vector<double> const& v) { return v.size(); }
static std::size_t size_seen(std::span<double const> v) { return v.size(); }
static std::vector<double> make(std::size_t n) { return std::vector<double>(n, 1.0); }

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    if (w.rank() != 0)
        return 0;
    std::size_t const small = (1 << 20) / sizeof(double) - 100, big = small * 4;
    std::vector<double> const fits(small), exceeds(big);
    CHECK(tl::async<&size_of>(w.next(), fits).get() == small);
    CHECK(tl::async<&make>(w.next(), small).get().size() == small);
    THROWS(tl::archive_error, "budget", static_cast<void>(tl::async<&size_of>(w.next(), exceeds).get()));
    THROWS(tl::archive_error, "budget", static_cast<void>(tl::async<&make>(w.next(), big).get()));
    THROWS(tl::error, "budget", static_cast<void>(tl::async<&size_of>(w.all(), exceeds).get()));
    THROWS(tl::error, "budget", static_cast<void>(tl::async<&make>(w.all(), big).get()));
    CHECK(tl::async<&size_of>(w.next(), fits).get() == small);
    // What is looked at where it is needs no memory of the callee's.
    if (w.size() > 1)
        CHECK(tl::async<&size_seen>(w.next(), tl::borrow(exceeds)).get() == big);
}
