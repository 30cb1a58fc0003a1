// Allocates and frees numbers.

#include "mpi/number_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace towline::mpi {

number_pool::number_pool(process_id self, int processes) noexcept
    : slot_bits_(bits - static_cast<unsigned>(std::bit_width(static_cast<unsigned>(std::max(processes, 1) - 1)))),
      limit_(std::uint32_t{1} << slot_bits_), patience_(std::min<std::uint32_t>(4096, limit_ / 4)), self_(self)
{
}

void number_pool::append(list& l, std::uint32_t index) noexcept
{
    at(index).next = nowhere;
    (l.head == nowhere ? l.head : at(l.tail).next) = index;
    l.tail = index;
    ++l.size;
}

std::uint32_t number_pool::pop(list& l) noexcept
{
    std::uint32_t const index = l.head;
    l.head = at(index).next;
    --l.size;
    return index;
}

std::uint32_t number_pool::reserve() noexcept
{
    std::scoped_lock const lock(mutex_);
    std::uint32_t index = first + static_cast<std::uint32_t>(slots_.size());
    if (unused_.size != 0)
        index = pop(unused_);
    else if (used_.size > patience_)
        index = pop(used_);
    else {
        bool grown = false;
        if (index < limit_) {
            try {
                slots_.emplace_back();
                grown = true;
            } catch (std::bad_alloc const&) {
                // Without memory, behaves as if no number were left.
            }
        }
        if (!grown) {
            if (used_.size == 0)
                return none;
            index = pop(used_);
        }
    }
    at(index).holders = unsettled;
    return static_cast<std::uint32_t>(self_) << slot_bits_ | index;
}

number_pool::slot* number_pool::slot_of(std::uint32_t number) noexcept
{
    std::uint32_t const index = number & (limit_ - 1);
    if (owner(number) != self_ || index < first || index - first >= slots_.size() || at(index).holders == 0)
        return nullptr;
    return &at(index);
}

void number_pool::finish_if_free(std::uint32_t index) noexcept
{
    if (at(index).holders == 0)
        append(used_, index);
}

void number_pool::settle(std::uint32_t number, int members) noexcept
{
    std::scoped_lock const lock(mutex_);
    if (slot* const s = slot_of(number)) {
        s->holders += members - unsettled;
        finish_if_free(number & (limit_ - 1));
    }
}

void number_pool::cancel(std::uint32_t number) noexcept
{
    std::scoped_lock const lock(mutex_);
    if (slot* const s = slot_of(number)) {
        s->holders = 0;
        append(unused_, number & (limit_ - 1));
    }
}

bool number_pool::give_back(std::uint32_t number) noexcept
{
    std::scoped_lock const lock(mutex_);
    slot* const s = slot_of(number);
    if (s == nullptr)
        return false;
    --s->holders;
    finish_if_free(number & (limit_ - 1));
    return true;
}

} // namespace towline::mpi
