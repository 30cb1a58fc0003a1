#pragma once
// What the shared-memory transport is built on: memory that the ranks share, and their event counts. In a job that is the heap and the job
// file; in a test it may be plain memory shared by threads of one process.

#include "base/event_count.hpp"
#include "transport/transport.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace towline::transport::shm {

/// Not called per message: only at first contact, and when a ring grows or is full. Thread-safe.
class environment {
public:
    virtual ~environment() = default;

    [[nodiscard]] virtual peer rank() const noexcept = 0;
    [[nodiscard]] virtual peer size() const noexcept = 0;
    [[nodiscard]] virtual base::fence_side fences() const noexcept = 0;
    /// The job is oversubscribed, so that polls cost more than messages: a sender sets a bit in the receiver's doorbells, and a poll looks
    /// only at the rings of senders whose bit is set. The same for all ranks.
    [[nodiscard]] virtual bool has_doorbells() const noexcept = 0;

    /// Memory of the own arena, aligned to 64; null if there is none.
    [[nodiscard]] virtual void* allocate(std::size_t bytes) noexcept = 0;
    virtual void deallocate(void*) noexcept = 0;
    /// Where a block of the own arena is, for peers; never 0.
    [[nodiscard]] virtual std::uint64_t offset_of(void const* block) const noexcept = 0;
    /// The memory at an offset that a rank announced. Throws error if that is not inside the rank's arena, or cannot be mapped.
    [[nodiscard]] virtual void* attach(peer owner, std::uint64_t offset, std::size_t bytes) = 0;
    /// The head of a rank's segment, at least inbox_bytes(size()), zero before its first use. Throws error if it cannot be mapped.
    [[nodiscard]] virtual std::span<std::byte> inbox(peer) = 0;
    /// Where the rank's threads sleep. Stays valid as long as the environment.
    [[nodiscard]] virtual base::event_count& event(peer) noexcept = 0;
    /// The rank has left or died: it reads and writes nothing any more.
    [[nodiscard]] virtual bool gone(peer) const noexcept = 0;
    /// The rank's memory can be mapped here.
    [[nodiscard]] virtual bool shares_memory(peer) const noexcept { return true; }
};

/// The environment of this process's job: heap and membership.
[[nodiscard]] std::unique_ptr<environment> job_environment();

/// How an inbox is laid out (docs/wire.md): an announcement counter, doorbells, and from byte 4096 one mailbox per sender.
struct announcements {
    alignas(64) std::atomic<std::uint64_t> count;  ///< bumped after a mailbox was filled
};
/// The doorbells of 64 senders, a bit each: set by the sender after it has written, cleared by the receiver before it looks at the rings.
using doorbells = std::atomic<std::uint64_t>;
struct mailbox {
    /// Where the sender's ring begins in its segment; 0: none yet. Written once by the sender, then by the owner of the inbox as it moves
    /// on.
    alignas(64) std::atomic<std::uint64_t> ring;
};
static_assert(sizeof(mailbox) == 64);
inline constexpr std::size_t doorbells_begin = 64;
inline constexpr std::size_t mailboxes_begin = 4096;
inline constexpr peer most_with_doorbells = (mailboxes_begin - doorbells_begin) * 8;

[[nodiscard]] constexpr std::size_t inbox_bytes(peer size) noexcept
{
    return mailboxes_begin + std::size_t{size} * sizeof(mailbox);
}
[[nodiscard]] inline announcements& announced(std::span<std::byte> inbox) noexcept
{
    return *reinterpret_cast<announcements*>(inbox.data());
}
/// Of the senders from 64 * `nth` on.
[[nodiscard]] inline doorbells& bells_of(std::span<std::byte> inbox, std::size_t nth) noexcept
{
    return *(reinterpret_cast<doorbells*>(inbox.data() + doorbells_begin) + nth);
}
[[nodiscard]] inline mailbox& box_of(std::span<std::byte> inbox, peer sender) noexcept
{
    return *(reinterpret_cast<mailbox*>(inbox.data() + mailboxes_begin) + sender);
}

struct ring_header;
struct attached_ring {
    ring_header* header = nullptr;  ///< null: there is no such ring
    std::uint32_t capacity = 0;     ///< as it was checked; the memory's word may change at any time
};
/// The ring for messages of `producer` to `consumer` at that offset of the producer's segment. Throws as environment::attach.
[[nodiscard]] attached_ring attach_ring(environment&, peer producer, peer consumer, std::uint64_t offset);

/// The shared-memory transport of the environment's rank.
[[nodiscard]] std::unique_ptr<component> make(std::unique_ptr<environment>);

} // namespace towline::transport::shm
