#include "transport/datagram/sim/network.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <queue>

namespace towline::transport::datagram::sim {

namespace {

struct flying {
    std::int64_t due = 0;
    std::uint64_t order = 0;
    std::uint32_t from = 0;
    std::vector<std::byte> bytes{};
};

bool later(flying const& a, flying const& b)
{
    return a.due != b.due ? a.due > b.due : a.order > b.order;
}

link_address address_of(std::uint32_t number) noexcept
{
    link_address a;
    std::memcpy(a.bytes.data(), &number, sizeof number);
    a.bytes[8] = std::byte{0x5d};
    return a;
}

std::uint32_t number_of(link_address const& a) noexcept
{
    std::uint32_t n = 0;
    std::memcpy(&n, a.bytes.data(), sizeof n);
    return n;
}

} // namespace

struct network::state {
    state(network_options const& o, time_source t) : opts(o), time(t), fate(o.bad) {}

    network_options opts;
    time_source time;
    std::mutex mutable mutex;
    fate_of_datagrams fate;
    std::vector<std::vector<flying>> inboxes;  ///< heaps
    std::vector<bool> closed;
    std::vector<std::vector<std::uint32_t>> refusals;  ///< by sender
    std::uint64_t orders = 0;
    std::uint64_t overruns = 0;
    bool (*tap)(void*, std::uint32_t, std::uint32_t, std::span<std::byte const>) = nullptr;
    void* tap_context = nullptr;
    void (*arrival)(void*, std::uint32_t) = nullptr;
    void* arrival_context = nullptr;

    [[nodiscard]] std::int64_t now() const { return time.now(time.context); }

    // With the lock held.
    void put(std::uint32_t from, std::uint32_t to, std::vector<std::byte> bytes, std::int64_t delay)
    {
        auto& inbox = inboxes[to];
        if (inbox.size() >= opts.receive_room) {
            ++overruns;
            return;
        }
        inbox.push_back({now() + delay, orders++, from, std::move(bytes)});
        std::push_heap(inbox.begin(), inbox.end(), later);
        if (arrival != nullptr)
            arrival(arrival_context, to);
    }

    void send(std::uint32_t from, std::uint32_t to, std::span<std::byte const> bytes)
    {
        if (to >= inboxes.size() || (tap != nullptr && tap(tap_context, from, to, bytes)))
            return;
        if (closed[to])
            return refusals[from].push_back(to);
        auto const f = fate.next();
        std::vector<std::byte> copy(bytes.begin(), bytes.end());
        if (f.corrupt && !copy.empty())
            copy[f.bit / 8 % copy.size()] ^= static_cast<std::byte>(1U << f.bit % 8);
        for (int i = 0; i < f.copies; ++i)
            put(from, to, copy, f.delay_ns);
    }
};

namespace {

class sim_link final : public link {
public:
    sim_link(network::state& net, std::uint32_t number) : net_(net), number_(number) {}

    std::string_view name() const noexcept override { return "simulated"; }
    std::vector<std::byte> own_address() const override
    {
        auto const a = address_of(number_);
        return {a.bytes.begin(), a.bytes.end()};
    }
    std::optional<link_address> resolve(std::span<std::byte const> blob, unsigned path) const override
    {
        link_address a;
        if (path != 0 || blob.size() != a.bytes.size() || blob[8] != std::byte{0x5d})
            return std::nullopt;
        std::ranges::copy(blob, a.bytes.begin());
        return a;
    }
    std::size_t max_datagram() const noexcept override { return net_.opts.max_datagram; }
    std::size_t max_datagram(link_address const&) override { return net_.opts.max_datagram; }
    train_limits trains() const noexcept override { return net_.opts.trains; }
    std::size_t receive_room() const noexcept override { return net_.opts.receive_room; }

