#pragma once
// Where remote calls leave what they bring, and the program waits for it. Things may come before anybody waits for them.

#include <towline/future.hpp>

#include <map>
#include <mutex>
#include <utility>

namespace blast {

/// One thing for each key. Thread-safe; one receiver for each key.
template <class Key, class T>
class mailbox {
public:
    void deliver(Key const& key, T thing)
    {
        std::lock_guard lock(mutex_); // held while the promise is set: the receiver takes the slot away
        slots_[key].promise.set_value(std::move(thing));
    }

    bool arrived(Key const& key)
    {
        std::lock_guard lock(mutex_);
        return slots_[key].future.is_ready();
    }

    /// Waits, and answers calls meanwhile. Throws peer_error when a process died.
    T receive(Key const& key)
    {
        towline::future<T> future;
        {
            std::lock_guard lock(mutex_);
            future = std::move(slots_[key].future);
        }
        T thing = future.get();
        std::lock_guard lock(mutex_);
        slots_.erase(key);
        return thing;
    }

    void clear()
    {
        std::lock_guard lock(mutex_);
        slots_.clear();
    }

private:
    struct slot {
        towline::promise<T> promise;
        towline::future<T> future = promise.get_future();
    };

    std::mutex mutex_;
    std::map<Key, slot> slots_;
};

} // namespace blast
