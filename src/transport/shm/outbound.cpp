// How a ring begins, grows and ends.

#include "transport/shm/outbound.hpp"

#include "base/idle.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <new>
#include <sched.h>
#include <utility>

namespace towline::transport::shm {

namespace {

/// A ring that was found full this often, with the consumer at work in between, is too small for its traffic.
constexpr std::uint8_t full_before_growth = 4;

static_assert(capacity_for(max_eager) <= most_cells);

} // namespace

void outbound::guard::wait() noexcept
{
    // The holder copies one message. If that takes longer, it was descheduled: yield.
    for (int tries = 0;; ++tries) {
        if (!flag_.load(std::memory_order_relaxed) && !flag_.exchange(true, std::memory_order_acquire))
            return;
        if (tries < 64)
            base::cpu_relax();
        else
            ::sched_yield();
    }
}

bool outbound::begin(environment& env, peer to, std::size_t bytes)
{
    if (state_ == state::closed || env.gone(to))
        return false;
    std::span<std::byte> const inbox = env.inbox(to);
    mailbox& box = box_of(inbox, env.rank());
    event_ = &env.event(to);
    fences_ = env.fences();
    if (env.has_doorbells()) {
        bells_ = &bells_of(inbox, env.rank() / 64);
        own_bell_ = std::uint64_t{1} << env.rank() % 64;
    }
    if (std::uint64_t const offset = box.ring.load(std::memory_order_acquire); offset != 0)
        return resume(env, to, offset);
    std::uint32_t const capacity = capacity_for(bytes);
    void* const memory = env.allocate(ring_bytes(capacity));
    if (memory == nullptr)
        throw std::bad_alloc();
    writer_ = ring_writer(memory, capacity, env.rank(), to);
    // Release: a reader that sees the mailbox sees the ring's head, and one that sees the count sees the mailbox.
    box.ring.store(env.offset_of(memory), std::memory_order_release);
    announced(inbox).count.fetch_add(1, std::memory_order_release);
    state_ = state::open;
    return true;
}

bool outbound::resume(environment& env, peer to, std::uint64_t offset)
{
    // The mailbox names the ring that the consumer reads. The predecessor wrote the last one in the chain of moves that begins there.
    for (;;) {
        attached_ring ring;
        try {
            ring = attach_ring(env, env.rank(), to, offset);
        } catch (error const&) {
            // the mailbox was overwritten: the peer is lost, as below
        }
        auto const [header, capacity] = ring;
        if (header == nullptr) {
            lost_ = true;
            state_ = state::closed;
            return false;
        }
        offset = header->moved_to.load(std::memory_order_acquire);
        if (offset == 0) {
            writer_ = ring_writer(ring_writer::resume{}, header, capacity);
            state_ = state::open;
            return true;
        }
        if (retired_count_ < retired_.size())
            retired_[retired_count_++] = header;
        else
            offset = 0;
    }
}

send_status outbound::make_room(environment& env, peer to, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body)
{
    reclaim(env);
    std::uint32_t const least = capacity_for(head.size() + body.size());
    std::uint32_t wanted = least > writer_.capacity() ? least : 0;
    if (wanted == 0) {
        switch (writer_.write(id, head, body)) {
        case ring_writer::outcome::written:
            return send_status::sent;
        case ring_writer::outcome::corrupt:
            lost_ = true;
            state_ = state::closed;
            return send_status::unreachable;
        case ring_writer::outcome::full:
            break;
        }
        if (env.gone(to)) {
            state_ = state::closed;
            return send_status::unreachable;
        }
        // Counted only if the consumer moved in between: a consumer that computes for long does not need a bigger ring.
        if (writer_.seen() != full_seen_) {
            full_seen_ = writer_.seen();
            ++full_;
        }
        if (full_ < full_before_growth || writer_.capacity() >= most_cells)
            return send_status::busy;
        wanted = std::min(most_cells, writer_.capacity() * 4);
    }
    if (!grow(env, to, wanted)) {
        if (wanted == least)
            throw std::bad_alloc();  // it will never fit
        return send_status::busy;
    }
    return writer_.write(id, head, body) == ring_writer::outcome::written ? send_status::sent : send_status::busy;
}

bool outbound::grow(environment& env, peer to, std::uint32_t capacity)
{
    void* const memory = retired_count_ < retired_.size() ? env.allocate(ring_bytes(capacity)) : nullptr;
    if (memory == nullptr)
        return false;
    ring_writer bigger(memory, capacity, env.rank(), to);
    writer_.move_to(env.offset_of(memory));
    retired_[retired_count_++] = writer_.header();
    writer_ = std::move(bigger);
    full_ = 0;
    full_seen_ = 0;
    return true;
}

void outbound::reclaim(environment& env) noexcept
{
    auto const end = retired_.begin() + retired_count_;
    auto const kept = std::remove_if(retired_.begin(), end, [&](ring_header* ring) {
        if (ring->done.load(std::memory_order_acquire) == 0)
            return false;
        env.deallocate(ring);
        return true;
    });
    retired_count_ = static_cast<std::uint8_t>(kept - retired_.begin());
}

void outbound::close(environment& env, peer to) noexcept
{
    guard const lock(locked_, alone_);
    if (state_ == state::open && env.gone(to)) {
        env.deallocate(writer_.header());
        for (std::size_t i = 0; i < retired_count_; ++i)
            env.deallocate(retired_[i]);
        retired_count_ = 0;
        writer_ = {};
    }
    state_ = state::closed;
}

void outbound::park() noexcept
{
    if (state_ == state::open)
        writer_.park();
}

bool outbound::take_loss() noexcept
{
    guard const lock(locked_, alone_);
    return std::exchange(lost_, false);
}

} // namespace towline::transport::shm
