// The search for ranks that wait for each other. The nodes are the threads of a rank, and remote calls that a rank runs and that wait
// themselves. A call that computes, and for which others wait, is no part of a cycle.

#include "job/waits.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>

namespace towline::job {

namespace {

using operation = waited_operation;

/// Of a rank: its threads, or one of the calls that wait there.
struct place {
    std::size_t rank;
    operation const* held = nullptr;   ///< null: the threads
    operation const* waits = nullptr;  ///< of a call: what for
};

struct edge {
    std::size_t to;                 ///< a place
    operation const* by = nullptr;  ///< what is waited for; null: something in the same process
};

class graph {
public:
    explicit graph(std::span<rank_view const> ranks) : ranks_(ranks), first_(ranks.size())
    {
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            first_[r] = places_.size();
            places_.push_back({r});
            if (!told(r))
                continue;
            auto const calls = ranks[r].wait->calls();
            for (std::size_t i = 0; i + 1 < calls.size(); ++i)
                if (calls[i].what == operation::kind::held)
                    places_.push_back({r, &calls[i], &calls[i + 1]});
        }
        edges_.resize(places_.size());
        for (std::size_t p = 0; p < places_.size(); ++p)
            connect(p);
    }

    std::vector<std::string> cycles()
    {
        constexpr std::size_t most = 4;
        std::vector<std::string> all;
        // The shortest through the lowest rank first; no rank is in two.
        for (std::size_t p = 0; p < places_.size() && all.size() < most; ++p) {
            auto const way = shortest_through(p);
            if (way.empty())
                continue;
            all.push_back(text_of(way));
            for (step const& s : way) {
                std::size_t const rank = places_[s.place].rank;
                for (std::size_t k = first_[rank]; k < places_.size() && places_[k].rank == rank; ++k)
                    edges_[k].clear();
            }
        }
        return all;
    }

private:
    struct step {
        std::size_t place;
        edge on;
    };

    [[nodiscard]] bool told(std::size_t r) const { return ranks_[r].is == rank_view::state::running && ranks_[r].wait.has_value(); }

    void connect(std::size_t p)
    {
        place const& from = places_[p];
        if (!told(from.rank))
            return;
        wait_report const& wait = *ranks_[from.rank].wait;
        if (from.held != nullptr) {
            if (from.waits->what == operation::kind::call)
                to_the_call(p, *from.waits);
            else if (wait.idle == 0 && job::text_of(wait.call) != "the end of the world")
                edges_[p].push_back({first_[from.rank]});  // what it waits for is its process's to bring
            return;
        }
        if (job::text_of(wait.call) == "the end of the world" || job::text_of(wait.call) == "world::serve")
            return;  // it runs calls
        for (operation const& o : wait.waited()) {
            if (o.process >= ranks_.size())
                continue;
            if (o.what == operation::kind::call)
                to_the_call(p, o);
            else if (o.what != operation::kind::other)
                edges_[p].push_back({first_[o.process], &o});
        }
        if (wait.waited().empty() && job::text_of(wait.call) == "a future")
            for (std::size_t k = p + 1; k < places_.size() && places_[k].rank == from.rank; ++k)
                edges_[p].push_back({k});
    }

    void to_the_call(std::size_t p, operation const& call)
    {
        if (call.process >= ranks_.size())
            return;
        for (std::size_t k = first_[call.process] + 1; k < places_.size() && places_[k].rank == call.process; ++k) {
            operation const& held = *places_[k].held;
            if (held.process == places_[p].rank && job::text_of(held.communicator) == job::text_of(call.communicator))
                edges_[p].push_back({k, &call});
        }
    }

    /// From a place back to it; empty: there is no way. Breadth first.
    [[nodiscard]] std::vector<step> shortest_through(std::size_t start) const
    {
        std::vector<std::size_t> from(places_.size(), places_.size());
        std::vector<edge> by(places_.size());
        std::deque<std::size_t> next{start};
        while (!next.empty()) {
            std::size_t const at = next.front();
            next.pop_front();
            for (edge const& e : edges_[at]) {
                if (e.to == start) {
                    std::vector<step> way{{at, e}};
                    for (std::size_t p = at; p != start; p = from[p])
                        way.push_back({from[p], by[p]});
                    std::reverse(way.begin(), way.end());
                    return way;
                }
                if (from[e.to] == places_.size()) {
                    from[e.to] = at;
                    by[e.to] = e;
                    next.push_back(e.to);
                }
            }
        }
        return {};
    }

    [[nodiscard]] std::string text_of(std::vector<step> const& way) const
    {
        std::string text;
        for (step const& s : way) {
            place const& p = places_[s.place];
            if (p.held != nullptr && s.on.by == nullptr && way.size() > 1)
                continue;  // of the rank itself, whose wait stands next to it
            std::string part;
            if (p.held == nullptr) {
                wait_report shorter = *ranks_[p.rank].wait;
                shorter.operations = shorter.more = 0;
                shorter.unexpected = 0;
                if (s.on.by != nullptr)
                    shorter.add(*s.on.by);
                part = fmt::format("rank {} {}", p.rank, describe(shorter, p.rank));
            } else {
                part = fmt::format("rank {} waits in {}, called by rank {}, for {}", p.rank, job::text_of(p.held->communicator),
                                   p.held->process, describe(*p.waits, p.rank));
            }
            text += (text.empty() ? "" : "; ") + part;
        }
        return text;
    }

    std::span<rank_view const> ranks_;
    std::vector<place> places_;           ///< by rank; the threads first
    std::vector<std::size_t> first_;      ///< of each rank
    std::vector<std::vector<edge>> edges_;
};

} // namespace

std::vector<std::string> find_cycles(std::span<rank_view const> ranks)
{
    return graph(ranks).cycles();
}

} // namespace towline::job