    std::size_t send(link_address const& to, std::span<iovec const> pieces, std::size_t each, std::size_t count) noexcept override
    {
        std::scoped_lock const lock(net_.mutex);
        std::vector<std::byte> datagram;
        for (std::size_t i = 0, piece = 0; i < count; ++i) {
            datagram.clear();
            for (; datagram.size() < each && piece < pieces.size(); ++piece) {
                auto const* const bytes = static_cast<std::byte const*>(pieces[piece].iov_base);
                datagram.insert(datagram.end(), bytes, bytes + pieces[piece].iov_len);
            }
            net_.send(number_, number_of(to), datagram);
        }
        return count;
    }

    std::span<received> receive() noexcept override
    {
        kept_.clear();
        out_.clear();
        std::scoped_lock const lock(net_.mutex);
        auto& inbox = net_.inboxes[number_];
        std::int64_t const now = net_.now();
        while (!inbox.empty() && inbox.front().due <= now && out_.size() < 32) {
            std::pop_heap(inbox.begin(), inbox.end(), later);
            kept_.push_back(std::move(inbox.back()));
            inbox.pop_back();
            auto& bytes = kept_.back().bytes;
            auto const size = static_cast<std::uint32_t>(bytes.size());
            out_.push_back({bytes.data(), size, size, address_of(kept_.back().from)});
        }
        return out_;
    }

    std::optional<link_address> take_refusal() noexcept override
    {
        std::scoped_lock const lock(net_.mutex);
        auto& told = net_.refusals[number_];
        if (told.empty())
            return std::nullopt;
        std::uint32_t const by = told.back();
        told.pop_back();
        return address_of(by);
    }

    bool readable() const noexcept override
    {
        std::scoped_lock const lock(net_.mutex);
        auto const& inbox = net_.inboxes[number_];
        return !inbox.empty() && inbox.front().due <= net_.now();
    }

    std::int64_t sleep_limit_ns() const noexcept override
    {
        std::scoped_lock const lock(net_.mutex);
        auto const& inbox = net_.inboxes[number_];
        return inbox.empty() ? -1 : std::max<std::int64_t>(0, inbox.front().due - net_.now());
    }

private:
    network::state& net_;
    std::uint32_t number_;
    std::vector<flying> kept_;
    std::vector<received> out_;
};

} // namespace

network::network(network_options const& o, time_source t) : state_(std::make_unique<state>(o, t)) {}

network::~network() = default;

std::unique_ptr<link> network::make()
{
    std::scoped_lock const lock(state_->mutex);
    state_->inboxes.emplace_back();
    state_->closed.push_back(false);
    state_->refusals.emplace_back();
    return std::make_unique<sim_link>(*state_, static_cast<std::uint32_t>(state_->inboxes.size() - 1));
}

void network::set_faults(faults const& f)
{
    std::scoped_lock const lock(state_->mutex);
    state_->opts.bad = f;
    state_->fate = fate_of_datagrams(f);
}

void network::inject(std::uint32_t from, std::uint32_t to, std::span<std::byte const> bytes)
{
    std::scoped_lock const lock(state_->mutex);
    state_->put(from, to, {bytes.begin(), bytes.end()}, 0);
}

void network::refuse(std::uint32_t at)
{
    std::scoped_lock const lock(state_->mutex);
    state_->closed.at(at) = true;
}

void network::set_tap(bool (*tap)(void*, std::uint32_t, std::uint32_t, std::span<std::byte const>), void* context)
{
    std::scoped_lock const lock(state_->mutex);
    state_->tap = tap;
    state_->tap_context = context;
}

void network::set_arrival(void (*arrival)(void*, std::uint32_t), void* context)
{
    std::scoped_lock const lock(state_->mutex);
    state_->arrival = arrival;
    state_->arrival_context = context;
}

std::uint64_t network::overruns() const
{
    std::scoped_lock const lock(state_->mutex);
    return state_->overruns;
}

std::int64_t network::next_due() const
{
    std::scoped_lock const lock(state_->mutex);
    std::int64_t first = -1;
    for (auto const& inbox : state_->inboxes) {
        if (!inbox.empty() && (first < 0 || inbox.front().due < first))
            first = inbox.front().due;
    }
    return first;
}

} // namespace towline::transport::datagram::sim
