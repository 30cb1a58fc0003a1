#pragma once
// Caching (7.7): values that the program hangs on communicators, datatypes and windows, under keys of its own.

#include "mpi/abi.hpp"
#include "mpi/handle_table.hpp"
#include "mpi/object.hpp"

#include <mutex>
#include <optional>
#include <vector>

namespace towline::mpi {

enum class cached_on : std::uint8_t { comm, type, win };

/// What a key stands for. Lives until it was freed and nothing has an attribute with it any more; until then its number stands for it
/// (7.7.2: a freed key deletes attributes yet, and freeing it once more does nothing).
class keyval final : public object {
public:
    /// Callbacks for the three kinds of object differ in the type of their first argument alone.
    using copy_function = MPI_Comm_copy_attr_function;
    using delete_function = MPI_Comm_delete_attr_function;

    /// The number of a new key.
    [[nodiscard]] static int create(cached_on, copy_function*, delete_function*, void* extra_state);
    /// Throws MPI_ERR_KEYVAL for numbers that are no key of the program for this kind.
    [[nodiscard]] static keyval& get(int number, cached_on, char const* parameter);
    static void free(int number, cached_on, char const* parameter);

    [[nodiscard]] int number() const noexcept { return number_; }
    /// Asks the program for the copy's value; nothing where it wants none. Throws a failure with the code that the callback returned.
    [[nodiscard]] std::optional<void*> copy(void* from, void* value) const;
    void erase(void* from, void* value) const;

    /// An object has an attribute with this key; and no more.
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

/// The attributes of an object. Thread-safe; callbacks run without a lock. `owner` is the object's handle, which callbacks get.
class attribute_set {
public:
    attribute_set() = default;
    attribute_set(attribute_set const&) = delete;
    attribute_set& operator=(attribute_set const&) = delete;
    ~attribute_set();

    [[nodiscard]] std::optional<void*> get(keyval const&) const;
    /// Calls the delete callback for the value that was there.
    void set(void* owner, keyval&, void* value);
    void erase(void* owner, keyval&, char const* parameter);
    /// What `to_owner` gets when it is duplicated from `from_owner`, in the order in which the attributes were set. Where a callback fails
    /// the copies are deleted again and its failure thrown.
    void copy_to(void* from_owner, attribute_set& to, void* to_owner) const;
    /// Deletes all, the last set first (11.2.4). Where a callback fails, that attribute and those before it stay; its failure is thrown.
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
