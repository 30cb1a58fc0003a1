// Decoding: the reader's functions out of line, and its error texts.

#include <towline/archive_reader.hpp>

#include "archive/header.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <limits>

namespace towline {

namespace {

std::string name_of(std::type_info const& type)
{
    int status = 0;
    std::unique_ptr<char, decltype(&std::free)> const name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
    return status == 0 ? name.get() : type.name();
}

} // namespace

archive_reader::archive_reader(std::span<std::byte const> index, chunk_source* chunks, archive_limits limits)
    : budget_(limits.max_bytes), max_depth_(limits.max_depth), chunks_(chunks), limits_(limits)
{
    base_ = index.data();
    if (reinterpret_cast<std::uintptr_t>(base_) % 16 != 0) {
        std::byte* copy = few_;
        if (index.size() > sizeof few_) {
            charge(index.size(), 1, typeid(archive_reader));
            copy = kept_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(index.size())).get();
        }
        std::memcpy(copy, index.data(), index.size());
        base_ = copy;
    }
    p_ = base_;
    end_ = base_ + index.size();
    check_header();
    last_16_ = end_ - base_ >= 16 ? end_ - 16 : base_;
}

void archive_reader::check_header()
{
    if (p_ == end_) {
        throw archive_error("archive: the index is empty; even an archive without values has a first byte");
    }
    auto const first = std::to_integer<std::uint8_t>(*p_);
    if ((first & version_mask) != archive_version) {
        throw version_error(fmt::format("archive: format version {}, this library reads version {}", first & version_mask,
                                        archive_version));
    }
    if ((first & ~(version_mask | flag_threshold | flag_chunks)) != 0) {
        throw archive_error(fmt::format("archive: unknown flags in the first byte: {:#04x}", first));
    }
    ++p_;
    if ((first & flag_threshold) != 0) {
        if (remaining() < 8) {
            throw archive_error(fmt::format("archive: truncated in the header: the threshold takes 8 bytes, {} are left", remaining()));
        }
        threshold_ = detail::load_raw<std::uint64_t>(p_);
        p_ += 8;
        if (threshold_ < min_chunk_threshold) {
            throw archive_error(fmt::format("archive: the header's chunk threshold is {}, allowed are {} and more", threshold_,
                                            min_chunk_threshold));
        }
    }
    std::uint64_t claimed_bytes = 0;
    if ((first & flag_chunks) != 0) {
        if (remaining() < chunk_trailer_size) {
            throw archive_error(fmt::format("archive: truncated: the list of chunks takes {} bytes at the end, {} are left",
                                            chunk_trailer_size, remaining()));
        }
        end_ -= chunk_trailer_size;
        chunk_count_ = detail::load_raw<std::uint32_t>(end_);
        claimed_bytes = detail::load_raw<std::uint64_t>(end_ + 4);
    }
    std::size_t const there = chunks_ != nullptr ? chunks_->count() : 0;
    if (there != chunk_count_) {
        throw archive_error(fmt::format("archive: the index lists {} chunks, but {} arrived with it", chunk_count_, there));
    }
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < there; ++i) {
        std::uint64_t const size = chunks_->size(i);
        if (size > claimed_bytes - sum) {
            throw archive_error(fmt::format("archive: the index lists {} bytes in chunks, but chunk {} of {} bytes exceeds them",
                                            claimed_bytes, i, size));
        }
        sum += size;
    }
    if (sum != claimed_bytes) {
        throw archive_error(fmt::format("archive: the index lists {} bytes in chunks, but {} arrived with it", claimed_bytes, sum));
    }
}

void archive_reader::finish()
{
    if (p_ != end_) {
        throw archive_error(fmt::format("archive: {} bytes are left at offset {} after the last value: the writer wrote more, or other "
                                        "types",
                                        remaining(), offset()));
    }
    if (next_chunk_ != chunk_count_) {
        throw archive_error(fmt::format("archive: {} of {} chunks were used: the writer wrote more, or other types", next_chunk_,
                                        chunk_count_));
    }
}

incoming_range archive_reader::read_range(std::size_t element_size, std::size_t alignment, std::type_info const& type)
{
    std::byte const* const head = std::exchange(range_head_, nullptr);
    counted n = head != nullptr ? get_rest_of_count(*head, cursor(), type) : get_count(cursor(), type);
    incoming_range range;
    if (n.count >= chunk_bit) {
        range.count = n.count - chunk_bit;
        p_ = n.p;
        range.chunk = next_chunk(range.count, element_size, type);
        return range;
    }
    std::size_t const padding = -reinterpret_cast<std::uintptr_t>(n.p) & ((alignment < 16 ? alignment : 16) - 1);
    auto const left = static_cast<std::uint64_t>(end_ - n.p);
    if (left < padding) {
        fail_truncated(n.p, padding, type);
    }
    if (n.count > (left - padding) / element_size) {
        fail_length(n.p, n.count, (left - padding) / element_size, type);
    }
    range.count = n.count;
    range.data = n.p + padding;
    p_ = range.data + range.count * element_size;
    return range;
}

