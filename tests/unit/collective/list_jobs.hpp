#pragma once
// Operations with blocks of any size, drawn: the buffers and lists of every rank, and what should come of them.

#include "unit/collective/simulation.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace simulated {

enum class list_operation : std::uint64_t {
    gatherv, scatterv, alltoallv, neighbour_allgather, neighbour_allgatherv, neighbour_alltoall, neighbour_alltoallv, count_
};

/// One rank's part. Of what it does not have, the lists are empty; a block that is alone is the first of its list.
struct list_job {
    list_operation what{};
    bool in_its_place = false;
    int root = 0;
    std::uint64_t each = 0;  ///< that comes in where blocks are equal
    std::vector<std::uint64_t> send_counts, send_offsets, counts, offsets;
    std::vector<int> sources, destinations, order;
    part data;

    void build(col::schedule& s, col::team& t)
    {
        std::byte* const send = data.send.data();
        std::byte* const receive = data.receive.data();
        bool const is_root = t.rank() == root;
        col::neighbourhood const n{sources, destinations, order};
        switch (what) {
        case list_operation::gatherv:
            return col::build(s, t,
                              col::gatherv(is_root && in_its_place ? col::in_place : send, send_counts[0], receive, counts, offsets, root));
        case list_operation::scatterv:
            return col::build(s, t,
                col::scatterv(send, send_counts, send_offsets, is_root && in_its_place ? const_cast<void*>(col::in_place) : receive,
                counts[0], root));
        case list_operation::alltoallv:
            if (in_its_place)
                return col::build(s, t, col::alltoallv(col::in_place, {}, {}, receive, counts, offsets));
            return col::build(s, t, col::alltoallv(send, send_counts, send_offsets, receive, counts, offsets));
        case list_operation::neighbour_allgather: return col::build(s, t,
            col::exchange(n, send, {send_counts[0], 0}, receive, col::layout_of_blocks(each)));
        case list_operation::neighbour_allgatherv:
            return col::build(s, t, col::exchange(n, send, {send_counts[0], 0}, receive, {counts, offsets}));
        case list_operation::neighbour_alltoall:
            return col::build(s, t,
                col::exchange(n, send, col::layout_of_blocks(destinations.empty() ? each : send_counts[0]), receive,
                col::layout_of_blocks(each)));
        case list_operation::neighbour_alltoallv:
            return col::build(s, t, col::exchange(n, send, {send_counts, send_offsets}, receive, {counts, offsets}));
        case list_operation::count_: break;
        }
    }
};

/// Draws all ranks' parts of one operation.
class list_jobs {
public:
    list_jobs(std::mt19937_64& random, int ranks, std::uint64_t most) : random_(random), p_(static_cast<std::size_t>(ranks)), most_(most) {}

    [[nodiscard]] std::vector<list_job> draw() { return draw(static_cast<list_operation>(below(count))); }
    [[nodiscard]] std::vector<list_job> draw(list_operation what)
    {
        salt_ = random_();
        std::vector<list_job> jobs(p_);
        bool const in_its_place = below(2) == 0;
        auto const root = below(p_);
        for (list_job& j : jobs) {
            j.what = what;
            j.in_its_place = in_its_place;
            j.root = static_cast<int>(root);
        }
        if (what == list_operation::gatherv || what == list_operation::scatterv)
            with_root(jobs, root);
        else if (what == list_operation::alltoallv)
            all_to_all(jobs);
        else
            among_neighbours(jobs);
        for (list_job& j : jobs) {
            part& x = j.data;
            x.send = guarded(x.send_after);
            if (x.receive.content().empty())
                x.receive = guarded(x.receive_after.size());
        }
        return jobs;
    }
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_() % n; }
    [[nodiscard]] std::uint64_t draw_size()
    {
        std::uint64_t const up_to[] = {0, 1, 9, 25, 60, 200, 1200, 9000, 20000, most_};
        return below(std::min(most_, up_to[below(std::size(up_to))]) + 1);
    }

