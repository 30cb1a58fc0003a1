#pragma once
// Ranks over a simulated network with a simulated clock, in one thread: what happens follows from the seed.

#include "transport/datagram/bundle.hpp"
#include "transport/datagram/component.hpp"
#include "transport/datagram/sim/memory_environment.hpp"
#include "transport/datagram/sim/network.hpp"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace datagram_world {

namespace dg = towline::transport::datagram;
using towline::transport::component;
using towline::transport::peer;
using towline::transport::send_status;

/// A seed to print when a test fails; TOWLINE_TEST_SEED repeats one.
inline std::uint64_t test_seed()
{
    if (char const* text = std::getenv("TOWLINE_TEST_SEED"))
        return std::strtoull(text, nullptr, 0);
    static std::uint64_t const seed = std::random_device{}();
    return seed;
}

inline std::uint64_t mix(std::uint64_t z) { return dg::random_stream(z).draw(); }

/// Byte `i` of message `number` from one rank to another; its length.
inline std::byte byte_of(peer from, peer to, std::uint64_t number, std::size_t i)
{
    return static_cast<std::byte>((mix(from * 1000003ULL + to * 7919ULL + number) + i * 0x9e3779b97f4a7c15) >> 32);
}

struct rank_state {
    std::unique_ptr<dg::sim::memory_environment> env;
    std::unique_ptr<component> it;
    std::vector<std::uint64_t> heard;      ///< messages, by source
    std::vector<std::string> failures;
    std::vector<std::string> links_lost;
    std::uint64_t wrong = 0;               ///< messages that are not the next of their source
    bool away = false;                     ///< does not poll
};

class world {
public:
    /// `further`: networks that all ranks are in, too, each as bad as that says.
    world(peer size, dg::faults bad, dg::config c = {}, dg::sim::network_options o = {}, std::vector<dg::faults> const& further = {})
        : directory(size), net((o.bad = bad, o), clock.source()), config(c), ranks(size), next_(size * std::size_t{size})
    {
        for (dg::faults const& f : further)
            more.push_back(std::make_unique<dg::sim::network>((o.bad = f, o), clock.source()));
        for (peer r = 0; r < size; ++r)
            start(r);
    }

    /// Starts a rank's process, anew if there was one.
    void start(peer r)
    {
        rank_state& s = ranks[r];
        s.it.reset();
        s.heard.assign(ranks.size(), 0);
        s.env = std::make_unique<dg::sim::memory_environment>(directory, r);
        std::vector<std::unique_ptr<dg::link>> links;
        links.push_back(net.make());
        for (auto const& n : more)
            links.push_back(n->make());
        s.it = dg::make(dg::bundle(std::move(links)), *s.env, config, clock.source());
        for (towline::transport::handler_id id = 0; id < 4; ++id)
            s.it->set_handler(id, hear, make_context(r, id));
        s.it->set_failure_handler([](void* p, peer, std::string_view why) { static_cast<rank_state*>(p)->failures.emplace_back(why); }, &s);
        s.it->set_link_lost_handler([](void* p, peer, std::string_view why) { static_cast<rank_state*>(p)->links_lost.emplace_back(why); },
                                    &s);
    }

    static std::size_t length_of(std::uint64_t number, std::size_t most)
    {
        std::uint64_t const m = mix(number);
        return number % 8 == 3 ? m % (most + 1) : m % 700;
    }

    /// Sends the next message of a pair, if it is taken.
    send_status say(peer from, peer to, std::size_t bytes = ~std::size_t{0})
    {
        std::uint64_t& number = next_[from * ranks.size() + to];
        std::size_t const size = bytes != ~std::size_t{0} ? bytes : length_of(number, ranks[from].it->caps().max_eager);
        std::vector<std::byte> text(size);
        for (std::size_t i = 0; i < size; ++i)
            text[i] = byte_of(from, to, number, i);
        std::size_t const cut = size / 3;
        send_status const s = ranks[from].it->try_send(to, static_cast<towline::transport::handler_id>(number % 4),
                                                       std::span(text).first(cut), std::span(text).subspan(cut));
        number += s == send_status::sent;
        return s;
    }
    [[nodiscard]] std::uint64_t said(peer from, peer to) const { return next_[from * ranks.size() + to]; }

    /// Everybody polls; then time passes.
    void step(std::int64_t ns = 10'000)
    {
        for (rank_state& r : ranks) {
            if (r.it != nullptr && !r.away)
                while (r.it->poll(64) != 0) {
                }
        }
        clock.pass(ns);
    }
    /// Steps until `ready`, for some simulated seconds. False: it never was.
    template <class Ready> bool until(Ready&& ready, std::int64_t ns = 10'000, std::int64_t most = 20'000'000'000)
    {
        std::int64_t const end = clock.now() + most;
        while (!ready()) {
            if (clock.now() > end)
                return false;
            step(ns);
        }
        return true;
    }
    [[nodiscard]] bool drained() const
    {
        return std::ranges::all_of(ranks, [](rank_state const& r) { return r.it == nullptr || r.it->drained(); });
    }
    /// For messages of failed tests.
    [[nodiscard]] std::string story() const
    {
        std::string text;
        for (rank_state const& r : ranks) {
            if (r.it == nullptr)
                continue;
            auto const c = dg::counts_of(*r.it);
            text += "sent " + std::to_string(c.packets_sent) + " again " + std::to_string(c.packets_resent) + " received " +
                    std::to_string(c.packets_received) + " duplicates " + std::to_string(c.duplicates) + " strangers " +
                    std::to_string(c.strangers) + " acks " + std::to_string(c.acks_sent) + " probes " + std::to_string(c.probes_sent) +
                    " hellos " + std::to_string(c.hellos_sent) + " windows " + std::to_string(c.windows) + "\n";
            text += "  heard";
            for (auto const h : r.heard)
                text += " " + std::to_string(h);
            text += "\n";
            for (auto const& f : r.failures)
                text += f + "\n";
        }
        return text;
    }
    [[nodiscard]] dg::endpoint_counts counts(peer r) const { return dg::counts_of(*ranks[r].it); }

    dg::sim::manual_clock clock;
    dg::sim::directory directory;
    dg::sim::network net;
    std::vector<std::unique_ptr<dg::sim::network>> more;
    dg::config config;
    std::vector<rank_state> ranks;

private:
    struct context {
        world* owner;
        peer me;
        towline::transport::handler_id id;
    };
    context* make_context(peer r, towline::transport::handler_id id)
    {
        contexts_.push_back(std::make_unique<context>(context{this, r, id}));
        return contexts_.back().get();
    }

    static void hear(void* p, peer source, std::span<std::byte const> payload)
    {
        context const& c = *static_cast<context*>(p);
        rank_state& r = c.owner->ranks[c.me];
        std::uint64_t const number = r.heard.at(source)++;
        bool good = number % 4 == c.id && reinterpret_cast<std::uintptr_t>(payload.data()) % 8 == 0;
        for (std::size_t i = 0; good && i < payload.size(); ++i)
            good = payload[i] == byte_of(source, c.me, number, i);
        if (c.owner->expected_length)
            good = good && payload.size() == c.owner->expected_length(number, r.it->caps().max_eager);
        r.wrong += !good;
    }

public:
    std::size_t (*expected_length)(std::uint64_t, std::size_t) = length_of;

private:
    std::vector<std::uint64_t> next_;
    std::vector<std::unique_ptr<context>> contexts_;
};

} // namespace datagram_world
