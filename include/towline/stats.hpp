#pragma once
// What this process did so far: the numbers behind `towline run --stats`.

#include <cstdint>

namespace towline {

/// Totals since the process joined; bytes unless said. Take two and subtract.
struct statistics {
    std::uint64_t calls_sent = 0;     ///< remote calls and posts begun (number)
    std::uint64_t calls_handled = 0;  ///< run for others, or for itself (number)
    std::uint64_t messages_sent = 0;  ///< (number)
    std::uint64_t bytes_inline = 0;   ///< small payloads inside messages
    std::uint64_t bytes_handed_over = 0;
    std::uint64_t bytes_copied_once = 0;
    std::uint64_t bytes_copied_twice = 0;
    std::uint64_t bytes_wire = 0;
    std::uint64_t handed_over = 0;    ///< blocks (number), and so on
    std::uint64_t copied_once = 0;
    std::uint64_t copied_twice = 0;
    std::uint64_t wire = 0;
    std::uint64_t bytes_cma = 0;      ///< of copied once: by cross-memory attach
    std::uint64_t bytes_staged = 0;   ///< through an arena block of the sender
    std::uint64_t bytes_mapped = 0;   ///< straight from the sender's arena
    std::uint64_t sleeps = 0;         ///< times a thread went to sleep while waiting (number)
    std::uint64_t bytes_cooperated = 0;  ///< of mapped: copied by the sender, while the receiver copied the rest
    std::uint64_t bytes_xpmem = 0;    ///< of copied once: read from an attachment of the sender's memory (XPMEM)
    std::uint64_t bytes_onloaded = 0; ///< of copied_once and copied_twice: by a helper thread (TOWLINE_ONLOAD)
    std::uint64_t bytes_pushed = 0;   ///< of copied twice: through lines that sender and receiver share, at the same time

    // Operations of teams that went by load and store. Those of a team that lives may be up to 63 behind.
    std::uint64_t team_operations = 0;   ///< (number)
    std::uint64_t bytes_offered = 0;     ///< copied to where the others read them
    std::uint64_t bytes_in_place = 0;    ///< read from and written to rows of other ranks where they are

    /// Of everything, what happened since `before`.
    [[nodiscard]] statistics since(statistics const& before) const noexcept;
};

/// This process's totals. Any thread; counts of other threads that are at work may lag. Needs no world (zeros before the first), but joins
/// the job, and throws what that throws.
[[nodiscard]] statistics stats();

} // namespace towline
