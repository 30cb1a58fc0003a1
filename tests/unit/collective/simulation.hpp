#pragma once
// A tiny matcher in memory for all ranks of a world in one thread. Which message arrives next is drawn from a seed; messages of a pair of
// ranks keep their order. Small messages are taken at once, big ones stay with their sender until they are received, in any of the ways in
// which the real one may end them: inside the start of an operation, at arrival, or later.

#include "collective/lanes/introduction.hpp"
#include "collective/messages/algorithms.hpp"
#include "collective/operations.hpp"
#include "collective/runner.hpp"
#include "matching/request.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace simulated {

namespace col = towline::collective;
namespace match = towline::matching;
using match::peer;

struct request {
    void (*then)(request&) = nullptr;
    void* user = nullptr;
    bool is_done = true;
    match::status ended;
    [[nodiscard]] match::status const& result() const { return ended; }
};

class network;

/// One rank's end.
class matcher {
public:
    matcher(network& n, peer me) : network_(&n), me_(me) {}
    void start_send(request&, peer to, match::envelope const&, void const* data, std::uint64_t bytes);
    void start_receive(request&, match::pattern const&, peer from, match::sink const&);

private:
    network* network_;
    peer me_;
};

class network {
public:
    network(std::uint64_t seed, int size) : random_(seed), ends_(static_cast<std::size_t>(size)), eager_(draw(4) * draw(4) * 32)
    {
        channels_.resize(ends_.size() * ends_.size());
    }

    [[nodiscard]] std::uint64_t draw(std::uint64_t below) { return random_() % below; }

    void send(request& r, peer me, peer to, match::envelope const& e, void const* data, std::uint64_t bytes)
    {
        end& mine = ends_.at(me);
        EXPECT_TRUE(r.is_done);
        if (mine.knows_dead.count(to) != 0)
            return finish(r, {e.source, e.tag, 0, match::outcome::peer_died, false});
        ++messages;
        auto m = std::make_shared<message>();
        m->letter = e;
        m->from = me;
        m->size = bytes;
        if (bytes <= eager_) {
            m->copy.resize(bytes);
            if (bytes != 0)
                std::memcpy(m->copy.data(), data, bytes);
            channel(me, to).push_back(m);
            r.ended = {};
            r.then(r);
            return;
        }
        m->lent = data;
        m->sender = &r;
        r.is_done = false;
        channel(me, to).push_back(m);
    }

    void receive(request& r, peer me, match::pattern const& p, peer from, match::sink const& to)
    {
        end& mine = ends_.at(me);
        EXPECT_TRUE(r.is_done);
        r.is_done = false;
        posted const what{&r, p, from, to};
        auto const at = std::find_if(mine.unexpected.begin(), mine.unexpected.end(), [&](auto const& m) { return p.matches(m->letter); });
        if (at != mine.unexpected.end()) {
            auto const m = *at;
            mine.unexpected.erase(at);
            return meet(me, what, m);
        }
        if (mine.knows_dead.count(from) != 0)
            return finish(r, {p.source, p.tag, 0, match::outcome::peer_died, false});
        mine.receives.push_back(what);
    }

    /// Something happens. False: nothing can.
    bool step()
    {
        std::vector<std::size_t> busy;
        for (std::size_t i = 0; i < channels_.size(); ++i) {
            if (!channels_[i].empty())
                busy.push_back(i);
        }
        std::size_t const choices = busy.size() + landings_.size();
        if (choices == 0)
            return false;
        std::size_t const pick = draw(choices);
        if (pick >= busy.size()) {
            auto const at = landings_.begin() + static_cast<std::ptrdiff_t>(pick - busy.size());
            auto const l = *at;
            landings_.erase(at);
            l();
            return true;
        }
        auto const from = static_cast<peer>(busy[pick] / ends_.size());
        auto const to = static_cast<peer>(busy[pick] % ends_.size());
        auto const m = channel(from, to).front();
        channel(from, to).pop_front();
        arrive(from, to, m);
        return true;
    }

