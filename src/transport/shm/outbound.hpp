#pragma once
// The sending side towards one peer: the ring, how it begins, grows and ends, and the lock among this process's threads.

#include "transport/shm/environment.hpp"
#include "transport/shm/ring.hpp"

#include <array>
#include <atomic>

namespace towline::transport::shm {

/// All zeros: nothing was sent yet (base::sparse_array).
class alignas(64) outbound {
public:
    /// The fast path of at most short_bytes. False, and nothing happened, if the lock is held, no ring is open, or there is no room.
    [[nodiscard, gnu::always_inline]] bool send_few(inline_shape s, std::byte const* head, std::byte const* body) noexcept
    {
        if (!alone_ && locked_.exchange(true, std::memory_order_acquire)) [[unlikely]]
            return false;
        bool const sent = state_ == state::open && writer_.write_few(s, head, body);
        if (sent) [[likely]] {
            own_ahead(std::size_t{s.head} + s.body);
            tell();
        }
        locked_.store(false, std::memory_order_release);
        return sent;
    }
    /// As component::try_send; the sizes were checked. After `unreachable`, ask `take_loss`.
    /// `alone`: one thread at a time sends and polls. `vain_polls`: counts those of this process, is read where `alone`; outlives this.
    send_status send(environment& env, peer to, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body, bool alone,
                     std::uint32_t const& vain_polls)
    {
        guard const lock(locked_, alone_);
        if (state_ != state::open) [[unlikely]] {
            vain_polls_ = &vain_polls;
            if (!begin(env, to, head.size() + body.size()))
                return send_status::unreachable;
            if (alone)  // else other threads read it now
                alone_ = true;
        }
        if (writer_.write(id, head, body) != ring_writer::outcome::written) [[unlikely]] {
            if (send_status const s = make_room(env, to, id, head, body); s != send_status::sent)
                return s;
        }
        own_ahead(head.size() + body.size());
        tell();
        return send_status::sent;
    }

    /// One thread at a time sends from now on: no lock.
    void one_thread() noexcept
    {
        if (state_ == state::open)
            alone_ = true;
    }

    /// Nothing is sent any more. Frees the rings if the peer can no longer touch them.
    void close(environment&, peer to) noexcept;
    /// Leaves the ring to a successor in this process. No thread sends.
    void park() noexcept;
    /// The peer's half of the ring was found corrupt; true once.
    [[nodiscard]] bool take_loss() noexcept;

private:
    enum class state : std::uint8_t { fresh = 0, open, closed };

    /// Spin lock among the threads of this process that send to the same peer; one exchange without contention.
    class guard {
    public:
        guard(std::atomic<bool>& flag, bool alone) noexcept : flag_(flag)
        {
            if (!alone && flag_.exchange(true, std::memory_order_acquire)) [[unlikely]]
                wait();
        }
        ~guard() { flag_.store(false, std::memory_order_release); }
        guard(guard const&) = delete;
        guard& operator=(guard const&) = delete;

    private:
        void wait() noexcept;
        std::atomic<bool>& flag_;
    };

    /// After a publication: rings the receiver's bell, if it has one, and wakes it, if it sleeps. Else no system call and no fence.
    void tell() noexcept
    {
        if (bells_ != nullptr) [[unlikely]]
            bells_->fetch_or(own_bell_, std::memory_order_release);
        event_->notify(fences_);
    }
    /// In a burst: two messages without a vain poll between them. Always where several threads call: the line of the count is the polling
    /// thread's, which writes it all the time.
    void own_ahead(std::size_t bytes) noexcept
    {
        if (!alone_ || sent_after_ == *vain_polls_)
            writer_.own_ahead(bytes);
        else
            sent_after_ = *vain_polls_;
    }
    bool begin(environment&, peer to, std::size_t bytes);
    bool resume(environment&, peer to, std::uint64_t offset);
    send_status make_room(environment&, peer to, handler_id, std::span<std::byte const> head, std::span<std::byte const> body);
    /// Moves to a new ring of that many cells; false if there is no memory for it.
    bool grow(environment&, peer to, std::uint32_t capacity);
    void reclaim(environment&) noexcept;

    std::atomic<bool> locked_{false};
    bool alone_ = false;
    state state_ = state::fresh;
    bool lost_ = false;
    std::uint8_t full_ = 0;          ///< times the ring was found full since it began
    std::uint8_t retired_count_ = 0;
    base::fence_side fences_{};
    std::uint32_t sent_after_ = 0;   ///< vain polls, when the last message was written
    base::event_count* event_ = nullptr;
    ring_writer writer_;
    std::uint32_t const* vain_polls_ = nullptr;
    doorbells* bells_ = nullptr;     ///< of the receiver, if it has any
    std::uint64_t own_bell_ = 0;     ///< its bit for this rank
    std::uint64_t full_seen_ = 0;    ///< the consumer's position when the ring was last found full
    std::array<ring_header*, 8> retired_{};  ///< old rings that the consumer may still read; few, as each is 4 times the last
};

} // namespace towline::transport::shm
