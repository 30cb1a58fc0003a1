#pragma once
// Objects of this process that others call, with the weight of the references in other processes.

#include "base/slot_table.hpp"

#include <towline/detail/runtime_api.hpp>

#include <cstdint>
#include <memory>
#include <mutex>

namespace towline::remoting {

using detail::object_id;

/// Thread-safe. Ids are never reused within 2^32 uses of a slot.
class object_table {
public:
    /// The new object's references weigh `weight` in all.
    object_id insert(std::shared_ptr<void> object, std::uint64_t type, std::uint64_t weight);
    /// Null if there is no such object of that type.
    [[nodiscard]] std::shared_ptr<void> find(object_id, std::uint64_t type) const;
    /// Subtracts the weight of ended references. Returns the object with the last one, so that it is destroyed outside the lock. Ignores
    /// unknown ids and too much weight, because a peer may send anything.
    std::shared_ptr<void> release(object_id, std::uint64_t weight) noexcept;
    /// Adds weight for a reference whose weight is nearly used up. False if there is no such object.
    bool add_weight(object_id, std::uint64_t weight) noexcept;
    [[nodiscard]] std::size_t size() const;
    /// Ends every object.
    void clear() noexcept;

private:
    struct slot {
        std::shared_ptr<void> object;
        std::uint64_t type = 0;
        std::uint64_t weight = 0;
    };
    mutable std::mutex mutex_;
    mutable base::slot_table<slot> slots_;
    std::size_t objects_ = 0;
};

} // namespace towline::remoting
