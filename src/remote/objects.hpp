#pragma once
// Objects that live here and are called from elsewhere, with the weight of references that other processes hold.

#include <towline/detail/runtime_api.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace towline::remoting {

using detail::object_id;

/// Thread-safe. Ids are never reused within 2^32 uses of a slot.
class object_table {
public:
    /// The new object's references weigh `weight` in all.
    object_id insert(std::shared_ptr<void> object, std::uint64_t type, std::uint64_t weight);
    /// Null if there is no such object of that type.
    [[nodiscard]] std::shared_ptr<void> find(object_id, std::uint64_t type) const;
    /// References of this weight have ended; the last ends the object (returned, so that it ends outside the lock). Unknown ids and too
    /// much weight are ignored: a peer may send anything.
    std::shared_ptr<void> release(object_id, std::uint64_t weight) noexcept;
    /// More references for one that is nearly used up. False if there is no such object.
    bool add_weight(object_id, std::uint64_t weight) noexcept;
    [[nodiscard]] std::size_t size() const;
    /// Ends every object.
    void clear() noexcept;

private:
    struct slot {
        std::shared_ptr<void> object;
        std::uint64_t type = 0;
        std::uint64_t weight = 0;
        std::uint32_t generation = 1;
    };
    slot* find_slot(object_id) noexcept;
    mutable std::mutex mutex_;
    std::vector<slot> slots_;
    std::vector<std::uint32_t> free_;
};

} // namespace towline::remoting
