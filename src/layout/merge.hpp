#pragma once
// Two walks at once: for each row of blocks of one layout, the part of the other that has the same bytes of the stream.

#include "layout/copy_blocks.hpp"
#include "layout/walk.hpp"

#include <algorithm>
#include <cstdint>

namespace towline::layout {

/// A sink for the walk of the inner layout within a row of the outer one.
template <bool OuterIsTo>
class inner_walk {
public:
    /// Blocks of `bytes`, at displacements, or a step apart.
    inner_walk(place_t row, std::int64_t step, std::int64_t const* displacements, std::int64_t bytes) noexcept
        : row_(row), step_(step), displacements_(displacements), bytes_(bytes) {}

    void block(place_t at, std::int64_t bytes, kind) noexcept
    {
        while (bytes != 0) {
            if (done_ == 0 && bytes >= bytes_ && displacements_ == nullptr) {
                std::int64_t const n = bytes / bytes_;
                strided_alike(at, bytes_, n);
                at = moved(at, n * bytes_);
                bytes -= n * bytes_;
                continue;
            }
            std::int64_t const some = std::min(bytes, bytes_ - done_);
            move(moved(place(), done_), at, some);
            at = moved(at, some);
            bytes -= some;
            done_ += some;
            if (done_ == bytes_) {
                done_ = 0;
                ++next_;
            }
        }
    }
    void strided(place_t at, std::int64_t stride, std::int64_t n, std::int64_t bytes, kind unit) noexcept
    {
        if (done_ == 0 && bytes == bytes_)
            return strided_alike(at, stride, n);
        for (; n > 0; --n, at = moved(at, stride))
            block(at, bytes, unit);
    }
    void listed(place_t at, std::int64_t const* displacements, std::int64_t n, std::int64_t bytes, kind unit) noexcept
    {
        if (done_ == 0 && bytes == bytes_)
            return listed_alike(at, displacements, n);
        for (; n > 0; --n, ++displacements)
            block(moved(at, *displacements), bytes, unit);
    }

private:
    [[nodiscard]] place_t place() const noexcept
    {
        return displacements_ != nullptr ? moved(row_, displacements_[next_]) : moved(row_, next_, step_);
    }
    static void move(place_t outer, place_t inner, std::int64_t bytes) noexcept
    {
        copy_any(reinterpret_cast<std::byte*>(OuterIsTo ? outer : inner), reinterpret_cast<std::byte const*>(OuterIsTo ? inner : outer),
                 bytes);
    }
    void strided_alike(place_t at, std::int64_t stride, std::int64_t n) noexcept
    {
        row_kernels const& rows = rows_.of[size_class(bytes_)];
        auto* const to = reinterpret_cast<std::byte*>(OuterIsTo ? outer_row() : at);
        auto const* const from = reinterpret_cast<std::byte const*>(OuterIsTo ? at : outer_row());
        if (displacements_ == nullptr)
            rows.stepped(to, OuterIsTo ? step_ : stride, from, OuterIsTo ? stride : step_, n, bytes_);
        else if constexpr (OuterIsTo)
            rows.scattering(to, displacements_ + next_, from, stride, n, bytes_);
        else
            rows.gathering(to, stride, from, displacements_ + next_, n, bytes_);
        next_ += n;
    }
    void listed_alike(place_t at, std::int64_t const* displacements, std::int64_t n) noexcept
    {
        row_kernels const& rows = rows_.of[size_class(bytes_)];
        auto* const to = reinterpret_cast<std::byte*>(OuterIsTo ? outer_row() : at);
        auto const* const from = reinterpret_cast<std::byte const*>(OuterIsTo ? at : outer_row());
        if (displacements_ != nullptr)
            rows.listed(to, OuterIsTo ? displacements_ + next_ : displacements, from, OuterIsTo ? displacements : displacements_ + next_, n,
                        bytes_);
        else if constexpr (OuterIsTo)
            rows.gathering(to, step_, from, displacements, n, bytes_);
        else
            rows.scattering(to, displacements, from, step_, n, bytes_);
        next_ += n;
    }
    /// Of the kernels: with displacements, what those are from; else the next block.
    [[nodiscard]] place_t outer_row() const noexcept { return displacements_ != nullptr ? row_ : moved(row_, next_, step_); }

    place_t row_;
    std::int64_t step_;
    std::int64_t const* displacements_;
    std::int64_t bytes_;
    std::int64_t next_ = 0;  ///< block of the row
    std::int64_t done_ = 0;  ///< bytes of it
    row_tables const& rows_ = best_rows();
};

/// A sink for the walk of the outer layout, from `position` of the stream on.
template <bool OuterIsTo>
class outer_walk {
public:
    outer_walk(node const& inner, place_t at, std::int64_t position) noexcept : inner_(inner), at_(at), position_(position) {}

    void block(place_t at, std::int64_t bytes, kind) noexcept
    {
        if constexpr (OuterIsTo) {
            block_copier<direction::pack> copier(reinterpret_cast<std::byte*>(at));
            within(bytes, copier);
        } else {
            block_copier<direction::unpack> copier(reinterpret_cast<std::byte const*>(at));
            within(bytes, copier);
        }
    }
    void strided(place_t at, std::int64_t stride, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        inner_walk<OuterIsTo> row(at, stride, nullptr, bytes);
        within(n * bytes, row);
    }
    void listed(place_t at, std::int64_t const* displacements, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        inner_walk<OuterIsTo> row(at, 0, displacements, bytes);
        within(n * bytes, row);
    }

private:
    template <class Sink>
    void within(std::int64_t bytes, Sink& sink) noexcept
    {
        walk_part(inner_, at_, position_, position_ + bytes, sink);
        position_ += bytes;
    }
    node const& inner_;
    place_t at_;
    std::int64_t position_;
};

} // namespace towline::layout
