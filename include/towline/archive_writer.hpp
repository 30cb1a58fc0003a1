#pragma once
// The writing half of the archive. Include towline/archive.hpp to use it.

#include <towline/archive_chunk.hpp>
#include <towline/detail/archive_cursor.hpp>

#include <array>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace towline {

class archive_writer;

namespace detail {
template <class T> struct codec;
template <class V> out_cursor put(archive_writer&, out_cursor, V&, std::uint32_t depth);
} // namespace detail

/// Encodes values, one after another. Single-threaded; unusable after an exception.
class archive_writer {
public:
    /// `room` is scratch space that the writer grows; its size is not that of the archive (see index()). If the next writer gets the same
    /// vector, nothing is allocated or cleared. It must outlive the writer and the use of index().
    explicit archive_writer(std::vector<std::byte>& room, std::size_t threshold = default_chunk_threshold,
                            std::uint32_t max_depth = archive_limits{}.max_depth);
    archive_writer(archive_writer const&) = delete;
    archive_writer& operator=(archive_writer const&) = delete;

    /// Appends a value. An rvalue may be given away (an rma_vector in it changes owner). Anything else is lent or copied: memory that
    /// became a chunk must not change until the message is sent. Throws archive_error for values that no reader accepts (nesting),
    /// usage_error for a valueless variant.
    template <class T> void write(T&& value)
    {
        using value_type = std::remove_reference_t<T>;
        using access = std::conditional_t<std::is_lvalue_reference_v<T>, value_type const, value_type>;
        seek(detail::put<access>(*this, cursor(), static_cast<access&>(value), depth_));
    }

    /// Marks the following chunks as viewed in place by the reader.
    void set_viewed(bool viewed) noexcept { viewed_ = viewed; }

    /// The archive's index with its header. The first call ends writing. Valid as long as the room.
    [[nodiscard]] std::span<std::byte const> index();
    /// The chunks, in order. Valid until the next write.
    [[nodiscard]] std::span<chunk const> chunks() const noexcept;
    [[nodiscard]] std::size_t threshold() const noexcept { return threshold_; }

    // For serializers:

    /// A block that the reader fetches with archive_reader::next_chunk; nothing goes into the index.
    void add_chunk(chunk const& block);
    /// A contiguous range of count elements that is a chunk whatever its size; readable as every contiguous range is.
    void add_range(std::uint64_t count, chunk const& block);
    /// True while a key, or a value that the reader inspects while decoding, is written: ranges must not become chunks.
    [[nodiscard]] bool index_only() const noexcept { return index_only_; }

    // For codecs, which carry the cursor themselves:

    [[nodiscard]] detail::out_cursor cursor() const noexcept { return {p_}; }
    [[nodiscard]] std::size_t written() const noexcept { return offset(cursor()); }
    /// Offsets stay valid when the room grows; cursors do not.
    [[nodiscard, gnu::always_inline]] std::size_t offset(detail::out_cursor c) const noexcept
    {
        return static_cast<std::size_t>(c.p - begin_);
    }
    [[nodiscard, gnu::always_inline]] std::byte* at(std::size_t offset) const noexcept { return begin_ + offset; }
    void seek(detail::out_cursor c) noexcept { p_ = c.p; }
    /// A cursor with room for n bytes.
    [[nodiscard, gnu::always_inline]] detail::out_cursor ensure(detail::out_cursor c, std::size_t n)
    {
        return static_cast<std::size_t>(end_ - c.p) >= n ? c : grow(c, n);
    }
    [[nodiscard, gnu::always_inline]] bool makes_chunk(std::uint64_t bytes) const noexcept { return bytes >= chunk_from_; }
    /// Adds a range as the next chunk, after the first byte of its count.
    [[nodiscard]] detail::out_cursor put_chunk(detail::out_cursor c, std::uint64_t count, void const* data, std::uint64_t bytes);
    [[gnu::always_inline]] void check_depth(std::uint32_t depth) const
    {
        if (depth >= max_depth_) [[unlikely]] {
            fail_depth();
        }
    }
    /// Sets the nesting at which write() starts, for codecs that call a serializer; returns the old one.
    std::uint32_t set_depth(std::uint32_t depth) noexcept { return std::exchange(depth_, depth); }
    /// Keeps the following ranges in the index, or not; returns the previous setting.
    bool set_index_only(bool on) noexcept;

private:
    [[nodiscard]] detail::out_cursor grow(detail::out_cursor c, std::size_t n);
    [[noreturn]] void fail_depth() const;

    std::byte* p_ = nullptr;
    std::byte* begin_ = nullptr;
    std::byte* end_ = nullptr;
    std::size_t chunk_from_ = 0; ///< threshold_, or out of reach while index_only_
    std::uint32_t max_depth_;
    std::uint32_t depth_ = 0;
    std::vector<std::byte>& room_;
    std::size_t threshold_;
    std::size_t chunk_count_ = 0;
    std::uint64_t chunk_bytes_ = 0;
    bool viewed_ = false;
    bool index_only_ = false;
    bool sealed_ = false;
    std::array<chunk, 4> few_chunks_;  // most messages have no more, and need no allocation
    std::vector<chunk> many_chunks_;
};

} // namespace towline