    /// What it sent before is on its way still; the news of its death is behind that.
    void kill(peer who)
    {
        ends_[who].is_dead = true;
        ends_[who].receives.clear();
        for (auto const& m : std::exchange(ends_[who].unexpected, {}))
            finish_sender(*m, match::outcome::peer_died);
        for (peer p = 0; p < ends_.size(); ++p)
            channel(who, p).push_back(nullptr);
    }
    [[nodiscard]] bool is_dead(peer who) const { return ends_[who].is_dead; }

    /// No message and no receive is left.
    void expect_empty() const
    {
        for (auto const& e : ends_) {
            EXPECT_TRUE(e.unexpected.empty());
            EXPECT_TRUE(e.receives.empty());
        }
    }

    std::size_t messages = 0;

private:
    struct message {
        match::envelope letter;
        peer from = 0;
        std::uint64_t size = 0;
        std::vector<std::byte> copy;
        void const* lent = nullptr;
        request* sender = nullptr;
    };
    struct posted {
        request* r;
        match::pattern what;
        peer from;
        match::sink to;
    };
    struct end {
        std::list<std::shared_ptr<message>> unexpected;
        std::list<posted> receives;
        std::map<peer, bool> knows_dead;
        bool is_dead = false;
    };
    using queue = std::deque<std::shared_ptr<message>>;
    queue& channel(peer from, peer to) { return channels_[from * ends_.size() + to]; }

    static void finish(request& r, match::status const& s)
    {
        r.ended = s;
        r.is_done = true;
        r.then(r);
    }
    void finish_sender(message const& m, match::outcome how)
    {
        if (m.sender != nullptr && !ends_[m.from].is_dead)
            finish(*m.sender, {0, 0, 0, how, false});
    }

    void arrive(peer from, peer to, std::shared_ptr<message> const& m)
    {
        end& there = ends_[to];
        if (m == nullptr)
            return hear_of_death(from, to);
        if (there.is_dead)
            return finish_sender(*m, match::outcome::peer_died);
        auto const at =
            std::find_if(there.receives.begin(), there.receives.end(), [&](posted const& p) { return p.what.matches(m->letter); });
        if (at == there.receives.end()) {
            there.unexpected.push_back(m);
            return;
        }
        posted const p = *at;
        there.receives.erase(at);
        meet(to, p, m);
    }

    void hear_of_death(peer dead, peer to)
    {
        end& there = ends_[to];
        if (there.is_dead)
            return;
        there.knows_dead[dead] = true;
        std::list<posted> over;
        for (auto i = there.receives.begin(); i != there.receives.end();) {
            auto const next = std::next(i);
            if (i->from == dead)
                over.splice(over.end(), there.receives, i);
            i = next;
        }
        for (auto const& p : over)
            finish(*p.r, {p.what.source, p.what.tag, 0, match::outcome::peer_died, false});
    }

    void meet(peer me, posted const& p, std::shared_ptr<message> const& m)
    {
        auto const land = [this, me, p, m] {
            match::status s{m->letter.source, m->letter.tag, m->size, match::outcome::ok, false};
            if (m->sender != nullptr && ends_[m->from].is_dead) {
                s.error = match::outcome::peer_died;
            } else {
                std::uint64_t const fits = std::min(m->size, p.to.capacity);
                if (m->size > fits)
                    s.error = match::outcome::truncated;
                if (fits != 0)
                    std::memcpy(p.to.data, m->lent != nullptr ? m->lent : m->copy.data(), fits);
            }
            bool const first = draw(2) == 0;
            if (first)
                finish_sender(*m, match::outcome::ok);
            if (!ends_[me].is_dead)
                finish(*p.r, s);
            if (!first)
                finish_sender(*m, match::outcome::ok);
        };
        if (m->lent == nullptr || draw(3) == 0)
            land();
        else
            landings_.push_back(land);
    }

    std::mt19937_64 random_;
    std::vector<end> ends_;
    std::vector<queue> channels_;
    std::deque<std::function<void()>> landings_;
    std::uint64_t eager_;
};

