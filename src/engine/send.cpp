// Sending: the fast path, messages with blocks, and waiting for room. How a block travels is chosen in plan.cpp.

#include "engine/impl.hpp"
#include "engine/plan.hpp"

#include "base/idle.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <cstring>

#include <sched.h>
#include <time.h>

namespace towline::engine {

void engine::send_small(peer to, handler_id h, std::span<std::byte const> head)
{
    if (!try_send_small(to, h, head, {})) [[unlikely]]
        impl_->send({.to = to, .handler = h, .head = head});
}

[[gnu::always_inline]] inline bool engine::impl::send_tiny(peer to, tiny t, std::byte const* first, std::byte const* second)
{
    peer_state& p = peers[to];
    unsigned const bytes = t.first + t.second;
    // Acquire: pairs with the thread that chose the transport, or emptied the queue. The limits are 0 before there is a transport.
    if (p.flags.load(std::memory_order_acquire) != peer_state::open || bytes > p.max_inline ||
        !p.via->try_send_inline(to, {static_cast<transport::handler_id>(wire::first_direct + t.handler), t.first, t.second}, first, second))
        [[unlikely]]
        return false;
    counts.sent(bytes);
    return true;
}

bool engine::try_send_small(peer to, handler_id h, std::span<std::byte const> first, std::span<std::byte const> second)
{
    impl& m = *impl_;
    std::size_t const bytes = first.size() + second.size();
    if (to >= m.config.size || h >= wire::direct_handlers) [[unlikely]]
        return false;
    auto const part = [](std::span<std::byte const> s) { return static_cast<std::uint8_t>(s.size()); };
    if (bytes <= 255 && m.send_tiny(to, {h, part(first), part(second)}, first.data(), second.data())) [[likely]]
        return true;
    peer_state& p = m.peers[to];
    auto const kind = static_cast<transport::handler_id>(wire::first_direct + h);
    if ((p.flags.load(std::memory_order_acquire) & peer_state::open) == 0)
        (void)m.reach(to);
    if (p.flags.load(std::memory_order_acquire) != peer_state::open || bytes > p.max_eager ||
        p.via->try_send(to, kind, first, second) != transport::send_status::sent)
        return false;
    m.counts.sent(bytes);
    return true;
}

bool engine::try_send_tiny(peer to, tiny t, std::byte const* first, std::byte const* second)
{
    return to < impl_->config.size && t.handler < wire::direct_handlers && impl_->send_tiny(to, t, first, second);
}

void engine::send_small(peer to, handler_id h, std::span<std::byte const> first, std::span<std::byte const> second)
{
    if (try_send_small(to, h, first, second)) [[likely]]
        return;
    std::size_t const bytes = first.size() + second.size();
    std::vector<std::byte> together;
    together.reserve(bytes);
    together.insert(together.end(), first.begin(), first.end());
    together.insert(together.end(), second.begin(), second.end());
    impl_->send({.to = to, .handler = h, .head = together});
}

void engine::send(outgoing const& o)
{
    impl_->send(o);
}

namespace {

/// A message as it is built: header and descriptors, then the head, then what travels inside. A message of few bytes is put together in
/// one buffer.
class encoding {
public:
    encoding(outgoing const& o, message_plan const& plan, std::uint64_t id_flags)
    {
        std::size_t const front = sizeof(wire::message_header) + o.blocks.size() * sizeof(wire::descriptor);
        std::byte* at = front_room(front);
        together_ = front + o.head.size() + plan.inside + 40 * (o.blocks.size() + 1) <= sizeof few_;
        wire::message_header const header{static_cast<std::uint32_t>(o.head.size()), o.handler, static_cast<std::uint16_t>(o.blocks.size()),
                                          id_flags};
        std::memcpy(at, &header, sizeof header);
        at += sizeof header;
        for (auto const& b : plan.blocks) {
            std::memcpy(at, &b.wire, sizeof b.wire);
            at += sizeof b.wire;
        }
        if (together_)
            total_ = front;
        else
            add(front_, front);
        add(o.head.data(), o.head.size());
        for (auto const& b : plan.blocks)
            add(b.inside, b.inside_size);
    }
    encoding(encoding const&) = delete;
    encoding& operator=(encoding const&) = delete;

