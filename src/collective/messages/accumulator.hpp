#pragma once
// A partial result of a reduction, as steps of a schedule: it takes operands from its left or its right and moves between buffers as little
// as possible. What it was given is only read.

#include "collective/messages/algorithms.hpp"

namespace towline::collective {

class accumulator {
public:
    /// `own` is the first operand; `home`, if not null, is where the result is to come: free to be written, and perhaps `own` itself.
    accumulator(schedule& s, combination const& r, std::uint64_t count, void const* own, void* home)
        : schedule_(s), combination_(r), count_(count), value_(static_cast<std::byte const*>(own)),
          buffers_{static_cast<std::byte*>(home), nullptr}, mutable_(own == home)
    {
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return count_ * combination_.element; }
    [[nodiscard]] std::byte const* value() const noexcept { return value_; }
    /// Where the next operand may be received. Not the value.
    [[nodiscard]] std::byte* landing() { return landed_ = spare(nullptr); }
    /// value = value op what landed.
    void take_right()
    {
        if (combination_.commutative && mutable_)
            return schedule_.combine(combination_, landed_, const_cast<std::byte*>(value_), count_);
        ahead_of_landed();
    }
    /// value = what landed op value. Strictly: also if commutative, so that both sides of an exchange get the same bits.
    void take_left()
    {
        if (!mutable_) {
            std::byte* const copy = spare(landed_);
            schedule_.copy(copy, value_, bytes());
            value_ = copy;
            mutable_ = true;
        }
        schedule_.combine(combination_, landed_, const_cast<std::byte*>(value_), count_);
    }
    /// As take_right, and never the other way round.
    void take_right_strictly() { ahead_of_landed(); }
    /// The result is at home.
    void finish() { schedule_.copy(buffers_[0], value_, bytes()); }

private:
    void ahead_of_landed()
    {
        schedule_.combine(combination_, value_, landed_, count_);
        value_ = landed_;
        mutable_ = true;
    }
    [[nodiscard]] std::byte* spare(std::byte const* but_not)
    {
        for (auto& b : buffers_) {
            if (b == nullptr)
                b = schedule_.scratch(bytes());
            if (b != value_ && b != but_not)
                return b;
        }
        return third_ == nullptr ? third_ = schedule_.scratch(bytes()) : third_;
    }

    schedule& schedule_;
    combination const& combination_;
    std::uint64_t count_;
    std::byte const* value_;
    std::byte* buffers_[2];
    std::byte* third_ = nullptr;
    std::byte* landed_ = nullptr;
    bool mutable_;
};

} // namespace towline::collective