inline void matcher::start_send(request& r, peer to, match::envelope const& e, void const* data, std::uint64_t bytes)
{
    network_->send(r, me_, to, e, data, bytes);
}
inline void matcher::start_receive(request& r, match::pattern const& p, peer from, match::sink const& to)
{
    network_->receive(r, me_, p, from, to);
}

using operation = col::basic_request<matcher, request>;

/// Where others reach little: of the memory that schedules want, every other block is not there, drawn from the seed.
inline bool scarce_memory = false;

/// The memory of this process. Of the other buffers some are shared, drawn from the seed.
class memory final : public col::node_memory {
public:
    memory(network& n, std::uint64_t seed) : network_(&n), seed_(seed) {}

    void* allocate(std::uint64_t bytes) noexcept override
    {
        if (are_lanes_open && is_scarce_ && (++asked_ * 0x9e3779b97f4a7c15 + seed_) >> 63 != 0) {
            ++refused;
            return nullptr;
        }
        void* const block = ::operator new(bytes, std::align_val_t{64});
        blocks[block] = bytes;
        return block;
    }
    void deallocate(void* block) noexcept override
    {
        EXPECT_EQ(blocks.erase(block), 1u);
        ::operator delete(block, std::align_val_t{64});
    }
    std::uint64_t find(void const* data, std::uint64_t bytes) const noexcept override
    {
        auto const word = reinterpret_cast<std::uintptr_t>(data);
        auto const after = blocks.upper_bound(const_cast<void*>(data));
        if (after != blocks.begin()) {
            auto const& [begin, size] = *std::prev(after);
            if (static_cast<std::byte const*>(data) + bytes <= static_cast<std::byte*>(begin) + size)
                return word;
        }
        return ((word >> 4) * 0x9e3779b97f4a7c15 + seed_) >> 63 != 0 ? word : 0;
    }
    std::byte* attach(std::uint64_t word, std::uint64_t) override { return reinterpret_cast<std::byte*>(word); }
    bool is_shared_with(peer) noexcept override { return true; }
    std::uint64_t node_of(peer p) const noexcept override { return nodes.empty() ? 0 : nodes[p]; }
    towline::base::sleeper sleeper(peer) noexcept override { return {}; }
    bool is_gone(peer p) const noexcept override { return network_->is_dead(p); }
    std::atomic<std::uint64_t> const& sleeps() const noexcept override { return sleeps_; }

    bool is_tight() const noexcept override { return is_scarce_; }

    std::map<void*, std::uint64_t> blocks;
    std::vector<std::uint64_t> nodes;  ///< by peer; empty: all are on one
    bool are_lanes_open = false;
    std::size_t refused = 0;

private:
    network* network_;
    std::uint64_t seed_;
    bool const is_scarce_ = scarce_memory;
    std::uint64_t asked_ = 0;
    std::atomic<std::uint64_t> sleeps_{0};  // nobody sleeps
};

/// Operations go over lanes wherever they can.
inline bool with_lanes()
{
    return std::getenv("TOWLINE_TEST_LANES") != nullptr;
}

/// What teams are told.
inline bool combine_in_order = false;

/// A seed to print when a test fails; TOWLINE_TEST_SEED repeats one.
inline std::uint64_t base_seed()
{
    if (char const* text = std::getenv("TOWLINE_TEST_SEED"))
        return std::strtoull(text, nullptr, 0);
    static std::uint64_t const seed = std::random_device{}();
    return seed;
}

