// The Sedov-Taylor blast wave on all processes of a job:
//     towline run -n 4 --stats 10_blast sedov64.toml --output pictures
// What is Towline's here: remote_exchange.cpp (faces, reductions, gathering) and this file. The rest is numerics.

#include "deck.hpp"
#include "mailbox.hpp"
#include "options.hpp"
#include "remote_exchange.hpp"
#include "simulation.hpp"

#include <towline/async.hpp>
#include <towline/stats.hpp>
#include <towline/world.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>

namespace blast {

/// What process 0 read, for the others: a file is read once, and they all see the same. An aggregate; nothing more to write.
struct plan {
    bool go = false;
    std::string deck;
};

mailbox<int, plan>& plan_box()
{
    static mailbox<int, plan> box;
    return box;
}

void take_plan(plan p)
{
    plan_box().deliver(0, std::move(p));
}

} // namespace blast

namespace {

using namespace blast;

void complain(std::exception const& e)
{
    fmt::print(stderr, "10_blast: {}\n", e.what());
}

/// Reads and checks everything that can be wrong before the run, at process 0, and tells the others. Nothing: the user was told why.
std::optional<deck> agree_on_deck(towline::world& w, options const& o)
{
    plan p;
    std::optional<deck> d;
    if (w.rank() == 0) {
        try {
            p.deck = read_text(o.deck);
            d = parse_deck(p.deck, o.deck);
            int const blocks = o.blocks == 0 ? w.size() : o.blocks;
            if (blocks < w.size())
                throw std::invalid_argument(
                    fmt::format("--blocks {}: fewer than processes ({}); give each at least one", blocks, w.size()));
            layout({d->cells, d->cells, d->cells}, blocks);
            prepare_output(*d, o);
            p.go = true;
        } catch (std::exception const& e) {
            complain(e);
        }
        if (w.size() > 1)
            towline::async<&take_plan>(w.others(), p).get();
    } else {
        p = plan_box().receive(0);
        if (p.go)
            d = parse_deck(p.deck, o.deck);
    }
    return p.go ? d : std::nullopt;
}

void report_traffic(exchange& others)
{
    towline::statistics const s = towline::stats();
    std::uint64_t const mine[] = {s.bytes_handed_over, s.bytes_copied_once, s.bytes_copied_twice, s.handed_over,
                                  s.copied_once,       s.copied_twice,      s.calls_sent};
    std::uint64_t sum[std::size(mine)] = {};
    for (auto const& one : others.gather(mine))
        for (std::size_t i = 0; i < one.size(); ++i)
            sum[i] += one[i];
    if (others.process() != 0)
        return;
    char const* names[] = {"handed over", "copied once", "copied twice"};
    for (int i = 0; i < 3; ++i)
        fmt::print("{:<15}{:.1f} MiB in {} blocks\n", names[i], static_cast<double>(sum[i]) / (1 << 20), sum[i + 3]);
    fmt::print("{:<15}{}\n", "remote calls", sum[6]);
    std::fflush(stdout);
}

int run(towline::world& w, int argc, char** argv)
{
    int exit_code = 0;
    std::optional<options> const o = parse_options(argc, argv, w.rank() == 0, exit_code);
    if (!o)
        return exit_code;
    std::optional<deck> const d = agree_on_deck(w, *o);
    if (!d)
        return 2;
    layout const cut({d->cells, d->cells, d->cells}, o->blocks == 0 ? w.size() : o->blocks);
    remote_exchange others(w, cut);
    simulate(*d, *o, cut, others);
    report_traffic(others);
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        towline::world w(argc, argv);
        return run(w, argc, argv);
    } catch (towline::peer_error const&) {
        return 1; // the launcher says who died, and of what
    } catch (std::exception const& e) {
        complain(e);
        return 1;
    }
}
