// What the accounting says of arguments and results: handed over, copied once, never copied twice under the launcher. Ranks other than 0
// answer.
#include "remote_check.hpp"

#include "heap/heap.hpp"

#include <towline/rma_object.hpp>
#include <towline/serialize_buffer.hpp>
#include <towline/towline.hpp>

#include <chrono>
#include <thread>

namespace tl = towline;
using vector = tl::rma_vector<double>;

static vector back(vector v)
{
    v[0] += 1;
    return v;
}
static double look(vector const& v) { return v[v.size() - 1]; }
static double look_plain(std::vector<double> const& v) { return v.back(); }
static double look_buffer(tl::serialize_buffer<double> b) { return b.data()[b.size() - 1]; }
static double look_view(std::span<double const> v) { return v.back(); }
static std::vector<double> make(std::size_t n) { return std::vector<double>(n, 3.0); }
static vector make_given(std::size_t n) { return vector(n, 4.0); }
struct table {
    double cells[20'000];
};
static tl::rma_object<table> fill(tl::rma_object<table> t)
{
    t->cells[19'999] = 5;
    return t;
}
static tl::statistics theirs() { return tl::stats(); }

// Both ranks' counters: who counts is the engine's choice.
struct both {
    tl::statistics here, there;
    static both now(tl::locality peer) { return {tl::stats(), tl::async<&theirs>(peer).get()}; }
    std::uint64_t since(both const& b, std::uint64_t tl::statistics::*counter) const
    {
        return here.since(b.here).*counter + (&here == &there ? 0 : there.since(b.there).*counter);
    }
};

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    CHECK(w.size() == 2);
    if (w.rank() != 0)
        return 0;
    tl::locality const peer = w.next();
    using s = tl::statistics;
    for (std::size_t bytes = 64 << 10; bytes <= std::size_t{256} << 20; bytes *= 16) {
        std::size_t const n = bytes / sizeof(double);
        {
            vector v(n, 1.0);
            void const* const block = v.data();
            both const before = both::now(peer);
            v = tl::async<&back>(peer, std::move(v)).get();
            both const after = both::now(peer);
            CHECK(after.since(before, &s::bytes_handed_over) == 2 * bytes);
            CHECK(after.since(before, &s::bytes_copied_once) == 0 && after.since(before, &s::bytes_copied_twice) == 0);
            CHECK(v.size() == n && v[0] == 2.0 && v[n - 1] == 1.0 && v.data() == block);
        }
        {
            both const before = both::now(peer);
            vector const v = tl::async<&make_given>(peer, n).get();
            both const after = both::now(peer);
            CHECK(after.since(before, &s::bytes_handed_over) == bytes && after.since(before, &s::bytes_copied_once) == 0);
            CHECK(v[n - 1] == 4.0);
        }
        auto const copied = [&](std::size_t once, auto&& call, double expected, std::size_t twice = 0) {
            both const before = both::now(peer);
            CHECK(call() == expected);
            // A message that is looked at in place is counted when it ends, which may be after the answer to it.
            both after = both::now(peer);
            // What its sender pushes while the receiver copies counts as once here: which of the two ways is taken is a matter of time.
            auto const moved_once = [&] { return after.since(before, &s::bytes_copied_once) + after.since(before, &s::bytes_pushed); };
            for (int i = 0; i < 1000 && moved_once() != once; ++i) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                after = both::now(peer);
            }
            CHECK(moved_once() == once && after.since(before, &s::bytes_handed_over) == 0);
            CHECK(after.since(before, &s::bytes_copied_twice) - after.since(before, &s::bytes_pushed) == twice);
        };
        auto const copied_once = [&](auto&& call, double expected) { copied(bytes, call, expected); };
        vector const shared(n, 7.0);
        copied_once([&] { return tl::async<&look>(peer, shared).get(); }, 7.0);
        std::vector<double> plain(n, 8.0);
        copied_once([&] { return tl::async<&look_plain>(peer, tl::borrow(plain)).get(); }, 8.0);
        // A view of memory that every rank maps, as malloc gives it under the launcher, is a view of the original.
        copied(
            towline::heap::contains(plain.data()) ? 0 : bytes, [&] { return tl::async<&look_view>(peer, tl::borrow(plain)).get(); }, 8.0);
        // As it is: copied before async returns, and then the callee's, where its vectors can own blocks of the shared heap.
        bool const owns = towline::heap::delete_releases();
        CHECK(owns == towline::heap::contains(plain.data()));
        copied(owns ? bytes : 0, [&] { return tl::async<&look_plain>(peer, plain).get(); }, 8.0, owns ? 0 : bytes);
        copied_once([&] { return tl::async<&look_plain>(peer, std::move(plain)).get(); }, 8.0);
        std::vector<double> memory(n, 9.0);
        tl::serialize_buffer<double> const buffer(memory.data(), n, tl::serialize_buffer<double>::reference);
        copied_once([&] { return tl::async<&look_buffer>(peer, buffer).get(); }, 9.0);
        copied_once([&] { return tl::async<&make>(peer, n).get()[n - 1]; }, 3.0);
    }
    for (std::size_t n : {1, 7, 100, 1000}) {
        vector v(n, 1.0);
        void const* const block = v.data();
        both const before = both::now(peer);
        v = tl::async<&back>(peer, std::move(v)).get();
        both const after = both::now(peer);
        CHECK(v.data() == block && after.since(before, &s::bytes_handed_over) == 2 * n * sizeof(double));
    }
    {
        tl::rma_object<table> t;
        both const before = both::now(peer);
        t = tl::async<&fill>(peer, std::move(t)).get();
        both const after = both::now(peer);
        CHECK(t->cells[19'999] == 5 && after.since(before, &s::bytes_handed_over) == 2 * sizeof(table) &&
              after.since(before, &s::bytes_copied_once) == 0);
    }
    {
        // A vector of the peer's arena that ends here goes back there: the arena does not run out.
        for (int i = 0; i < 200; ++i)
            CHECK(tl::async<&make_given>(peer, 1 << 20).get().size() == 1 << 20);
        vector keep = tl::async<&make_given>(peer, 1000).get();
        keep.push_back(1);  // grows into memory of this process
        vector other = keep;
        other.push_back(2);
        CHECK(keep.size() == 1001 && other.size() == 1002 && keep[0] == 4.0);
        both const before = both::now(peer);
        std::uint64_t const calls = tl::stats().calls_sent;
        tl::post<[](int) {}>(peer, 1);
        CHECK(tl::stats().calls_sent == calls + 1 && both::now(peer).there.calls_handled > before.there.calls_handled);
    }
}
