#pragma once
// What every part of a matcher uses: the engine, the options, the lock, and short messages to other matchers.
//
// matching::core is derived from it and owns the parts; a part has references to it and to the few other parts that it needs. Any thread.
// `lock` is one for all parts: it is held for a look-up and some stores. What could poll the engine, and functions of the program, are
// called without it.

#include "base/idle.hpp"
#include "matching/matcher.hpp"
#include "matching/thresholds.hpp"
#include "matching/wire.hpp"

#include <atomic>
#include <cstring>
#include <exception>
#include <optional>
#include <sched.h>
#include <span>
#include <string_view>

namespace towline::matching {

/// A spin lock that yields, or nothing where one thread at a time calls.
class queue_lock {
public:
    explicit queue_lock(bool threaded) noexcept : threaded_(threaded) {}
    void lock() noexcept
    {
        if (threaded_ && word_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]]
            lock_slow();
    }
    void unlock() noexcept
    {
        if (threaded_)
            word_.store(0, std::memory_order_release);
    }

private:
    void lock_slow() noexcept
    {
        for (std::uint32_t round = 0;; ++round) {
            if (word_.load(std::memory_order_relaxed) == 0 && word_.exchange(1, std::memory_order_acquire) == 0)
                return;
            if (round < thresholds::lock_spins)
                base::cpu_relax();
            else
                ::sched_yield();
        }
    }
    alignas(64) std::atomic<std::uint32_t> word_{0};
    bool const threaded_;
};

template <class T>
[[nodiscard]] std::span<std::byte const> bytes_of(T const& value) noexcept
{
    return {reinterpret_cast<std::byte const*>(&value), sizeof value};
}

/// A message that consists of one T; nothing if it does not.
template <class T>
[[nodiscard]] std::optional<T> read_whole(engine::incoming const& m) noexcept
{
    T read;
    if (m.head().size() != sizeof read || m.blocks() != 0)
        return std::nullopt;
    std::memcpy(&read, m.head().data(), sizeof read);
    return read;
}

/// The header at a head's beginning, with its envelope; false: the head is shorter.
template <class Header>
[[nodiscard]] bool read_header(std::span<std::byte const> head, Header& h, envelope& e) noexcept
{
    if (head.size() < sizeof h)
        return false;
    std::memcpy(&h, head.data(), sizeof h);
    e = {h.context, h.source, h.tag};
    return true;
}

struct common {
    common(engine::engine& e, options const& o) : engine_(e), config(o), size(e.size()), lock(o.threaded) {}
    common(common const&) = delete;
    common& operator=(common const&) = delete;

    engine::engine& engine_;
    options const config;
    peer const size;
    engine::handler_id first_handler = 0;
    queue_lock mutable lock;

    struct guard {
        common const& c;
        explicit guard(common const& owner) noexcept : c(owner) { c.lock.lock(); }
        ~guard() { c.lock.unlock(); }
        guard(guard const&) = delete;
        guard& operator=(guard const&) = delete;
    };

    [[nodiscard]] engine::handler_id handler_of(wire::kind k) const noexcept { return static_cast<engine::handler_id>(first_handler + k); }
    /// Sends a message of the protocol. Does nothing if the peer is dead or the engine has ended. No lock held.
    template <class T>
    void tell(peer to, wire::kind kind, T const& message) noexcept
    {
        tell(to, kind, bytes_of(message));
    }
    /// The sender's message is matched, and its bytes are not needed any more where they are. No lock held.
    void acknowledge(peer to, std::uint64_t token) noexcept { tell(to, wire::matched, wire::matched_message{token}); }

    /// An envelope that a message may have.
    [[nodiscard]] bool is_possible(peer from, envelope const& e) const noexcept { return e.source >= 0 && e.tag >= 0 && from < size; }
    /// Logs that a message was dropped, and why; of very many, less often. Handlers only.
    void drop(peer from, std::string_view why);
    /// The same of a message that has not the form of `what`.
    void drop(engine::incoming const&, char const* what);
    /// Logs that the bytes of a matched message cannot be brought.
    void tell_loss(peer from, std::uint64_t bytes, std::exception const& why) const noexcept;

private:
    void tell(peer to, wire::kind, std::span<std::byte const> message) noexcept;
    std::uint64_t dropped_ = 0;  ///< touched by handlers only
};

/// A member function of a part as a handler of the engine.
template <class Part, void (Part::*function)(engine::incoming&)>
void handled(void* part, engine::engine&, engine::incoming& m)
{
    (static_cast<Part*>(part)->*function)(m);
}

} // namespace towline::matching
