#pragma once
// rma_object<T>: one object in shared memory that changes owner when it is moved into a remote call.

#include <towline/rma_vector.hpp>

namespace towline {

/// A T (towline::bitwise<T>) in the shared heap: for large structures of fixed size. Copies share the object, as copies of rma_vector do;
/// clone() copies it. Empty after a move; access to an empty one is undefined.
template <class T>
class rma_object {
public:
    using shares_on_copy = void;
    using element_type = T;

    /// A value-initialised T. Constructors throw std::bad_alloc when the arena is full.
    rma_object() : one_(1) {}
    explicit rma_object(T const& value) : one_(1, value) {}
    /// Uninitialised memory for the program to fill.
    explicit rma_object(no_init_t) : one_(1, no_init) {}
    rma_object(rma_object const&) = default;
    rma_object(rma_object&&) noexcept = default;
    rma_object& operator=(rma_object const&) = default;
    rma_object& operator=(rma_object&&) noexcept = default;

    [[nodiscard]] T& operator*() noexcept { return one_[0]; }
    [[nodiscard]] T const& operator*() const noexcept { return one_[0]; }
    [[nodiscard]] T* operator->() noexcept { return one_.data(); }
    [[nodiscard]] T const* operator->() const noexcept { return one_.data(); }
    [[nodiscard]] T* get() noexcept { return one_.data(); }
    [[nodiscard]] T const* get() const noexcept { return one_.data(); }
    [[nodiscard]] explicit operator bool() const noexcept { return !one_.empty(); }
    [[nodiscard]] rma_object clone() const { return rma_object(one_.clone()); }
    [[nodiscard]] long use_count() const noexcept { return one_.use_count(); }

private:
    friend struct serializer<rma_object>;
    friend struct detail::block_handle<rma_object>;
    explicit rma_object(rma_vector<T> one) noexcept : one_(std::move(one)) {}
    rma_vector<T> one_;
};

template <class T>
struct serializer<rma_object<T>> {
    static void save(archive_writer& w, rma_object<T> const& v) { w.write(v.one_); }
    static void save(archive_writer& w, rma_object<T>&& v) { w.write(std::move(v.one_)); }
    static rma_object<T> load(archive_reader& r)
    {
        rma_vector<T> one = r.read<rma_vector<T>>();
        if (one.size() > 1)
            r.fail("a range of several", "an object, or none", typeid(rma_object<T>));
        return rma_object<T>(std::move(one));
    }
};

template <class T>
struct detail::block_handle<rma_object<T>> {
    using element = T;
    using one = block_handle<rma_vector<T>>;
    static bool may_leave(rma_object<T> const& v) noexcept { return one::may_leave(v.one_); }
    static handed_block block(rma_object<T> const& v) noexcept { return one::block(v.one_); }
    static void let_go(rma_object<T>& v) noexcept { one::let_go(v.one_); }
    static rma_object<T> adopt(void* block, std::uint64_t count)
    {
        rma_vector<T> v = one::adopt(block, count);
        if (count > 1)
            throw_bad_handed_block();
        return rma_object<T>(std::move(v));
    }
};

} // namespace towline
