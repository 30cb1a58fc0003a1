// One big argument and a word back, two ranks under `towline run -n 2 --bind core`.
//
//   vector         a std::vector, for a handler that takes std::vector const&: the caller copies it, the handler's vector owns the copy
//   vector_span    a std::vector, for a handler that takes a std::span: the caller copies it, the handler looks at the copy
//   borrow_vector  a std::vector lent to the call, for a handler that takes std::vector const&: copied once, into the handler's vector
//   borrow_span    a std::vector lent to the call (towline::borrow), for a handler that takes a std::span
//   rma_shared     an rma_vector that the caller keeps, for a handler that takes an rma_vector: copied once
//   ..._small      64 KiB only: the function is marked as small and runs where the message arrives, not on a worker
//
// untouched: the caller does not write the data between turns, the handler does not read them.
// rewritten: the caller writes every word before each call (not timed), the handler reads every word (timed) and returns their sum.

#include "harness.hpp"
#include "harness/data.hpp"

#include <towline/towline.hpp>

#include <cstdio>
#include <map>

namespace {

using bench::word;

word look(std::span<word const> data, bool read)
{
    return read ? bench::sum(data) : data.size();
}
word take_vector(std::vector<word> const& data, bool read)
{
    return look(data, read);
}
word take_span(std::span<word const> data, bool read)
{
    return look(data, read);
}
word take_shared(towline::rma_vector<word> const& data, bool read)
{
    return look({data.data(), data.size()}, read);
}

// The same functions, marked.
word take_vector_small(std::vector<word> const& data, bool read)
{
    return look(data, read);
}
word take_span_small(std::span<word const> data, bool read)
{
    return look(data, read);
}
word take_shared_small(towline::rma_vector<word> const& data, bool read)
{
    return look({data.data(), data.size()}, read);
}

/// `call(data, read)` passes one of `fields`: one per size, kept, so that its pages stay warm.
template <class Container, class Call>
void offer(bench::program& program, std::string const& variant, std::map<std::uint64_t, Container>& fields, Call call,
           std::span<std::uint64_t const> sizes = bench::argument_sizes)
{
    for (auto const size : sizes)
        for (std::string const mode : bench::modes)
            program.add({.name = "argument", .size = size, .mode = mode, .subject = "towline", .variant = variant}, [=, &fields](bench::sampler& b) {
                static word seed = 0;
                auto const n = bench::words(size);
                bool const rewritten = mode == "rewritten";
                bool good = true;
                Container& data = fields[size];
                data.resize(n);
                auto write = [&] { bench::rewrite({data.data(), n}, ++seed); };
                write();
                // Warm: where the caller copies, two blocks take turns, because one is given back after the answer.
                static_cast<void>(call(data, false) + call(data, false));
                if (rewritten)
                    b.each(bench::repeats(size), write, [&] { good = call(data, true) == bench::expected(n, seed) && good; });
                else
                    b.batch(bench::repeats(size), [&] { good = call(data, false) == n && good; });
                b.check(good && call(data, true) == bench::expected(n, seed), "the data did not arrive as they were sent");
            });
}

} // namespace

template <>
inline constexpr bool towline::small<&take_vector_small> = true;
template <>
inline constexpr bool towline::small<&take_span_small> = true;
template <>
inline constexpr bool towline::small<&take_shared_small> = true;

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "argument", "One big argument; run it with `towline run -n 2 --bind core`.");
    towline::world w(argc, argv);
    if (w.size() != 2) {
        std::fprintf(stderr, "argument: needs two ranks: towline run -n 2 --bind core %s\n", argv[0]);
        return 2;
    }
    if (w.rank() != 0)
        return 0;
    auto const peer = w.next();
    std::map<std::uint64_t, std::vector<word>> plain;
    std::map<std::uint64_t, towline::rma_vector<word>> shared;
    offer(program, "vector", plain, [=](auto& v, bool read) { return towline::async<&take_vector>(peer, v, read).get(); });
    offer(program, "vector_span", plain, [=](auto& v, bool read) { return towline::async<&take_span>(peer, v, read).get(); });
    offer(program, "borrow_vector", plain, [=](auto& v, bool read) { return towline::async<&take_vector>(peer, towline::borrow(v), read).get(); });
    offer(program, "borrow_span", plain, [=](auto& v, bool read) { return towline::async<&take_span>(peer, towline::borrow(v), read).get(); });
    offer(program, "rma_shared", shared, [=](auto& v, bool read) { return towline::async<&take_shared>(peer, v, read).get(); });
    auto const first = std::span(bench::argument_sizes).first(1);
    offer(program, "vector_small", plain, [=](auto& v, bool read) { return towline::async<&take_vector_small>(peer, v, read).get(); }, first);
    offer(program, "vector_span_small", plain, [=](auto& v, bool read) { return towline::async<&take_span_small>(peer, v, read).get(); }, first);
    offer(program, "borrow_vector_small", plain,
          [=](auto& v, bool read) { return towline::async<&take_vector_small>(peer, towline::borrow(v), read).get(); }, first);
    offer(program, "rma_shared_small", shared, [=](auto& v, bool read) { return towline::async<&take_shared_small>(peer, v, read).get(); }, first);
    return program.run();
}