    [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
    [[nodiscard]] bool together() const noexcept { return together_; }
    [[nodiscard]] std::span<std::byte const> whole() const noexcept { return {few_, total_}; }  ///< if together
    [[nodiscard]] std::span<std::span<std::byte const> const> parts() const noexcept { return {parts_.data(), parts_.size()}; }

    /// Parts as one or two pieces, for a transport that takes two. `scratch` has room for it.
    [[nodiscard]] std::pair<std::span<std::byte const>, std::span<std::byte const>> in_two(std::vector<std::byte>& scratch) const
    {
        std::size_t last = parts_.size();
        if (last == 1)
            return {parts_[0], {}};
        // The last part goes as it is; what stands before it is put together, unless it is one part already.
        std::size_t const body = last - 1;
        if (body == 1)
            return {parts_[0], parts_[1]};
        scratch.resize(total_ - parts_[body].size());
        std::byte* at = scratch.data();
        for (std::size_t i = 0; i < body; ++i) {
            std::memcpy(at, parts_[i].data(), parts_[i].size());
            at += parts_[i].size();
        }
        return {scratch, parts_[body]};
    }

private:
    std::byte* front_room(std::size_t n)
    {
        if (n > sizeof few_) {
            many_.resize(n);
            front_ = many_.data();
        }
        return front_;
    }
    void add(void const* data, std::size_t size)
    {
        static constexpr std::array<std::byte, 8> zeros{};
        if (size == 0)
            return;
        // Everything before was padded, except that the last part of a message needs no padding.
        std::size_t const missing = wire::padded(total_) - total_;
        if (together_) {
            std::memset(few_ + total_, 0, missing);
            total_ += missing;
            std::memcpy(few_ + total_, data, size);
            total_ += size;
            return;
        }
        if (missing != 0) {
            parts_.push_back({zeros.data(), missing});
            total_ += missing;
        }
        parts_.push_back({static_cast<std::byte const*>(data), size});
        total_ += size;
    }

    alignas(8) std::byte few_[512];
    bool together_ = false;
    std::vector<std::byte> many_;
    std::byte* front_ = few_;
    boost::container::small_vector<std::span<std::byte const>, 8> parts_;
    std::uint64_t total_ = 0;
};

} // namespace

namespace {

/// A thread that waits for room at a peer: yields first, then naps, so that it costs little while the peer computes.
class room_waiter {
public:
    void pause(bool has_core)
    {
        ++rounds_;
        if (rounds_ < (has_core ? thresholds::spins : thresholds::spins_shared) / thresholds::room_spin_fraction)
            base::cpu_relax();
        else if (rounds_ < thresholds::room_rounds)
            ::sched_yield();
        else {
            timespec const nap{0, thresholds::room_nap.count()};
            ::nanosleep(&nap, nullptr);
        }
    }
    [[nodiscard]] bool long_since() const noexcept { return rounds_ > thresholds::room_rounds_untold; }
    void reset() noexcept { rounds_ = 0; }

private:
    std::uint32_t rounds_ = 0;
};

} // namespace

bool engine::impl::post(peer to, peer_state& p, transport::handler_id kind, std::span<std::byte const> head,
                        std::span<std::byte const> body, when_busy manner)
{
    room_waiter room;
    bool announced = false;
    struct unannounce {
        impl& m;
        bool& announced;
        ~unannounce()
        {
            if (announced)
                m.set_waiting_for(nullptr);
        }
    } const end{*this, announced};
    for (;;) {
        auto const outcome = out.try_post(to, p, kind, head, body, manner);
        if (outcome != sender::outcome::busy) [[likely]]
            return outcome == sender::outcome::taken;
        if (progress(thresholds::poll_budget) > 0) {
            room.reset();
            continue;
        }
        room.pause(has_core());
        if (room.long_since()) {
            if (deaths_moved() && acquire_token()) {
                look_for_deaths();
                release_token();
            }
            if (!announced) {
                announced = true;
                set_waiting_for(fmt::format("room to send to rank {}", to).c_str());
            }
        }
    }
}

bool engine::impl::post_stream(peer to, peer_state& p, std::span<std::span<std::byte const> const> parts, std::uint64_t total,
                               when_busy manner)
{
    // The parts are one sequence of bytes: long ones go from where they are, short ones are put together.
    counts.add(job::counter::messages_cut, 1);
    wire::fragment_header header{next_stream_.fetch_add(1, std::memory_order_relaxed), total, 0};
    std::size_t const room = (p.max_eager - sizeof header) & ~std::size_t{7};
    std::vector<std::byte> together;
    auto const sends = [&](std::span<std::byte const> bytes) {
        bool const taken = post(to, p, wire::fragment, wire::bytes_of(header), bytes, manner);
        header.offset += bytes.size();
        return taken;
    };
    for (auto part : parts) {
        while (!part.empty()) {
            std::size_t const n = std::min(room - together.size(), part.size());
            if (n == room) {
                if (!sends(part.first(n)))
                    return false;
            } else {
                together.insert(together.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(n));
                if (together.size() == room) {
                    if (!sends(together))
                        return false;
                    together.clear();
                }
            }
            part = part.subspan(n);
        }
    }
    return together.empty() || sends(together);
}

void engine::impl::send(outgoing const& o)
{
    message_plan plan(*this, attached, o.to, o.blocks);  // owns the given blocks until they are on their way
    if (o.head.size() > max_head)
        throw limit_error(fmt::format("a message head of {} bytes; the limit is {}: send big data as blocks", o.head.size(), max_head));
    if (o.blocks.size() > wire::max_blocks)
        throw limit_error(fmt::format("a message of {} blocks; the limit is {}", o.blocks.size(), wire::max_blocks));
    peer_state& p = reach(o.to);
    if (o.handler >= 65535)
        throw usage_error("engine: there is no handler 65535");
    auto const manner = o.waits && running_handlers == nullptr ? when_busy::progress : when_busy::queue;

    // A head alone that asks for no acknowledgement needs no header.
    if (o.blocks.empty() && o.delivered.function == nullptr && o.handler < wire::direct_handlers && o.head.size() <= p.max_eager) {
        if (!post(o.to, p, static_cast<transport::handler_id>(wire::first_direct + o.handler), o.head, {}, manner)) {
            require_open();
            throw_dead(o.to);
        }
        counts.sent(o.head.size());
        pending.complete(o.sent, true);
        return;
    }

    plan.choose(p, o.head.size());
    if (ways_told) [[unlikely]]
        for (auto const& b : plan.blocks)
            ways_told.leaves(o.to, b.wire.kind(), b.wire.size());
    // A queued message leaves with a later poll, which never comes if the program makes no other call: captured bytes are *sent* when
    // they have arrived.
    bool const sent_on_arrival = !o.waits && !plan.released && o.sent.function != nullptr && o.delivered.function == nullptr;
    bool const asks_arrival = o.delivered.function != nullptr || sent_on_arrival;
    std::uint64_t const wants = (asks_arrival ? wire::wants_delivered : 0) | (plan.released ? wire::wants_released : 0);
    std::uint64_t id = 0;
    if (wants != 0) {
        sending s;
        s.to = o.to;
        s.waiting = wants;
        if (plan.released)
            s.sent = o.sent;
        s.delivered = sent_on_arrival ? o.sent : o.delivered;
        s.kept = plan.keep();
        id = pending.open(std::move(s));
    }

    // If anything throws from here on, nothing waits for the message any more.
    struct withdraw {
        impl& m;
        std::uint64_t id;
        peer to;
        std::uint64_t wants;
        ~withdraw()
        {
            if (wants != 0)
                outbox::give_back(m.pending.close(id, to, wants).kept);
        }
    } guard{*this, id, o.to, wants};
    encoding const message(o, plan, id << wire::flag_bits | wants);
    bool taken = false;
    std::span<std::byte const> const whole = message.whole();
    if (message.together() && message.total() <= p.max_eager) {
        taken = post(o.to, p, wire::message, whole, {}, manner);
    } else if (message.together()) {
        taken = post_stream(o.to, p, {&whole, 1}, message.total(), manner);
    } else if (message.total() <= p.max_eager) {
        std::vector<std::byte> scratch;
        auto const [head, body] = message.in_two(scratch);
        taken = post(o.to, p, wire::message, head, body, manner);
    } else {
        taken = post_stream(o.to, p, message.parts(), message.total(), manner);
    }
    if (!taken) {
        require_open();
        if (wants == 0)
            throw_dead(o.to);
        guard.wants = 0;
        auto ended = pending.close(id, o.to, wants);
        // If the death was handled meanwhile, the completions were called with it, and that was the report.
        if (!ended.known) {
            if (!plan.released && !sent_on_arrival)
                pending.complete(o.sent, false);
            return;
        }
        outbox::give_back(ended.kept);
        throw_dead(o.to);
    }
    guard.wants = 0;
    counts.sent(o.head.size() + plan.inside);
    plan.taken(message_plan::outcome::sent);
    if (!plan.released && !sent_on_arrival)
        pending.complete(o.sent, true);
}

} // namespace towline::engine
