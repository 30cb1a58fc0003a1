#pragma once
// One ring: messages from one producer to one consumer through memory that both map (docs/wire.md, "Shared-memory rings").
//
// The ring is a row of 64-byte cells. Positions count cells from the ring's birth and never wrap; a position's cell is its remainder, its
// lap the quotient + 1. A message begins in the cell at the producer's position: eight bytes of `word` (lap, handler, kind, length),
// then the payload, which goes on through as many following cells as it needs. The word is stored last. The consumer looks at one word
// only, that of the cell at its own position (the front), and takes it as published when its lap is the position's lap.
//
// Why a payload is never mistaken for a word. Continuation cells hold arbitrary bytes where a word would be. Invariant: when a cell becomes
// the front, its first eight bytes hold what the producer stored as a word: a word of the lap before, or 0. A cell becomes the front by the
// publication of the message (or skip) before it. At birth all cells are 0. The producer keeps a private bit per cell, `stale`, set when it
// fills the cell with continuation bytes or jumps over it, and before it publishes a message it looks at the bit of the cell behind the
// message: if it is set, it stores 0 there and clears the bit. So that cell holds 0, or the word stored when the cell was last passed,
// which was one lap before, since a cell passed as continuation or jumped over would have its bit set. Both differ from a word of the
// present lap, whatever the payloads were. The store is ordered before the publication (release) and the consumer reads the cell after it
// saw the publication (acquire), so it sees that value or the word of the next message, nothing older.
//
// The cell behind a message must be free to be written, so one cell always stays empty. That cell also leaves room for the word that
// moves the consumer to a bigger ring, however full this one is.
//
// Memory orders: words and the consumer's position are stored with release and loaded with acquire; each side's other data is its own.
// Neither side trusts what the other wrote: every index is masked with a capacity that was read once, every length is checked.

#include "base/copy.hpp"
#include "base/prefetch.hpp"
#include "transport/transport.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace towline::transport::shm {

inline constexpr std::size_t cell_bytes = 64;
inline constexpr std::size_t word_bytes = 8;
/// Largest payload of one cell, next to its word.
inline constexpr std::size_t inline_bytes = cell_bytes - word_bytes;
/// Largest payload of write_few: four cells.
inline constexpr std::size_t short_bytes = 4 * cell_bytes - word_bytes;
/// Largest payload of one message: 8 KiB and an envelope, which end with a full cell. Copying that much in and out of the ring takes about
/// as long as a rendezvous by reference.
inline constexpr std::size_t max_eager = 129 * cell_bytes - word_bytes;
inline constexpr std::uint32_t first_cells = 64;   ///< a new ring: 4 KiB
inline constexpr std::uint32_t most_cells = 1024;  ///< a busy ring: 64 KiB
inline constexpr std::uint64_t ring_mark = 0x31676e6972776f74;  // "towring1"

/// Head of a ring in memory; the cells follow.
struct ring_header {
    // written by the producer before the ring is announced
    std::uint64_t mark;      ///< ring_mark
    std::uint32_t capacity;  ///< cells, a power of two
    std::uint32_t producer;  ///< rank
    std::uint32_t consumer;  ///< rank
    std::uint32_t reserved;
    // written by the producer for its own successor: where it stopped, and the ring it moved to (offset in its segment; 0: none)
    std::atomic<std::uint64_t> parked;
    std::atomic<std::uint64_t> moved_to;
    // written by the consumer, on a line of its own
    alignas(cell_bytes) std::atomic<std::uint64_t> position;  ///< cells before it may be reused; published late
    std::atomic<std::uint32_t> done;                          ///< 1: the consumer follows the move and looks at this ring no more
};
static_assert(sizeof(ring_header) == 2 * cell_bytes && std::atomic<std::uint64_t>::is_always_lock_free);

[[nodiscard]] constexpr std::size_t ring_bytes(std::uint32_t capacity) noexcept
{
    return sizeof(ring_header) + std::size_t{capacity} * cell_bytes;
}

[[nodiscard]] constexpr std::uint32_t cells_for(std::size_t payload) noexcept
{
    return static_cast<std::uint32_t>((word_bytes + payload + cell_bytes - 1) / cell_bytes);
}