/// All ranks of one communicator, or of two groups. Ranks are other numbers than peers.
class world {
public:
    explicit world(int size, int remote = 0, std::uint64_t seed = base_seed(), bool lanes = with_lanes())
        : seed_(seed), net(seed, size + remote), shared(net, seed)
    {
        std::size_t const all = static_cast<std::size_t>(size + remote);
        peers_.resize(all);
        std::iota(peers_.begin(), peers_.end(), peer{0});
        std::mt19937_64 shuffle(seed);
        std::shuffle(peers_.begin(), peers_.end(), shuffle);
        col::members const first{size, &peer_of, peers_.data(), 0, combine_in_order};
        col::members const second{remote, &peer_of, peers_.data() + size, 0, combine_in_order};
        for (int i = 0; i < size + remote; ++i) {
            if (remote == 0)
                teams.emplace_back(7, i, first);
            else if (i < size)
                teams.emplace_back(7, i, first, second);
            else
                teams.emplace_back(7, i - size, second, first);
            matchers_.emplace_back(net, peers_[static_cast<std::size_t>(i)]);
        }
        if (remote == 0 && size > 1 && lanes)
            introduce();
        shared.are_lanes_open = true;
    }
    /// On several nodes: that of each rank.
    explicit world(std::vector<int> const& node_of, std::uint64_t seed) : world(static_cast<int>(node_of.size()), 0, seed, false)
    {
        shared.are_lanes_open = false;
        shared.nodes.resize(node_of.size());
        for (std::size_t i = 0; i < node_of.size(); ++i)
            shared.nodes[peers_[i]] = static_cast<std::uint64_t>(node_of[i]) * 3 + 5;
        std::deque<col::introduction> all;
        for (col::team& t : teams)
            all.emplace_back(t, shared, false);
        run([&](col::schedule& s, col::team&, int i) { all[static_cast<std::size_t>(i)].build(s); });
        for (col::introduction& i : all)
            i.finish();
        shared.are_lanes_open = true;
        net.messages = 0;
    }
    ~world()
    {
        teams.clear();
        EXPECT_TRUE(shared.blocks.empty());
    }
    [[nodiscard]] int size() const { return static_cast<int>(teams.size()); }
    [[nodiscard]] peer peer_of_member(int i) const { return peers_[static_cast<std::size_t>(i)]; }

    [[nodiscard]] matcher& end(int i) { return matchers_[static_cast<std::size_t>(i)]; }

    /// Ranks start one after another, in any order, while messages are on their way.
    void start(std::vector<std::unique_ptr<operation>>& operations)
    {
        std::vector<int> order(teams.size());
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[net.draw(i)]);
        for (int const i : order) {
            auto const at = static_cast<std::size_t>(i);
            if (!net.is_dead(peers_[at]))
                operations[at]->start(matchers_[at], teams[at], teams[at].next_sequence());
            for (std::uint64_t n = net.draw(4); n != 0; --n)
                (void)step(operations);
        }
    }
    /// Something happens, if anything can; false where no message was on its way.
    bool step(std::vector<std::unique_ptr<operation>> const& operations)
    {
        bool const moved = net.step();
        auto const i = net.draw(operations.size());
        if (operations[i]->is_over_lanes() && !net.is_dead(peers_[i]))
            (void)operations[i]->poll();
        return moved;
    }
    void run_dry()
    {
        while (net.step()) {
        }
    }
    void run_dry(std::vector<std::unique_ptr<operation>> const& operations)
    {
        auto const is_over = [&](std::size_t i) {
            return !operations[i]->is_over_lanes() || operations[i]->done() || net.is_dead(peers_[i]);
        };
        // Who polls in vain notices deaths after some hundred times.
        for (std::size_t idle = 0; idle < 2000 * operations.size(); ++idle) {
            bool over = true;
            for (std::size_t i = 0; i < operations.size(); ++i)
                over = over && is_over(i);
            if (step(operations))
                idle = 0;
            else if (over)
                return;
        }
    }

    /// Everybody's part of one operation, from start to end.
    void run(std::function<void(col::schedule&, col::team&, int member)> const& build)
    {
        SCOPED_TRACE("seed " + std::to_string(seed_));
        auto operations = make(build);
        start(operations);
        run_dry(operations);
        for (auto const& o : operations) {
            ASSERT_TRUE(o->done()) << "hangs";
            ASSERT_EQ(o->result(), col::ending::ok);
        }
        net.expect_empty();
    }
    [[nodiscard]] std::vector<std::unique_ptr<operation>> make(std::function<void(col::schedule&, col::team&, int)> const& build)
    {
        std::vector<std::unique_ptr<operation>> operations;
        for (int i = 0; i < size(); ++i) {
            operations.push_back(std::make_unique<operation>());
            operations.back()->schedule().allow(teams[static_cast<std::size_t>(i)].lanes(),
                                                 teams[static_cast<std::size_t>(i)].levels());
            build(operations.back()->schedule(), teams[static_cast<std::size_t>(i)], i);
        }
        return operations;
    }

