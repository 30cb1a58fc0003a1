#pragma once
// A table whose slots are found by number: an index in the lower 32 bits, a generation above them. Freeing a slot changes its generation,
// so that a late, repeated or invented number finds nothing. No number is 0.
//
// A slot keeps its address, and its contents from one use to the next: whoever claims it sets what it needs. No lock: the owner has one.

#include <cstddef>
#include <cstdint>
#include <deque>

namespace towline::base {

/// `GenerationBits`: fewer than 32 where the owner needs the upper bits of a number for itself.
template <class T, unsigned GenerationBits = 32>
class slot_table {
public:
    slot_table() = default;
    slot_table(slot_table const&) = delete;
    slot_table& operator=(slot_table const&) = delete;

    /// The slot freed last, or a new one. Throws std::bad_alloc.
    [[nodiscard]] T& claim()
    {
        entry* e = free_;
        if (e != nullptr) {
            free_ = e->next_free;
        } else {
            e = &entries_.emplace_back();
            e->index = static_cast<std::uint32_t>(entries_.size() - 1);
        }
        e->claimed = true;
        return *e;
    }
    /// Of a slot of this table: its number now, or, while it is free, its next one.
    [[nodiscard]] static std::uint64_t number_of(T const& slot) noexcept
    {
        auto const& e = static_cast<entry const&>(slot);
        return std::uint64_t{e.generation} << 32 | e.index;
    }
    /// The claimed slot with this number, or null.
    [[nodiscard]] T* find(std::uint64_t number) noexcept
    {
        std::uint64_t const index = number & 0xffffffff;
        if (index >= entries_.size())
            return nullptr;
        entry& e = entries_[index];
        return e.claimed && e.generation == number >> 32 ? &e : nullptr;
    }
    /// There is a slot with this number's index: it may have been given out.
    [[nodiscard]] bool has_index_of(std::uint64_t number) const noexcept { return (number & 0xffffffff) < entries_.size(); }
    /// Ends the use of a claimed slot.
    void free(T& slot) noexcept
    {
        auto& e = static_cast<entry&>(slot);
        e.claimed = false;
        e.generation = (e.generation + 1) & last_generation;
        if (e.generation == 0)
            e.generation = 1;
        e.next_free = free_;
        free_ = &e;
    }
    /// Calls the function with each claimed slot; it may free that slot.
    template <class F>
    void for_each(F&& function)
    {
        for (entry& e : entries_) {
            if (e.claimed)
                function(static_cast<T&>(e));
        }
    }

private:
    static constexpr std::uint32_t last_generation = ~std::uint32_t{0} >> (32 - GenerationBits);
    struct entry final : T {
        entry* next_free = nullptr;
        std::uint32_t index = 0;
        std::uint32_t generation = 1;
        bool claimed = false;
    };
    std::deque<entry> entries_;
    entry* free_ = nullptr;
};

} // namespace towline::base