/// Smallest ring in which a message of so many bytes eventually fits. It may have to skip almost its own length at the end of a lap, one
/// cell stays empty, and the consumer may hold up to a quarter of the ring unpublished: 2n cells of three quarters.
[[nodiscard]] constexpr std::uint32_t capacity_for(std::size_t payload) noexcept
{
    return std::max(first_cells, std::bit_ceil(3 * cells_for(payload)));
}

/// The first eight bytes of a message. Bits 0-31 lap, 32-39 handler, 40-43 kind, 44-63 bytes of payload. 0 is no word.
struct word {
    enum kind : std::uint32_t { message = 1, skip = 2, moved = 3 };

    [[nodiscard]] static constexpr std::uint64_t make(kind k, std::uint32_t lap, handler_id handler, std::size_t bytes) noexcept
    {
        return lap | std::uint64_t{handler} << 32 | std::uint64_t{k} << 40 | std::uint64_t{bytes} << 44;
    }
    [[nodiscard]] static constexpr std::uint32_t lap(std::uint64_t w) noexcept { return static_cast<std::uint32_t>(w); }
    [[nodiscard]] static constexpr handler_id handler(std::uint64_t w) noexcept { return static_cast<handler_id>(w >> 32); }
    [[nodiscard]] static constexpr std::uint32_t kind_of(std::uint64_t w) noexcept { return static_cast<std::uint32_t>(w >> 40) & 15; }
    [[nodiscard]] static constexpr std::size_t bytes(std::uint64_t w) noexcept { return static_cast<std::size_t>(w >> 44); }
};
static_assert(max_eager < std::size_t{1} << 20);

template <class Word>
[[gnu::always_inline]] inline void copy_word(std::byte* to, std::byte const* from) noexcept
{
    Word word;
    std::memcpy(&word, from, sizeof word);
    std::memcpy(to, &word, sizeof word);
}
/// Copies a few bytes in words that do not overlap. The source was often written just before, word by word, and a wider load that covers
/// several stores cannot be forwarded: it waits until they are in the cache, longer than the copy takes. Null is allowed with 0 bytes.
[[gnu::always_inline]] inline void copy_small(std::byte* to, std::byte const* from, std::size_t n) noexcept
{
    if (n == 8) [[likely]]
        return copy_word<std::uint64_t>(to, from);
    std::size_t at = 0;
    for (; at + 32 <= n; at += 32) {
        copy_word<std::uint64_t>(to + at, from + at);
        copy_word<std::uint64_t>(to + at + 8, from + at + 8);
        copy_word<std::uint64_t>(to + at + 16, from + at + 16);
        copy_word<std::uint64_t>(to + at + 24, from + at + 24);
    }
    for (; at + 8 <= n; at += 8)
        copy_word<std::uint64_t>(to + at, from + at);
    if ((n & 4) != 0) {
        copy_word<std::uint32_t>(to + at, from + at);
        at += 4;
    }
    if ((n & 2) != 0) {
        copy_word<std::uint16_t>(to + at, from + at);
        at += 2;
    }
    if ((n & 1) != 0)
        copy_word<std::uint8_t>(to + at, from + at);
}

/// The producer's side. Not thread-safe; the ring's memory is not owned.
class ring_writer {
public:
    enum class outcome { written, full, corrupt };

    ring_writer() = default;
    /// Begins a new ring in `memory` (ring_bytes(capacity), aligned to 64). Throws std::bad_alloc.
    ring_writer(void* memory, std::uint32_t capacity, peer producer, peer consumer);
    /// Continues a ring where a predecessor in this process parked it.
    struct resume {};
    ring_writer(resume, ring_header* header, std::uint32_t capacity);

    [[nodiscard]] bool open() const noexcept { return header_ != nullptr; }
    [[nodiscard]] ring_header* header() const noexcept { return header_; }
    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