std::size_t archive_reader::next_chunk()
{
    if (index_only_) {
        fail_chunk_here(p_, typeid(chunk));
    }
    if (next_chunk_ == chunk_count_) {
        throw archive_error(fmt::format("archive: a value before offset {} lies in chunk {}, but there are {} chunks", offset(),
                                        next_chunk_, chunk_count_));
    }
    return next_chunk_++;
}

std::size_t archive_reader::next_chunk(std::uint64_t bytes, std::type_info const& type)
{
    std::size_t const i = next_chunk();
    if (chunks_->size(i) != bytes) {
        throw archive_error(fmt::format("archive: {} before offset {} takes {} bytes, but chunk {} has {}", name_of(type), offset(), bytes,
                                        i, chunks_->size(i)));
    }
    return i;
}

std::size_t archive_reader::next_chunk(std::uint64_t count, std::size_t element_size, std::type_info const& type)
{
    std::uint64_t const possible = std::numeric_limits<std::uint64_t>::max() / element_size;
    if (count > possible) {
        throw archive_error(fmt::format("archive: {} before offset {} claims {} elements of {} bytes in a chunk: no chunk is that big",
                                        name_of(type), offset(), count, element_size));
    }
    return next_chunk(count * element_size, type);
}

void archive_reader::fail_budget(std::uint64_t count, std::size_t element_size, std::type_info const& type) const
{
    throw archive_error(fmt::format("archive: {} near offset {} needs {} times {} bytes of memory, but of the budget of {} bytes only {} "
                                    "are left (archive_limits::max_bytes)",
                                    name_of(type), offset(), count, element_size, limits_.max_bytes, budget_));
}

void const* archive_reader::view_chunk(std::uint64_t count, std::size_t element_size, std::size_t alignment, std::type_info const& type)
{
    std::size_t const i = next_chunk(count, element_size, type);
    if (count == 0) {
        return base_; // aligned, and not null
    }
    if (void const* const there = chunks_->view(i); there != nullptr && reinterpret_cast<std::uintptr_t>(there) % alignment == 0) {
        return there;
    }
    charge(count, element_size, type);
    auto const& memory = kept_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(count * element_size));
    chunks_->fetch(i, memory.get());
    return memory.get();
}

archive_reader::counted archive_reader::get_long_count(std::byte first_byte, detail::in_cursor c, std::type_info const& type) const
{
    auto const first = std::to_integer<std::uint8_t>(first_byte);
    std::size_t const width = first == detail::count_u16 ? 2 : first == detail::count_u32 ? 4 : 8;
    need(c, width, type);
    std::uint64_t n = 0;
    std::memcpy(&n, c.p, width);
    if (first == detail::count_chunk) {
        if (n >= chunk_bit) {
            fail_length(c.p, n, chunk_bit - 1, type);
        }
        return {c.p + 8, n | chunk_bit};
    }
    std::uint64_t const least = width == 2 ? detail::count_u16 : std::uint64_t{1} << (4 * width);
    if (n < least) {
        fail_value(c.p, fmt::format("{} in {} bytes", n, 1 + width), "a count in its shortest form", type);
    }
    if (n >= chunk_bit) {
        fail_length(c.p, n, chunk_bit - 1, type);
    }
    return {c.p + width, n};
}

void archive_reader::fail(std::string const& found, char const* allowed, std::type_info const& type) const
{
    throw archive_error(fmt::format("archive: {} before offset {}: found {}, allowed is {}", name_of(type), offset(), found, allowed));
}

void archive_reader::fail_truncated(std::byte const* at, std::uint64_t needed, std::type_info const& type) const
{
    throw archive_error(fmt::format("archive: truncated in {} at offset {}: {} bytes needed, {} left", name_of(type), at - base_, needed,
                                    end_ - at));
}

void archive_reader::fail_length(std::byte const* at, std::uint64_t count, std::uint64_t possible, std::type_info const& type) const
{
    throw archive_error(fmt::format("archive: {} at offset {} claims {} elements, but the {} bytes left can hold no more than {}",
                                    name_of(type), at - base_, count, end_ - at, possible));
}

void archive_reader::fail_value(std::byte const* at, std::string const& found, char const* allowed, std::type_info const& type) const
{
    throw archive_error(fmt::format("archive: {} at offset {}: found {}, allowed is {}", name_of(type), at - base_, found, allowed));
}

void archive_reader::fail_chunk_here(std::byte const* at, std::type_info const& type) const
{
    throw archive_error(fmt::format("archive: {} at offset {}: found a range in a chunk, allowed is one in the index (keys, and values "
                                    "that are looked into while decoding)",
                                    name_of(type), at - base_));
}

void archive_reader::fail_depth(detail::in_cursor c) const
{
    throw archive_error(fmt::format("archive: nested deeper than {} levels at offset {} (archive_limits::max_depth)", max_depth_,
                                    c.p - base_));
}

} // namespace towline
