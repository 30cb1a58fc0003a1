// The simulated network: messages under way, their order, deaths.

#include "transport/sim/network.hpp"

#include "transport/handlers.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <utility>

namespace towline::transport::sim {

namespace {

constexpr std::uint64_t region_mark = 0x6e6f696765727331;  // "1sregion"
constexpr std::uint64_t never = ~std::uint64_t{0};

/// What is on its way to a peer's poll: a message, or the end of the peer's own get or put.
struct event_item {
    std::uint64_t due = 0;    ///< step
    std::uint64_t order = 0;  ///< of sending; decides between items due at the same step
    peer source = 0;          ///< of the message; owner of the region
    // a message
    handler_id handler = 0;
    std::vector<std::byte> payload{};
    // a get or put
    completion done = nullptr;
    void* context = nullptr;
    std::uint64_t region_id = 0;
    std::uint64_t offset = 0;
    void* destination = nullptr;
    void const* origin = nullptr;
    std::size_t size = 0;
    bool is_transfer = false;
};

/// Heap order: the item that is due first on top.
bool later(event_item const& a, event_item const& b)
{
    return a.due != b.due ? a.due > b.due : a.order > b.order;
}

struct exposure {
    std::uint64_t id = 0;
    std::byte* begin = nullptr;
    std::size_t size = 0;
};

struct pair_state {
    std::uint64_t last_due = 0;
    std::uint32_t in_flight = 0;
};

struct peer_state {
    base::event_count event;
    bool made = false;
    bool left = false;
    bool dead = false;
    std::uint64_t dies_at = never;
    std::uint32_t transfers = 0;
    std::vector<event_item> inbox;  ///< heap
    std::vector<exposure> exposures;
    std::map<peer, pair_state> from;

    [[nodiscard]] bool gone() const { return dead || left; }
};

} // namespace

struct network::state {
    state(std::uint64_t seed, std::uint32_t size, options o) : opts(o), random(seed), peers(size) {}

    options opts;
    std::mutex mutable mutex;
    std::uint64_t random;
    std::uint64_t now = 0;
    std::uint64_t orders = 0;
    std::uint64_t regions = 0;
    std::uint64_t next_death = never;
    std::atomic<std::uint32_t> deaths{0};
    std::vector<peer_state> peers;

    // The rest is called with the lock held.

    /// splitmix64 (S. Vigna): the same numbers with every standard library.
    std::uint64_t draw() noexcept
    {
        std::uint64_t z = random += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    std::uint64_t due() noexcept { return now + opts.min_delay + draw() % (std::uint64_t{opts.max_delay} - opts.min_delay + 1); }

    void push(peer_state& to, event_item item)
    {
        item.order = orders++;
        to.inbox.push_back(std::move(item));
        std::push_heap(to.inbox.begin(), to.inbox.end(), later);
    }

    void pass(std::uint64_t steps)
    {
        now += steps;
        if (now < next_death)
            return;
        next_death = never;
        for (peer p = 0; p < peers.size(); ++p) {
            if (peers[p].dies_at <= now)
                die(p);
            else
                next_death = std::min(next_death, peers[p].dies_at);
        }
    }

    void die(peer p)
    {
        peer_state& it = peers[p];
        it.dies_at = never;
        if (it.dead)
            return;
        it.dead = true;
        forget(it);
        deaths.fetch_add(1, std::memory_order_release);
        for (peer_state& other : peers)
            other.event.notify(base::fence_side::notifier_fences);
    }

    static void forget(peer_state& it)
    {
        it.inbox.clear();
        it.exposures.clear();
        it.from.clear();
    }

    /// Does what a due get or put asks for; false if its region is not there.
    bool transfer(event_item const& t)
    {
        peer_state const& owner = peers[t.source];
        if (owner.gone())
            return false;
        auto const e = std::ranges::find(owner.exposures, t.region_id, &exposure::id);
        if (e == owner.exposures.end() || t.size > e->size || t.offset > e->size - t.size)
            return false;
        if (t.size == 0)
            return true;
        if (t.destination != nullptr)
            std::memcpy(t.destination, e->begin + t.offset, t.size);
        else
            std::memcpy(e->begin + t.offset, t.origin, t.size);
        return true;
    }
};

namespace {

class sim_component final : public component {
public:
    sim_component(network::state& net, peer rank) : net_(net), rank_(rank)
    {
        options const& o = net.opts;
        // Between shared memory and a wire: what an engine would see of a network card.
        caps_ = {.max_inline = o.max_inline, .max_eager = o.max_eager, .can_get = o.can_get, .can_map = false, .reliable = true,
                 .ordered = true, .latency_ns = 1000, .bandwidth = 1};
    }