private:
    void introduce()
    {
        std::vector<std::unique_ptr<col::lanes>> all;
        std::vector<std::uint64_t> words;
        std::uint64_t const some[] = {0, 40, 200, col::lanes::payload_bytes};
        std::uint64_t const posted = some[net.draw(4)];
        col::lanes::limits const limits{posted, std::max(posted, some[net.draw(4)])};
        for (int i = 0; i < size(); ++i) {
            all.push_back(std::make_unique<col::lanes>(shared, i, peers_, limits));
            words.push_back(all.back()->own_word());
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            EXPECT_TRUE(all[i]->open(words));
            teams[i].set_lanes(std::move(all[i]));
        }
    }
    static peer peer_of(void const* list, int rank) { return static_cast<peer const*>(list)[rank]; }
    std::uint64_t seed_;
    std::vector<peer> peers_;
    std::deque<matcher> matchers_;

public:
    network net;
    memory shared;
    std::deque<col::team> teams;
};

// Bytes that tell where they are from.
using bytes = std::vector<std::byte>;
inline std::byte pattern(std::uint64_t a, std::uint64_t b, std::uint64_t i)
{
    return static_cast<std::byte>(((a * 0x9e3779b97f4a7c15) ^ (b * 0xbf58476d1ce4e5b9) ^ (i * 0x94d049bb133111eb)) >> 37);
}
inline bytes filled(std::size_t n, std::uint64_t a, std::uint64_t b = 0)
{
    bytes r(n);
    for (std::size_t i = 0; i < n; ++i)
        r[i] = pattern(a, b, i);
    return r;
}
inline void append(bytes& to, bytes const& more) { to.insert(to.end(), more.begin(), more.end()); }

/// A buffer whose surroundings must stay as they are.
class guarded {
public:
    guarded() = default;
    explicit guarded(std::size_t n) : size_(n), all_(n + 2 * edge, std::byte{0x5a}) {}
    explicit guarded(bytes const& content) : guarded(content.size())
    {
        if (!content.empty())
            std::memcpy(data(), content.data(), content.size());
    }
    [[nodiscard]] std::byte* data() { return all_.data() + edge; }
    [[nodiscard]] bytes content() const
    {
        auto const first = all_.begin() + edge;
        return bytes(first, first + static_cast<std::ptrdiff_t>(size_));
    }
    [[nodiscard]] bool intact() const
    {
        auto const is_fill = [](std::byte b) { return b == std::byte{0x5a}; };
        return std::all_of(all_.begin(), all_.begin() + edge, is_fill) && std::all_of(all_.end() - edge, all_.end(), is_fill);
    }

private:
    static constexpr std::ptrdiff_t edge = 32;
    std::size_t size_ = 0;
    bytes all_ = bytes(2 * edge, std::byte{0x5a});
};

/// One rank's buffers and what they should hold in the end.
struct part {
    guarded send;
    guarded receive;
    bytes send_after;
    bytes receive_after;
};

inline void expect_parts(std::vector<part> const& parts, std::string const& what)
{
    for (std::size_t i = 0; i < parts.size(); ++i) {
        ASSERT_EQ(parts[i].receive.content(), parts[i].receive_after) << what << ", result of member " << i;
        ASSERT_EQ(parts[i].send.content(), parts[i].send_after) << what << ", send buffer of member " << i;
        ASSERT_TRUE(parts[i].receive.intact() && parts[i].send.intact()) << what << ", around the buffers of member " << i;
    }
}

inline constexpr int most_ranks = 17;

} // namespace simulated
