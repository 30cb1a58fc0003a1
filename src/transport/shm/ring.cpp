// The general case of a ring: messages of several cells, stale cells, and its continuation in another ring.

#include "transport/shm/ring.hpp"

#include <bit>
#include <cstring>

namespace towline::transport::shm {

namespace {

inline void copy(std::byte* to, std::byte const* from, std::size_t n) noexcept
{
    if (n > 64)
        std::memcpy(to, from, n);
    else
        copy_small(to, from, n);
}

/// Up to so many bytes the payload is written from its beginning. (Zen 4, 240 B one way: 145 ns so, 175 with the first cell last, where
/// cores share caches; 545 and 610 on separate ones.)
constexpr std::size_t written_in_order = 6 * cell_bytes;

/// Writes the payload of a message, that of a longer one with its first two cells last. The consumer polls the first one and prefetches the
/// second: what is stored there long before the word must be fetched back from the consumer's cache, which takes as long as a message. Both
/// are fetched at the same time.
inline void fill(std::byte* to, std::span<std::byte const> head, std::span<std::byte const> body) noexcept
{
    if (head.size() > inline_bytes || head.size() + body.size() <= written_in_order) {
        copy(to, head.data(), head.size());
        copy(to + head.size(), body.data(), body.size());
        return;
    }
    std::size_t const first = inline_bytes - head.size();  // bytes of the body in the first cell
    std::size_t const two = first + cell_bytes;
    std::memcpy(to + inline_bytes + cell_bytes, body.data() + two, body.size() - two);
    base::prefetch_to_write(to + inline_bytes);
    base::prefetch_to_write(to);
    copy(to + inline_bytes, body.data() + first, cell_bytes);
    copy_small(to + head.size(), body.data(), first);
    copy_small(to, head.data(), head.size());
}

} // namespace

ring_writer::ring_writer(void* memory, std::uint32_t capacity, peer producer, peer consumer)
    : capacity_(capacity), shift_(static_cast<std::uint32_t>(std::countr_zero(capacity))),
      stale_(std::make_unique<std::uint64_t[]>(capacity / 64))
{
    std::memset(memory, 0, ring_bytes(capacity));
    header_ = new (memory) ring_header{.mark = ring_mark, .capacity = capacity, .producer = producer, .consumer = consumer, .reserved = 0,
                                       .parked = 0, .moved_to = 0, .position = 0, .done = 0};
    cells_ = reinterpret_cast<std::byte*>(header_ + 1);
}

ring_writer::ring_writer(resume, ring_header* header, std::uint32_t capacity)
    : cells_(reinterpret_cast<std::byte*>(header + 1)), tail_(header->parked.load(std::memory_order_acquire)),
      seen_(header->position.load(std::memory_order_acquire)), capacity_(capacity),
      shift_(static_cast<std::uint32_t>(std::countr_zero(capacity_))), stale_(std::make_unique<std::uint64_t[]>(capacity_ / 64)),
      header_(header)
{
    // The contents of the cells are unknown: all count as stale but the front, which the predecessor left clean.
    std::memset(stale_.get(), 0xff, capacity_ / 8);
    std::uint64_t const at = tail_ & (capacity_ - 1);
    stale_[at / 64] &= ~(std::uint64_t{1} << at % 64);
    stale_cells_ = capacity_ - 1;
}

void ring_writer::mark_stale(std::uint64_t from, std::uint64_t to) noexcept
{
    // By whole words: bit by bit this took a third of the time of a message of 2 KiB.
    for (std::uint64_t i = from; i < to; i = (i | 63) + 1) {
        std::uint64_t const last = std::min(to - 1, i | 63);
        std::uint64_t const bits = ~std::uint64_t{0} >> (63 - (last - i)) << i % 64;
        std::uint64_t& known = stale_[i / 64];
        stale_cells_ += static_cast<std::uint32_t>(std::popcount(bits & ~known));
        known |= bits;
    }
}

ring_writer::outcome ring_writer::refresh(std::uint64_t need) noexcept
{
    // Acquire: the consumer has read the cells before it published its position behind them.
    std::uint64_t const position = header_->position.load(std::memory_order_acquire);
    if (position < seen_ || position > tail_)
        return outcome::corrupt;
    seen_ = position;
    return tail_ + need - seen_ > capacity_ ? outcome::full : outcome::written;
}

ring_writer::outcome ring_writer::write(handler_id handler, std::span<std::byte const> head, std::span<std::byte const> body) noexcept
{
    std::size_t const bytes = head.size() + body.size();
    std::uint64_t const n = cells_for(bytes);
    std::uint64_t const at = tail_ & (capacity_ - 1);
    std::uint64_t const jump = at + n > capacity_ ? capacity_ - at : 0;
    std::uint64_t const need = jump + n + 1;
    if (tail_ + need - seen_ > capacity_) [[unlikely]] {
        if (outcome const o = refresh(need); o != outcome::written)
            return o;
    }
    std::uint64_t const begin = jump != 0 ? 0 : at;

    std::uint64_t const behind = (begin + n) & (capacity_ - 1);
    std::uint64_t const bit = std::uint64_t{1} << behind % 64;
    if ((stale_[behind / 64] & bit) != 0) {
        store_word(behind, 0, std::memory_order_relaxed);  // ordered by the release below
        stale_[behind / 64] &= ~bit;
        --stale_cells_;
    }
    if (n > 1)
        mark_stale(begin + 1, begin + n);
    fill(cell(begin) + word_bytes, head, body);
    store_word(begin, word::make(word::message, lap(tail_ + jump), handler, bytes), std::memory_order_release);
    if (jump != 0) {
        // The consumer still waits at the skip's cell: it sees nothing of the message before this store.
        mark_stale(at + 1, capacity_);
        store_word(at, word::make(word::skip, lap(tail_), 0, 0), std::memory_order_release);
    }
    tail_ += jump + n;
    // The next message is likely to be as long. Where it will need the consumer's position, that is read now, when nobody waits.
    if (tail_ + n + 1 - seen_ > capacity_)
        static_cast<void>(refresh(n + 1));
    simple_until_ = stale_cells_ == 0 ? seen_ + capacity_ - 1 : 0;
    return outcome::written;
}

void ring_writer::move_to(std::uint64_t offset) noexcept
{
    header_->moved_to.store(offset, std::memory_order_relaxed);
    std::uint64_t const at = tail_ & (capacity_ - 1);
    std::memcpy(cell(at) + word_bytes, &offset, sizeof offset);
    store_word(at, word::make(word::moved, lap(tail_), 0, sizeof offset), std::memory_order_release);
}

ring_reader::ring_reader(ring_header* header, std::uint32_t capacity) noexcept
    : cells_(reinterpret_cast<std::byte*>(header + 1)), position_(header->position.load(std::memory_order_relaxed)), published_(position_),
      capacity_(capacity), shift_(static_cast<std::uint32_t>(std::countr_zero(capacity))), takes_(base::takes_lines()), header_(header)
{
}

ring_reader::found ring_reader::look_behind(std::uint64_t w, view& out) noexcept
{
    std::uint64_t const at = position_ & (capacity_ - 1);
    switch (word::kind_of(w)) {
    case word::skip:
        // A skip leads to cell 0 and never begins there, so that this recursion ends.
        if (at == 0)
            return found::corrupt;
        position_ += capacity_ - at;
        return look(out);
    case word::moved:
        if (word::bytes(w) != sizeof out.moved_to)
            return found::corrupt;
        std::memcpy(&out.moved_to, cells_ + at * cell_bytes + word_bytes, sizeof out.moved_to);
        return found::moved;
    default:
        return found::corrupt;
    }
}

} // namespace towline::transport::shm