    /// Publishes a message of one cell; false unless there is room and no cell of the ring is stale. At most inline_bytes.
    [[nodiscard, gnu::always_inline]] bool write_one(inline_shape s, std::byte const* head, std::byte const* body) noexcept
    {
        if (tail_ >= simple_until_) [[unlikely]]
            return false;
        std::byte* const to = cell(tail_ & (capacity_ - 1));
        copy_small(to + word_bytes, head, s.head);
        copy_small(to + word_bytes + s.head, body, s.body);
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(to))
            .store(word::make(word::message, lap(tail_), s.id, std::size_t{s.head} + s.body), std::memory_order_release);
        ++tail_;
        return true;
    }
    /// Publishes a message of at most short_bytes; false if there is no room.
    [[nodiscard, gnu::always_inline]] bool write_few(inline_shape s, std::byte const* head, std::byte const* body) noexcept
    {
        return (std::size_t{s.head} + s.body <= inline_bytes && write_one(s, head, body)) || write_more(s, head, body);
    }
    /// Publishes a message. `full`: the consumer has not made room yet; `corrupt`: the consumer's position is impossible.
    outcome write(handler_id handler, std::span<std::byte const> head, std::span<std::byte const> body) noexcept;
    /// Prefetches cells that will be written soon, for ownership, out of the consumer's cache; `bytes`: of the message that was written
    /// last, and perhaps of the next one. In a burst these fetches overlap, where the stores themselves would wait for one line after the
    /// other. Not where the consumer has caught up: what it polls then comes later (Zen 4, 64 B one way on separate cores: 410 ns so, 390
    /// without, 343 without and with prefetch_second).
    void own_ahead(std::size_t bytes) const noexcept
    {
        std::uint64_t const cells = cells_for(bytes);
        if (cells == 1)
            return base::prefetch_to_write(cell((tail_ + most_ahead) & (capacity_ - 1)));
        for (std::uint64_t i = 1; i <= std::min(cells, most_ahead); ++i)  // not the front cell: the consumer polls it
            base::prefetch_to_write(cell((tail_ + i) & (capacity_ - 1)));
    }
    /// Publishes that the ring goes on at that offset of the producer's segment; nothing may be written afterwards. There is always room.
    void move_to(std::uint64_t offset) noexcept;
    /// Leaves the position for a successor.
    void park() noexcept { header_->parked.store(tail_, std::memory_order_release); }
    /// The consumer's position as last seen.
    [[nodiscard]] std::uint64_t seen() const noexcept { return seen_; }

private:
    [[nodiscard]] std::uint32_t lap(std::uint64_t position) const noexcept { return static_cast<std::uint32_t>(position >> shift_) + 1; }
    [[nodiscard]] std::byte* cell(std::uint64_t index) const noexcept { return cells_ + index * cell_bytes; }
    void store_word(std::uint64_t index, std::uint64_t w, std::memory_order order) const noexcept
    {
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(cell(index))).store(w, order);
    }
    static constexpr std::uint64_t most_ahead = 8;
    [[gnu::noinline]] bool write_more(inline_shape s, std::byte const* head, std::byte const* body) noexcept
    {
        return write(s.id, {head, s.head}, {body, s.body}) == outcome::written;
    }
    void mark_stale(std::uint64_t from, std::uint64_t to) noexcept;
    outcome refresh(std::uint64_t need) noexcept;

    std::byte* cells_ = nullptr;
    std::uint64_t tail_ = 0;  ///< position of the next message
    std::uint64_t seen_ = 0;  ///< the consumer's position as last read
    std::uint64_t simple_until_ = 0;  ///< write_one may write cells before this position: they are free, and none is stale
    std::uint32_t capacity_ = 0;
    std::uint32_t shift_ = 0;
    std::uint32_t stale_cells_ = 0;   ///< bits set in stale_
    std::unique_ptr<std::uint64_t[]> stale_;
    ring_header* header_ = nullptr;
};

/// The consumer's side. Not thread-safe; the ring's memory is not owned.
class ring_reader {
public:
    enum class found { nothing, message, moved, corrupt };
    struct view {
        handler_id handler = 0;
        std::span<std::byte const> payload;  ///< in the ring, aligned to 8
        std::uint64_t moved_to = 0;
        std::uint32_t cells = 0;
    };

    ring_reader() = default;
    /// Begins at the consumer's published position. The caller has checked that `capacity` is a power of two, at least first_cells, and
    /// that the memory holds as many cells.
    ring_reader(ring_header* header, std::uint32_t capacity) noexcept;

    [[nodiscard]] ring_header* header() const noexcept { return header_; }

