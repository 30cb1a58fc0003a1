#include "remote_exchange.hpp"

#include "mailbox.hpp"

#include <towline/async.hpp>

#include <algorithm>

namespace blast {
namespace {

using face_key = std::tuple<int, int, std::uint64_t>; // block, face, tick
using round_key = std::pair<std::uint64_t, int>;      // how manieth, and who or which part

mailbox<face_key, towline::rma_vector<double>>& face_box()
{
    static mailbox<face_key, towline::rma_vector<double>> box;
    return box;
}

mailbox<round_key, std::vector<double>>& value_box()
{
    static mailbox<round_key, std::vector<double>> box;
    return box;
}

mailbox<round_key, towline::rma_vector<std::uint64_t>>& word_box()
{
    static mailbox<round_key, towline::rma_vector<std::uint64_t>> box;
    return box;
}

} // namespace

// What other processes call.

void take_face(int block, int face, std::uint64_t tick, towline::rma_vector<double> values)
{
    face_box().deliver({block, face, tick}, std::move(values));
}

void take_values(std::uint64_t reduction, int round, std::vector<double> values)
{
    value_box().deliver({reduction, round}, std::move(values));
}

void take_words(std::uint64_t gathering, int from, towline::rma_vector<std::uint64_t> words)
{
    word_box().deliver({gathering, from}, std::move(words));
}

} // namespace blast

template <>
inline constexpr bool towline::small<&blast::take_face> = true;
template <>
inline constexpr bool towline::small<&blast::take_values> = true;

namespace blast {

remote_exchange::~remote_exchange()
{
    face_box().clear();
    value_box().clear();
    word_box().clear();
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
    // Dissemination (Hensgen, Finkel, Manber 1988): after round k everybody knows of 2^k processes. Hearing of one twice does not change a
    // maximum.
    ++reductions_;
    int round = 0;
    for (int distance = 1; distance < processes(); distance *= 2, ++round) {
        towline::post<&take_values>(world_.at((process() + distance) % processes()), reductions_, round,
                                    std::vector<double>(values.begin(), values.end()));
        std::vector<double> const others = value_box().receive({reductions_, round});
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = std::max(values[i], others.at(i));
    }
}

std::vector<std::vector<std::uint64_t>> remote_exchange::gather(std::span<std::uint64_t const> words)
{
    ++gathers_;
    std::vector<std::vector<std::uint64_t>> all;
    if (process() != 0) {
        towline::rma_vector<std::uint64_t> ours(words.size());
        std::copy(words.begin(), words.end(), ours.data());
        towline::post<&take_words>(world_.at(0), gathers_, process(), std::move(ours));
        return all;
    }
    all.emplace_back(words.begin(), words.end());
    for (int from = 1; from < processes(); ++from) {
        towline::rma_vector<std::uint64_t> const theirs = word_box().receive({gathers_, from});
        all.emplace_back(theirs.data(), theirs.data() + theirs.size());
    }
    return all;
}

} // namespace blast
