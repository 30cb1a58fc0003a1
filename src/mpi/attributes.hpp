#pragma once
// Attributes (7.7, caching): values that the program attaches to communicators, datatypes and windows under keys that it creates.

#include "mpi/abi.hpp"
#include "mpi/handle_table.hpp"
#include "mpi/object.hpp"

#include <mutex>
#include <optional>
#include <vector>

namespace towline::mpi {

enum class cached_on : std::uint8_t { comm, type, win };

/// What a key number stands for. A freed key stays valid until the last attribute with it is deleted: its callback still runs, and freeing
/// it again does nothing (7.7.2).
class keyval final : public object {
public:
    /// The callbacks of the three kinds of object differ only in the type of their first argument.
    using copy_function = MPI_Comm_copy_attr_function;
    using delete_function = MPI_Comm_delete_attr_function;

    /// The number of a new key.
    [[nodiscard]] static int create(cached_on, copy_function*, delete_function*, void* extra_state);
    /// Throws MPI_ERR_KEYVAL if the number is no key of the program for this kind of object.
    [[nodiscard]] static keyval& get(int number, cached_on, char const* parameter);
    static void free(int number, cached_on, char const* parameter);

    [[nodiscard]] int number() const noexcept { return number_; }
    /// Calls the copy callback: the value for the copy, or nothing if the callback declines. Throws a failure with the callback's error
    /// code.
    [[nodiscard]] std::optional<void*> copy(void* from, void* value) const;
    void erase(void* from, void* value) const;

    /// Counts the objects that have an attribute with this key.
    void begin_use() noexcept;
    void end_use() noexcept;

private:
    keyval(cached_on on, copy_function* c, delete_function* d, void* state) : on_(on), copy_(c), delete_(d), state_(state) {}

    cached_on const on_;
    copy_function* const copy_;
    delete_function* const delete_;
    void* const state_;
    int number_ = 0;
    // Under one lock for all keys.
    bool freed_ = false;
    int uses_ = 0;
};

/// The attributes of one object. Thread-safe; callbacks run without a lock. `owner` is the object's handle, which callbacks receive.
class attribute_set {
public:
    attribute_set() = default;
    attribute_set(attribute_set const&) = delete;
    attribute_set& operator=(attribute_set const&) = delete;
    ~attribute_set();

    [[nodiscard]] std::optional<void*> get(keyval const&) const;
    /// Calls the delete callback for the old value, if there is one.
    void set(void* owner, keyval&, void* value);
    void erase(void* owner, keyval&, char const* parameter);
    /// Copies attributes from `from_owner` to its duplicate `to_owner`, in the order in which they were set. If a callback fails, deletes
    /// the copies again and throws its failure.
    void copy_to(void* from_owner, attribute_set& to, void* to_owner) const;
    /// Deletes all attributes, the last set first (11.2.4). If a callback fails, that attribute and those set before it stay; throws the
    /// failure.
    void clear(void* owner);

private:
    struct attribute {
        ref<keyval> key;
        void* value;
    };
    std::optional<attribute> take(keyval const&);

    mutable std::mutex mutex_;
    std::vector<attribute> attributes_;
};

} // namespace towline::mpi