    /// Whether `look` would find something.
    [[nodiscard]] bool ready() const noexcept { return !waiting(load(position_ & (capacity_ - 1))); }
    /// What is at the front. A message stays there, with its payload valid, until `pass`.
    [[nodiscard]] found look(view& out) noexcept
    {
        std::uint64_t const w = load(position_ & (capacity_ - 1));
        if (word::lap(w) == lap() && w != 0)
            return take_in(w, out);
        if (passed_ != nullptr) [[unlikely]]
            take_passed();
        return nothing_at(w);
    }
    /// Before `pass`, in a burst of messages: takes the line of a one-cell message (base/copy.hpp). Else the producer, which runs ahead,
    /// would wait for each line when it writes it again; its own prefetch does not help, as it still has a shared copy of the line.
    void take(view const& seen) const noexcept
    {
        if (takes_ && seen.cells == 1)
            base::take_line(cells_[(position_ & (capacity_ - 1)) * cell_bytes + cell_bytes - 1]);
    }
    /// Passes the message that `look` found; the producer may overwrite its cells from now on.
    void pass(view const& seen) noexcept
    {
        if (passed_ != nullptr)
            take_passed();
        if (seen.cells > 1) {
            passed_ = cells_ + (position_ & (capacity_ - 1)) * cell_bytes;
            passed_cells_ = seen.cells;
        }
        position_ += seen.cells;
        if (position_ - published_ >= capacity_ / 4)
            publish();
    }
    void publish() noexcept
    {
        if (passed_ != nullptr)
            take_passed();
        header_->position.store(published_ = position_, std::memory_order_release);
    }
    /// Prefetches the cell behind the front one, where nothing has come for a while: both lines of a message of two cells are then fetched
    /// at the same time, as the processor goes on to this while it waits for the first.
    void prefetch_second() const noexcept { __builtin_prefetch(cells_ + ((position_ + 1) & (capacity_ - 1)) * cell_bytes); }
    /// Prefetches the lines that a fast producer has probably filled by now.
    void prefetch() const noexcept { __builtin_prefetch(cells_ + ((position_ + 4) & (capacity_ - 1)) * cell_bytes); }

private:
    [[nodiscard]] std::uint32_t lap() const noexcept { return static_cast<std::uint32_t>(position_ >> shift_) + 1; }
    [[nodiscard]] std::uint64_t load(std::uint64_t index) const noexcept
    {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(cells_ + index * cell_bytes)).load(std::memory_order_acquire);
    }
    /// Takes the lines of a message of several cells, which the producer will write again soon. Not before the handler has run: its stores
    /// would queue behind these. And not after the cells were given back.
    void take_passed() noexcept { base::take_lines(std::exchange(passed_, nullptr), passed_cells_ * cell_bytes); }
    [[nodiscard]] found nothing_at(std::uint64_t w) const noexcept { return waiting(w) ? found::nothing : found::corrupt; }
    /// A new word is at the front.
    [[nodiscard]] found take_in(std::uint64_t w, view& out) noexcept
    {
        std::uint64_t const at = position_ & (capacity_ - 1);
        std::size_t const bytes = word::bytes(w);
        if (word::kind_of(w) != word::message) [[unlikely]]
            return look_behind(w, out);
        out.cells = cells_for(bytes);
        if (bytes > max_eager || at + out.cells > capacity_) [[unlikely]]
            return found::corrupt;
        out.handler = word::handler(w);
        out.payload = {cells_ + at * cell_bytes + word_bytes, bytes};
        return found::message;
    }
    /// A new word that is no message: a skip, behind which the next message is, or a move.
    [[nodiscard]] found look_behind(std::uint64_t w, view& out) noexcept;
    /// The front cell is unchanged since it became the front.
    [[nodiscard]] bool waiting(std::uint64_t w) const noexcept { return w == 0 || word::lap(w) == lap() - 1; }

    std::byte* cells_ = nullptr;
    std::uint64_t position_ = 0;
    std::uint64_t published_ = 0;
    std::uint32_t capacity_ = 0;
    std::uint32_t shift_ = 0;
    std::uint32_t passed_cells_ = 0;
    bool takes_ = false;
    std::byte* passed_ = nullptr;  ///< the last message, if the lines of its cells are still to be taken
    ring_header* header_ = nullptr;
};

} // namespace towline::transport::shm