    ~sim_component() override
    {
        std::scoped_lock const lock(net_.mutex);
        me().left = true;
        net_.forget(me());
    }

    std::string_view name() const noexcept override { return "sim"; }
    capabilities const& caps() const noexcept override { return caps_; }

    std::string why_not(peer p) const override
    {
        if (p >= net_.peers.size())
            return fmt::format("rank {} is not one of the {} simulated peers", p, net_.peers.size());
        std::scoped_lock const lock(net_.mutex);
        return net_.peers[p].gone() ? fmt::format("simulated peer {} is gone", p) : std::string{};
    }

    void set_handler(handler_id id, handler function, void* context) override { handlers_.set(id, function, context); }

    send_status try_send(peer to, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body) override
    {
        check_eager(*this, caps().max_eager, head.size(), body.size());
        std::scoped_lock const lock(net_.mutex);
        if (to >= net_.peers.size() || me().gone() || net_.peers[to].gone() || given_up(to))
            return send_status::unreachable;
        peer_state& destination = net_.peers[to];
        pair_state& pair = destination.from[rank_];
        if (pair.in_flight >= net_.opts.max_in_flight)
            return send_status::busy;
        event_item message;
        message.source = rank_;
        message.handler = id;
        message.payload.reserve(head.size() + body.size());
        message.payload.insert(message.payload.end(), head.begin(), head.end());
        message.payload.insert(message.payload.end(), body.begin(), body.end());
        message.due = pair.last_due = std::max(pair.last_due, net_.due());
        ++pair.in_flight;
        net_.push(destination, std::move(message));
        destination.event.notify(base::fence_side::notifier_fences);
        return send_status::sent;
    }

    int poll(int budget) override
    {
        if (polling_.exchange(true, std::memory_order_acquire))
            throw usage_error("transport sim: poll was called from inside a handler, or by two threads at once");
        struct release {
            std::atomic<bool>& flag;
            ~release() { flag.store(false, std::memory_order_release); }
        } const end{polling_};
        {
            std::scoped_lock const lock(net_.mutex);
            net_.pass(1);
        }
        int run = 0;
        while (run < budget && one(run)) {
        }
        return run;
    }

    bool pending() const noexcept override
    {
        std::scoped_lock const lock(net_.mutex);
        auto const& inbox = net_.peers[rank_].inbox;
        return !inbox.empty() && inbox.front().due <= net_.now;
    }

    std::int64_t sleep_limit_ns() const noexcept override
    {
        std::scoped_lock const lock(net_.mutex);
        return net_.peers[rank_].inbox.empty() && net_.next_death == never ? -1 : 1000;
    }

    region expose(void* begin, std::size_t size) override
    {
        if (!caps_.can_get)
            return component::expose(begin, size);
        std::scoped_lock const lock(net_.mutex);
        std::uint64_t const id = ++net_.regions;
        me().exposures.push_back({id, static_cast<std::byte*>(begin), size});
        return {{region_mark, rank_, id, size}};
    }

    void conceal(region const& r) override
    {
        if (!caps_.can_get)
            return component::conceal(r);
        std::scoped_lock const lock(net_.mutex);
        bool const mine = r.words[0] == region_mark && r.words[1] == rank_;
        if (!mine || (std::erase_if(me().exposures, [&](exposure const& e) { return e.id == r.words[2]; }) == 0 && !me().dead))
            throw usage_error(fmt::format("conceal: simulated peer {} does not expose this region (any longer)", rank_));
    }

    send_status get(peer from, region const& r, std::uint64_t offset, void* destination, std::size_t size, completion done,
                    void* context) override
    {
        if (!caps_.can_get)
            return component::get(from, r, offset, destination, size, done, context);
        // Never null, since a null destination marks a put.
        return transfer("get", from, r, offset, destination != nullptr ? destination : &caps_, nullptr, size, done, context);
    }

    send_status put(peer to, region const& r, std::uint64_t offset, void const* source, std::size_t size, completion done,
                    void* context) override
    {
        if (!caps_.can_get)
            return component::put(to, r, offset, source, size, done, context);
        return transfer("put", to, r, offset, nullptr, source, size, done, context);
    }

    void peer_died(peer p) override
    {
        std::scoped_lock const lock(net_.mutex);
        if (p >= net_.peers.size() || p == rank_)
            return;
        if (!given_up(p))
            given_up_.push_back(p);
        auto& inbox = me().inbox;
        for (event_item& item : inbox) {
            if (item.is_transfer && item.source == p) {
                item.due = std::min(item.due, net_.now);
                item.region_id = 0;
            }
        }
        std::make_heap(inbox.begin(), inbox.end(), later);
    }

private:
    peer_state& me() noexcept { return net_.peers[rank_]; }
    bool given_up(peer p) const { return std::ranges::find(given_up_, p) != given_up_.end(); }