private:
    static constexpr auto count = static_cast<std::uint64_t>(list_operation::count_);

    [[nodiscard]] bytes content(std::uint64_t n, std::size_t from, std::size_t block) const { return filled(n, salt_ + from, block); }
    /// Adds a block behind the others, after a hole; of the given bytes, or left as guarded buffers begin.
    void lay(std::vector<std::uint64_t>& sizes, std::vector<std::uint64_t>& offsets, bytes& buffer, bytes const& block, bool close = false)
    {
        append(buffer, bytes(close ? 0 : below(4), fill));
        sizes.push_back(block.size());
        offsets.push_back(buffer.size());
        append(buffer, block);
    }

    void with_root(std::vector<list_job>& jobs, std::size_t root)
    {
        list_job& r = jobs[root];
        bool const gathers = r.what == list_operation::gatherv;
        bytes before;  // at the root in place
        for (std::size_t i = 0; i < p_; ++i) {
            list_job& j = jobs[i];
            bytes const b = content(draw_size(), i, 0);
            if (gathers) {
                lay(r.counts, r.offsets, r.data.receive_after, b);
                before.resize(r.offsets.back(), fill);
                append(before, i == root && r.in_its_place ? b : bytes(b.size(), fill));
                j.send_counts.push_back(b.size());
                j.data.send_after = b;
            } else {
                lay(r.send_counts, r.send_offsets, r.data.send_after, b);
                j.counts.push_back(b.size());
                j.data.receive_after = i == root && r.in_its_place ? bytes(b.size(), fill) : b;
            }
        }
        if (gathers)
            r.data.receive = guarded(before);
    }

    void all_to_all(std::vector<list_job>& jobs)
    {
        std::vector<std::vector<std::uint64_t>> sizes(p_, std::vector<std::uint64_t>(p_));
        for (std::size_t i = 0; i < p_; ++i)
            for (std::size_t k = 0; k < p_; ++k)
                sizes[i][k] = jobs[0].in_its_place && k < i ? sizes[k][i] : draw_size();
        for (std::size_t i = 0; i < p_; ++i) {
            list_job& j = jobs[i];
            bytes before;
            for (std::size_t k = 0; k < p_; ++k) {
                lay(j.counts, j.offsets, j.data.receive_after, content(sizes[k][i], k, i));
                before.resize(j.offsets.back(), fill);
                append(before, content(sizes[i][k], i, k));
                if (!j.in_its_place)
                    lay(j.send_counts, j.send_offsets, j.data.send_after, content(sizes[i][k], i, k));
            }
            if (j.in_its_place)
                j.data.receive = guarded(before);
        }
    }

    void among_neighbours(std::vector<list_job>& jobs)
    {
        list_operation const what = jobs[0].what;
        bool const same_to_all = what == list_operation::neighbour_allgather || what == list_operation::neighbour_allgatherv;
        bool const equal = what == list_operation::neighbour_allgather || what == list_operation::neighbour_alltoall;
        std::uint64_t const each = draw_size();
        // sent[from][to]: the blocks in their order
        std::vector<std::vector<std::vector<bytes>>> sent(p_, std::vector<std::vector<bytes>>(p_));
        for (std::size_t i = 0; i < p_; ++i) {
            list_job& j = jobs[i];
            std::uint64_t const own = equal ? each : draw_size();
            for (std::uint64_t n = below(6); n != 0; --n)
                j.destinations.push_back(below(7) == 0 ? -2 : static_cast<int>(below(3) == 0 && i != 0 ? i - 1 : below(p_)));
            for (std::size_t d = 0; d < j.destinations.size(); ++d) {
                bytes const b = content(same_to_all || equal ? own : draw_size(), i, same_to_all ? 0 : d);
                if (!same_to_all)
                    lay(j.send_counts, j.send_offsets, j.data.send_after, b, equal);
                if (int const to = j.destinations[d]; to >= 0)
                    sent[i][static_cast<std::size_t>(to)].push_back(b);
            }
            if (same_to_all)
                lay(j.send_counts, j.send_offsets, j.data.send_after, content(own, i, 0), true);
        }
        for (std::size_t i = 0; i < p_; ++i)
            receive(jobs[i], i, sent, equal, each);
    }

    void receive(list_job& j, std::size_t rank, std::vector<std::vector<std::vector<bytes>>> const& sent, bool equal, std::uint64_t each)
    {
        std::vector<int> posted;  // in this order
        for (std::size_t k = 0; k < p_; ++k)
            posted.insert(posted.end(), sent[k][rank].size(), static_cast<int>(k));
        posted.insert(posted.end(), below(2), -1);
        std::shuffle(posted.begin(), posted.end(), random_);
        std::vector<int> order(posted.size());
        std::iota(order.begin(), order.end(), 0);
        if (below(2) == 0) {
            std::shuffle(order.begin(), order.end(), random_);
            j.order = order;
        }
        j.each = each;
        std::vector<bytes> blocks(posted.size());
        j.sources.resize(posted.size());
        std::vector<std::size_t> met(p_);
        for (std::size_t n = 0; n < posted.size(); ++n) {
            auto const at = static_cast<std::size_t>(order[n]);
            j.sources[at] = posted[n];
            if (int const from = posted[n]; from < 0)
                blocks[at] = bytes(equal ? each : 5, fill);
            else
                blocks[at] = sent[static_cast<std::size_t>(from)][rank][met[static_cast<std::size_t>(from)]++];
        }
        for (bytes const& b : blocks)
            lay(j.counts, j.offsets, j.data.receive_after, b, equal);
    }

    static constexpr std::byte fill{0x5a};  // of guarded buffers
    std::mt19937_64& random_;
    std::size_t const p_;
    std::uint64_t const most_;
    std::uint64_t salt_ = 0;
};

inline void expect_jobs(std::vector<list_job> const& jobs, std::string const& where)
{
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        part const& x = jobs[i].data;
        std::string const what = where + ", operation " + std::to_string(static_cast<int>(jobs[i].what)) + ", rank " + std::to_string(i);
        ASSERT_TRUE(x.receive.content() == x.receive_after) << what << ": the result";
        ASSERT_TRUE(x.send.content() == x.send_after) << what << ": the send buffer";
        ASSERT_TRUE(x.receive.intact() && x.send.intact()) << what << ": around the buffers";
    }
}

} // namespace simulated
