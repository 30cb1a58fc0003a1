#pragma once
// The reading half of the archive. Include towline/archive.hpp to use it.

#include <towline/archive_chunk.hpp>
#include <towline/detail/archive_cursor.hpp>

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace towline {

class archive_reader;

namespace detail {
template <class T> in_cursor get(archive_reader&, in_cursor, T&, std::uint32_t depth);
template <class T> T make(archive_reader&, in_cursor&, std::uint32_t depth);
} // namespace detail

/// A contiguous range in an archive: in the index, or as a chunk.
struct incoming_range {
    std::uint64_t count = 0;         ///< elements
    std::byte const* data = nullptr; ///< in the index; null when it is a chunk
    std::size_t chunk = 0;           ///< number of the chunk

    [[nodiscard]] bool is_chunk() const noexcept { return data == nullptr; }
};

/// Decodes values in the order in which they were written. It checks every length against the remaining bytes before it allocates. Invalid
/// input throws archive_error; the reader is unusable afterwards. Views that were read refer to the index, the chunks and the reader, and
/// are valid as long as all three. Single-threaded.
class archive_reader {
public:
    /// Checks header and chunk sizes. `chunks` may be null for an archive without chunks; index and chunks must outlive the reader.
    /// An index that does not start at a multiple of 16 is copied.
    explicit archive_reader(std::span<std::byte const> index, chunk_source* chunks = nullptr, archive_limits limits = {});
    archive_reader(archive_reader const&) = delete;
    archive_reader& operator=(archive_reader const&) = delete;

    /// Reads a value. Chunks may arrive in it after the return (chunk_source::fetch); until then it may be moved, not copied.
    template <class T> [[nodiscard]] T read()
    {
        detail::in_cursor c = cursor();
        T value = detail::make<T>(*this, c, depth_);
        seek(c);
        return value;
    }
    /// As read, into an existing object whose strings and vectors keep their capacity. After an exception the object has some valid value.
    template <class T> void read_into(T& value) { seek(detail::get(*this, cursor(), value, depth_)); }
    /// Call after the last value: throws archive_error if bytes or chunks are left.
    void finish();

    [[nodiscard]] std::uint64_t threshold() const noexcept { return threshold_; } ///< the writer's
    [[nodiscard]] std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - p_); }
    [[nodiscard]] std::size_t offset() const noexcept { return static_cast<std::size_t>(p_ - base_); }

    // For serializers:

    /// Reads a contiguous range of bitwise elements of this size and alignment; skips the elements in the index.
    [[nodiscard]] incoming_range read_range(std::size_t element_size, std::size_t alignment, std::type_info const& type);
    template <class E> [[nodiscard]] incoming_range read_range() { return read_range(sizeof(E), alignof(E), typeid(E)); }
    /// The number of the next chunk, which must have this many bytes.
    [[nodiscard]] std::size_t next_chunk(std::uint64_t bytes, std::type_info const& type);
    /// The same for `count` elements.
    [[nodiscard]] std::size_t next_chunk(std::uint64_t count, std::size_t element_size, std::type_info const& type);
    /// The number of the next chunk, whatever its size.
    [[nodiscard]] std::size_t next_chunk();
    [[nodiscard]] chunk_source& source() const noexcept { return *chunks_; } ///< only if there is a chunk
    /// Charges an allocation to the byte budget, before it is made; throws if the budget is exceeded.
    [[gnu::always_inline]] void charge(std::uint64_t count, std::size_t element_size, std::type_info const& type)
    {
        std::uint64_t bytes = 0;
        if (__builtin_mul_overflow(count, element_size, &bytes) || bytes > budget_) [[unlikely]] {
            fail_budget(count, element_size, type);
        }
        budget_ -= bytes;
    }
    /// Throws archive_error: the last value is not `allowed`.
    [[noreturn]] void fail(std::string const& found, char const* allowed, std::type_info const& type) const;

    // For codecs, which pass the cursor by value:

    [[nodiscard]] detail::in_cursor cursor() const noexcept { return {p_}; }
    void seek(detail::in_cursor c) noexcept { p_ = c.p; }
    [[gnu::always_inline]] void check_depth(detail::in_cursor c, std::uint32_t depth) const
    {
        if (depth >= max_depth_) [[unlikely]] {
            fail_depth(c);
        }
    }
    [[gnu::always_inline]] void need(detail::in_cursor c, std::size_t n, std::type_info const& type) const
    {
        if (static_cast<std::size_t>(end_ - c.p) < n) [[unlikely]] {
            fail_truncated(c.p, n, type);
        }
    }
    std::uint32_t set_depth(std::uint32_t depth) noexcept { return std::exchange(depth_, depth); }
    bool set_index_only(bool on) noexcept { return std::exchange(index_only_, on); }

    /// A count and its end; the top bit means that the elements are the next chunk.
    struct counted {
        std::byte const* p;
        std::uint64_t count;
    };
    static constexpr std::uint64_t chunk_bit = std::uint64_t{1} << 63;
    [[nodiscard, gnu::always_inline]] counted get_count(detail::in_cursor c, std::type_info const& type) const
    {
        need(c, 1, type);
        return get_rest_of_count(*c.p, {c.p + 1}, type);
    }
    /// The same if its first byte is elsewhere.
    [[nodiscard, gnu::always_inline]] counted get_rest_of_count(std::byte first, detail::in_cursor c, std::type_info const& type) const
    {
        if (first < std::byte{detail::count_u16}) [[likely]] {
            return {c.p, static_cast<std::uint64_t>(first)};
        }
        return get_long_count(first, c, type);
    }
    /// A count of elements that are no chunk.
    [[nodiscard, gnu::always_inline]] counted get_plain_count(detail::in_cursor c, std::type_info const& type) const
    {
        return plain(get_count(c, type), c, type);
    }
    [[nodiscard, gnu::always_inline]] counted plain(counted n, detail::in_cursor c, std::type_info const& type) const
    {
        if (n.count >= chunk_bit) [[unlikely]] {
            fail_chunk_here(c.p, type);
        }
        return n;
    }
    /// The next chunk in place: the view of the source, or a copy in memory of the reader.
    [[nodiscard]] void const* view_chunk(std::uint64_t count, std::size_t element_size, std::size_t alignment, std::type_info const& type);
    [[nodiscard]] std::byte const* end() const noexcept { return end_; }
    /// True if a value that ends at this address is inside the archive. The address is a number, because pointers outside the archive are
    /// undefined. Only for ends computed from a count of one byte, which cannot overflow.
    [[nodiscard, gnu::always_inline]] bool inside(std::uintptr_t end) const noexcept
    {
        return end <= reinterpret_cast<std::uintptr_t>(end_);
    }
    /// True if 16 bytes can be read here.
    [[nodiscard, gnu::always_inline]] bool has_16(detail::in_cursor c) const noexcept { return c.p <= last_16_; }
    /// Sets where the next read_range finds the first byte of its count; it resets this to null.
    void set_range_head(std::byte const* head) noexcept { range_head_ = head; }
    [[nodiscard]] std::byte const* range_head() const noexcept { return range_head_; }

    [[noreturn]] void fail_truncated(std::byte const* at, std::uint64_t needed, std::type_info const& type) const;
    [[noreturn]] void fail_length(std::byte const* at, std::uint64_t count, std::uint64_t possible, std::type_info const& type) const;
    [[noreturn]] void fail_value(std::byte const* at, std::string const& found, char const* allowed, std::type_info const& type) const;
    [[noreturn]] void fail_chunk_here(std::byte const* at, std::type_info const& type) const;

private:
    [[nodiscard]] counted get_long_count(std::byte first, detail::in_cursor c, std::type_info const& type) const;
    [[noreturn]] void fail_depth(detail::in_cursor c) const;
    [[noreturn]] void fail_budget(std::uint64_t count, std::size_t element_size, std::type_info const& type) const;
    void check_header();

    std::byte const* p_ = nullptr;
    std::byte const* end_ = nullptr;
    std::byte const* last_16_ = nullptr; // 16 bytes before the end; the begin, where no value is, if the archive is shorter
    std::uint64_t budget_;
    std::uint32_t max_depth_;
    std::uint32_t depth_ = 0;
    std::byte const* base_ = nullptr;
    chunk_source* chunks_;
    std::size_t next_chunk_ = 0;
    std::size_t chunk_count_ = 0;
    std::uint64_t threshold_ = default_chunk_threshold;
    archive_limits limits_;
    bool index_only_ = false;
    std::byte const* range_head_ = nullptr;
    alignas(16) std::byte few_[256];                 // the copy of a small index
    std::vector<std::unique_ptr<std::byte[]>> kept_; // memory behind views of chunks that the source cannot view
};

} // namespace towline