    send_status transfer(char const* call, peer owner, region const& r, std::uint64_t offset, void* destination, void const* origin,
                         std::size_t size, completion done, void* context)
    {
        if (r.words[0] != region_mark || r.words[1] != owner)
            throw usage_error(fmt::format("{}: this is not a region that simulated peer {} exposed", call, owner));
        if (size > r.words[3] || offset > r.words[3] - size)
            throw limit_error(fmt::format("{}: {} bytes at offset {} leave the region of {} bytes", call, size, offset, r.words[3]));
        std::scoped_lock const lock(net_.mutex);
        if (owner >= net_.peers.size() || me().gone() || net_.peers[owner].gone() || given_up(owner))
            return send_status::unreachable;
        if (me().transfers >= net_.opts.max_in_flight)
            return send_status::busy;
        ++me().transfers;
        event_item item;
        item.due = net_.due();
        item.source = owner;
        item.done = done;
        item.context = context;
        item.region_id = r.words[2];
        item.offset = offset;
        item.destination = destination;
        item.origin = origin;
        item.size = size;
        item.is_transfer = true;
        net_.push(me(), std::move(item));
        return send_status::sent;
    }

    /// Runs what is due first, if anything is.
    bool one(int& run)
    {
        event_item item;
        bool ok = false;
        {
            std::scoped_lock const lock(net_.mutex);
            auto& inbox = me().inbox;
            if (inbox.empty() || inbox.front().due > net_.now)
                return false;
            std::pop_heap(inbox.begin(), inbox.end(), later);
            item = std::move(inbox.back());
            inbox.pop_back();
            if (item.is_transfer) {
                --me().transfers;
                ok = net_.transfer(item);
            } else {
                --me().from[item.source].in_flight;
            }
        }
        if (item.is_transfer) {
            if (item.done != nullptr)
                item.done(item.context, ok);
        } else if (!handlers_.run(item.handler, item.source, item.payload)) {
            report_failure(item.source,
                           fmt::format("rank {} sent a message for handler {}, which is not installed", item.source, item.handler));
        } else {
            ++run;
        }
        return true;
    }

    network::state& net_;
    peer rank_;
    capabilities caps_;
    handler_table handlers_;
    std::atomic<bool> polling_{false};
    std::vector<peer> given_up_;  ///< peers that the engine called dead, whatever the network knows
};

} // namespace

network::network(std::uint64_t seed, std::uint32_t size, options o)
{
    if (o.min_delay > o.max_delay)
        throw usage_error(fmt::format("sim::network: min_delay {} is more than max_delay {}", o.min_delay, o.max_delay));
    if (o.max_in_flight == 0)
        throw usage_error("sim::network: max_in_flight must be at least 1");
    state_ = std::make_unique<state>(seed, size, o);
}

network::~network() = default;

std::unique_ptr<component> network::make(peer rank)
{
    std::scoped_lock const lock(state_->mutex);
    if (rank >= state_->peers.size() || std::exchange(state_->peers[rank].made, true))
        throw usage_error(fmt::format("sim::network: peer {} of {} was made before, or does not exist", rank, state_->peers.size()));
    return std::make_unique<sim_component>(*state_, rank);
}

std::uint32_t network::size() const noexcept
{
    return static_cast<std::uint32_t>(state_->peers.size());
}

std::uint64_t network::steps() const noexcept
{
    std::scoped_lock const lock(state_->mutex);
    return state_->now;
}

void network::advance(std::uint64_t steps) noexcept
{
    std::scoped_lock const lock(state_->mutex);
    state_->pass(steps);
}

void network::kill(peer rank)
{
    kill_at(rank, 0);
}

void network::kill_at(peer rank, std::uint64_t step)
{
    std::scoped_lock const lock(state_->mutex);
    if (rank >= state_->peers.size())
        throw usage_error(fmt::format("sim::network: peer {} of {} does not exist", rank, state_->peers.size()));
    state_->peers[rank].dies_at = step;
    state_->next_death = std::min(state_->next_death, step);
    state_->pass(0);
}

bool network::is_dead(peer rank) const noexcept
{
    std::scoped_lock const lock(state_->mutex);
    return rank < state_->peers.size() && state_->peers[rank].dead;
}

std::atomic<std::uint32_t> const& network::deaths() const noexcept
{
    return state_->deaths;
}

base::event_count& network::event(peer rank) noexcept
{
    return state_->peers[rank].event;
}

std::size_t network::in_flight() const noexcept
{
    std::scoped_lock const lock(state_->mutex);
    std::size_t n = 0;
    for (peer_state const& p : state_->peers)
        n += p.inbox.size();
    return n;
}

} // namespace towline::transport::sim
