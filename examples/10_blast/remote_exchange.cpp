#include "remote_exchange.hpp"

#include "mailbox.hpp"

#include <towline/async.hpp>

#include <numeric>

namespace blast {
namespace {

using face_key = std::tuple<int, int, std::uint64_t>; // block, face, tick

mailbox<face_key, towline::rma_vector<double>>& face_box()
{
    static mailbox<face_key, towline::rma_vector<double>> box;
    return box;
}

} // namespace

// What other processes call.

void take_face(int block, int face, std::uint64_t tick, towline::rma_vector<double> values)
{
    face_box().deliver({block, face, tick}, std::move(values));
}

} // namespace blast

template <>
inline constexpr bool towline::small<&blast::take_face> = true;

namespace blast {

remote_exchange::~remote_exchange()
{
    face_box().clear();
}

std::span<double> remote_exchange::outgoing(int block, int face, std::size_t size)
{
    std::vector<buffer>& free = free_[{block, face}];
    buffer& filling = filling_[{block, face}];
    if (free.empty()) {
        filling = buffer(size);
    } else {
        filling = std::move(free.back());
        free.pop_back();
    }
    return {filling.data(), filling.size()};
}

void remote_exchange::send(int block, int face, std::uint64_t tick)
{
    int const to = cut_.neighbour(block, face);
    int const owner = cut_.owner(to, processes());
    buffer& full = filling_[{block, face}];
    if (owner == process())
        face_box().deliver({to, opposite(face), tick}, std::move(full));
    else
        towline::post<&take_face>(world_.at(owner), to, opposite(face), tick, std::move(full));
}

bool remote_exchange::arrived(int block, int face, std::uint64_t tick)
{
    return face_box().arrived({block, face, tick});
}

std::span<double const> remote_exchange::incoming(int block, int face, std::uint64_t tick)
{
    buffer& b = taken_[{block, face, tick}] = face_box().receive({block, face, tick});
    return {b.data(), b.size()};
}

void remote_exchange::release(int block, int face, std::uint64_t tick)
{
    free_[{block, face}].push_back(std::move(taken_.extract({block, face, tick}).mapped()));
}

void remote_exchange::greatest(std::span<double> values)
{
    all_.all_reduce(values, towline::maximum{});
}

std::vector<std::vector<std::uint64_t>> remote_exchange::gather(std::span<std::uint64_t const> words)
{
    std::vector<std::size_t> const counts = all_.all_gather(words.size());
    std::vector<std::vector<std::uint64_t>> of_each;
    if (process() != 0) {
        all_.gather(words, std::span<std::uint64_t>(), counts, 0);
        return of_each;
    }
    std::vector<std::uint64_t> joined(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    all_.gather(words, joined, counts, 0);
    for (auto at = joined.begin(); std::size_t const n : counts) {
        of_each.emplace_back(at, at + static_cast<std::ptrdiff_t>(n));
        at += static_cast<std::ptrdiff_t>(n);
    }
    return of_each;
}

} // namespace blast
