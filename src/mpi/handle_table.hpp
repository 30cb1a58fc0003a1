#pragma once
// Dynamic handles. A handle is a number. Its low 31 bits are the kind of object and the slot in that kind's table; they are also its
// integer (MPI_Comm_toint). The bits above count the uses of the slot, so that a freed or invented handle is recognized, not followed.
// Numbers below 4096 are the ABI's predefined handles, which no table holds.

#include "mpi/object.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

namespace towline::mpi {

enum class object_kind : std::uint32_t { comm = 1, group, datatype, op, request, message, info, errhandler, session, win, file, keyval };

namespace handle_bits {
inline constexpr unsigned index = 24;  ///< bits for the slot; the kind is above
inline constexpr std::uint64_t integer = 0x7fffffff;
inline constexpr std::uint64_t predefined_end = 4096;
} // namespace handle_bits

/// The kind that a dynamic handle names.
[[nodiscard]] constexpr std::uint32_t claimed_kind(std::uint64_t handle) noexcept
{
    return static_cast<std::uint32_t>((handle & handle_bits::integer) >> handle_bits::index);
}

/// The slots of one kind of object, found by a handle without a lock. One thread at a time allocates them, a chunk at a time; they are
/// never freed.
template <class Place, object_kind Kind, std::size_t ChunkPlaces>
class handle_places {
public:
    [[nodiscard]] static std::uint64_t handle_of(std::uint32_t generation, std::uint32_t index) noexcept
    {
        return std::uint64_t{generation} << 32 | std::uint64_t{static_cast<std::uint32_t>(Kind)} << handle_bits::index | index;
    }
    [[nodiscard]] static std::uint32_t index_of(std::uint64_t handle) noexcept
    {
        return static_cast<std::uint32_t>(handle & ((std::uint64_t{1} << handle_bits::index) - 1));
    }
    /// The slot that a handle of any generation, or its integer, names; null if it names none of this kind.
    [[nodiscard]] Place* find(std::uint64_t handle) const noexcept
    {
        if (static_cast<std::uint32_t>(handle) >> handle_bits::index != static_cast<std::uint32_t>(Kind)) [[unlikely]]
            return nullptr;
        Place* const chunk = chunks_[index_of(handle) / ChunkPlaces].load(std::memory_order_acquire);
        return chunk == nullptr ? nullptr : chunk + index_of(handle) % ChunkPlaces;
    }
    [[nodiscard]] Place& at(std::uint32_t index) noexcept { return chunks_[index / ChunkPlaces].load()[index % ChunkPlaces]; }
    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
    /// Throws std::bad_alloc beyond 16 million slots.
    void grow()
    {
        if (size_ / ChunkPlaces == chunks_.size())
            throw std::bad_alloc();
        chunks_[size_ / ChunkPlaces].store(new Place[ChunkPlaces], std::memory_order_release);
        size_ += ChunkPlaces;
    }

private:
    std::array<std::atomic<Place*>, (std::size_t{1} << handle_bits::index) / ChunkPlaces> chunks_{};
    std::uint32_t size_ = 0;
};

/// The objects of one kind that have a handle. Thread-safe; `find` takes no lock. A slot has 16 bytes and is never freed. Constant
/// initialized and never destroyed, because programs call MPI from destructors.
template <class T, object_kind Kind>
class handle_table {
public:
    constexpr handle_table() = default;

    /// A handle for the object; the table keeps the reference. Throws std::bad_alloc if 16 million are in use.
    [[nodiscard]] std::uint64_t insert(ref<T> object)
    {
        std::scoped_lock const lock(mutex_);
        std::uint32_t index = 0;
        if (free_ != 0) {
            index = free_ - 1;
            free_ = places_.at(index).next_free;
        } else {
            if (used_ == places_.size())
                places_.grow();
            index = used_++;
        }
        place& p = places_.at(index);
        p.object.store(object.detach(), std::memory_order_release);
        return places_.handle_of(p.generation.load(std::memory_order_relaxed), index);
    }

    /// The object; null if the handle never existed or was freed.
    [[nodiscard]] T* find(std::uint64_t handle) const noexcept
    {
        place const* const p = places_.find(handle);
        if (p == nullptr || p->generation.load(std::memory_order_relaxed) != handle >> 32) [[unlikely]]
            return nullptr;
        return p->object.load(std::memory_order_acquire);
    }

    /// Frees the handle and returns the table's reference; empty if there is no such handle.
    ref<T> remove(std::uint64_t handle) noexcept
    {
        std::scoped_lock const lock(mutex_);
        place* const p = places_.find(handle);
        if (p == nullptr || p->generation.load(std::memory_order_relaxed) != handle >> 32)
            return {};
        T* const object = p->object.exchange(nullptr, std::memory_order_acq_rel);
        if (object == nullptr)
            return {};
        p->generation.fetch_add(1, std::memory_order_relaxed);
        p->next_free = free_;
        free_ = places_.index_of(handle) + 1;
        return ref<T>::adopt(object);
    }

    /// The valid handle with this integer; 0 if there is none.
    [[nodiscard]] std::uint64_t from_integer(std::uint32_t integer) const noexcept
    {
        place const* const p = places_.find(integer);
        if (p == nullptr || p->object.load(std::memory_order_acquire) == nullptr)
            return 0;
        return std::uint64_t{p->generation.load(std::memory_order_relaxed)} << 32 | integer;
    }

    /// True if this handle existed and was freed.
    [[nodiscard]] bool was_freed(std::uint64_t handle) const noexcept
    {
        place const* const p = places_.find(handle);
        return p != nullptr && handle >> 32 < p->generation.load(std::memory_order_relaxed);
    }

    /// Calls the function with each object. The function must not use this table.
    template <class Function>
    void for_each(Function&& function)
    {
        std::scoped_lock const lock(mutex_);
        for (std::uint32_t i = 0; i < used_; ++i)
            if (T* const object = places_.at(i).object.load(std::memory_order_acquire))
                function(*object);
    }

private:
    struct place {
        std::atomic<T*> object{nullptr};
        std::atomic<std::uint32_t> generation{0};
        std::uint32_t next_free = 0;  ///< its index + 1; 0: none
    };

    // All begins as zeros: no part of the tables lies in the library's file.
    handle_places<place, Kind, 256> places_;
    std::mutex mutex_;
    std::uint32_t free_ = 0;  ///< the first free slot's index + 1; 0: none
    std::uint32_t used_ = 0;
};

} // namespace towline::mpi
