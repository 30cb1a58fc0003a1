// Encoding: the writer's functions out of line.

#include <towline/archive_writer.hpp>

#include "archive/header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace towline {

namespace {
constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
}

archive_writer::archive_writer(std::vector<std::byte>& room, std::size_t threshold, std::uint32_t max_depth)
    : max_depth_(max_depth), room_(room), threshold_(std::max(threshold, min_chunk_threshold))
{
    if (room_.size() < 64) {
        room_.resize(256);
    }
    begin_ = p_ = room_.data();
    end_ = p_ + room_.size();
    chunk_from_ = threshold_;
    auto flags = archive_version;
    if (threshold_ != default_chunk_threshold) {
        flags |= flag_threshold;
        detail::store_raw(p_ + 1, static_cast<std::uint64_t>(threshold_));
    }
    p_[0] = static_cast<std::byte>(flags);
    p_ += (flags & flag_threshold) != 0 ? 9 : 1;
}

detail::out_cursor archive_writer::grow(detail::out_cursor c, std::size_t n)
{
    auto const used = offset(c);
    if (sealed_) {
        throw usage_error("archive_writer: index() was called, nothing can be written after it");
    }
    room_.resize(std::max(used + n, 2 * room_.size()));
    begin_ = room_.data();
    end_ = begin_ + room_.size();
    return {begin_ + used};
}

void archive_writer::add_chunk(chunk const& block)
{
    if (sealed_) {
        throw usage_error("archive_writer: index() was called, nothing can be written after it");
    }
    if (index_only_) {
        throw usage_error("archive_writer: a key, or a value whose content its loader looks into, cannot hold a block that travels as a "
                          "chunk (rma_vector): use std::vector there");
    }
    if (chunk_count_ < few_chunks_.size()) {
        few_chunks_[chunk_count_] = block;
        few_chunks_[chunk_count_].viewed |= viewed_;
    } else {
        if (chunk_count_ == few_chunks_.size()) {
            many_chunks_.assign(few_chunks_.begin(), few_chunks_.end());
        }
        many_chunks_.push_back(block);
        many_chunks_.back().viewed |= viewed_;
    }
    ++chunk_count_;
    chunk_bytes_ += block.size;
}

detail::out_cursor archive_writer::put_chunk(detail::out_cursor c, std::uint64_t count, void const* data, std::uint64_t bytes)
{
    add_chunk({.kind = chunk_kind::pointer, .viewed = false, .data = data, .size = bytes});
    c = ensure(c, 8);
    detail::store_raw(c.p, count);
    c.p += 8;
    return c;
}

void archive_writer::add_range(std::uint64_t count, chunk const& block)
{
    add_chunk(block);
    detail::out_cursor c = ensure(cursor(), detail::max_count_size);
    *c.p = std::byte{detail::count_chunk};
    detail::store_raw(c.p + 1, count);
    c.p += detail::max_count_size;
    seek(c);
}

std::span<std::byte const> archive_writer::index()
{
    if (!sealed_) {
        if (chunk_count_ > 0) {
            detail::out_cursor c = ensure(cursor(), chunk_trailer_size);
            detail::store_raw(c.p, static_cast<std::uint32_t>(chunk_count_));
            detail::store_raw(c.p + 4, chunk_bytes_);
            c.p += chunk_trailer_size;
            seek(c);
            *begin_ |= std::byte{flag_chunks};
        }
        sealed_ = true;
        end_ = p_; // the next write must grow the room, which throws
    }
    return {begin_, written()};
}

std::span<chunk const> archive_writer::chunks() const noexcept
{
    return {chunk_count_ > few_chunks_.size() ? many_chunks_.data() : few_chunks_.data(), chunk_count_};
}

bool archive_writer::set_index_only(bool on) noexcept
{
    chunk_from_ = on ? never : threshold_;
    return std::exchange(index_only_, on);
}

void archive_writer::fail_depth() const
{
    throw archive_error(fmt::format("archive: what is being written is nested deeper than {} levels, at byte {} of the index. Readers "
                                    "refuse that too (archive_limits::max_depth)",
                                    max_depth_, written()));
}

} // namespace towline
