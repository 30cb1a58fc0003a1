#pragma once
// serialize_buffer: a block of elements with shared ownership, for arguments that both sides keep.

#include <towline/archive.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>

namespace towline {

/// A fixed number of T. Copies share the elements. A call lends them (large ones travel as a chunk), and the callee gets separate elements.
/// Constness is shallow, as of a span. Threads: as std::shared_ptr.
template <class T> class serialize_buffer {
public:
    using value_type = T;
    enum init_mode {
        copy,      ///< the buffer copies the elements
        reference, ///< the caller owns the elements and keeps them as long as any copy of the buffer
        take,      ///< the buffer owns the elements from now on and releases them with delete[]
    };

    serialize_buffer() = default;
    /// Allocates `size` elements; numbers are not initialised.
    explicit serialize_buffer(std::size_t size)
        : owner_(std::make_shared_for_overwrite<T[]>(size)), data_(owner_.get()), size_(size), own_(true)
    {
    }
    serialize_buffer(T* data, std::size_t size, init_mode mode) : size_(size)
    {
        switch (mode) {
        case copy:
            assign_copy(data);
            break;
        case reference:
            data_ = data;
            break;
        case take:
            owner_ = std::shared_ptr<T[]>(data);
            data_ = data;
            break;
        }
    }
    /// Copies the elements, because const elements cannot be taken over.
    serialize_buffer(T const* data, std::size_t size) : size_(size) { assign_copy(data); }
    /// Takes the elements over, with a deleter that is called with `data`.
    template <class Deleter>
    serialize_buffer(T* data, std::size_t size, Deleter deleter)
        requires std::invocable<Deleter&, T*>
        : owner_(data, std::move(deleter)), data_(data), size_(size)
    {
    }

    [[nodiscard]] T* data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; } ///< elements
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T& operator[](std::size_t i) const noexcept { return data_[i]; }
    [[nodiscard]] T* begin() const noexcept { return data_; }
    [[nodiscard]] T* end() const noexcept { return data_ + size_; }
    [[nodiscard]] std::span<T> span() const noexcept { return {data_, size_}; }
    /// The number of buffers that share the elements; zero for a reference.
    [[nodiscard]] long use_count() const noexcept { return owner_.use_count(); }

private:
    friend struct detail::codec<serialize_buffer>;

    void assign_copy(T const* data)
    {
        *this = serialize_buffer(size_);
        std::copy_n(data, size_, data_);
    }

    std::shared_ptr<T[]> owner_;
    T* data_ = nullptr;
    std::size_t size_ = 0;
    bool own_ = false; ///< allocated by this class: reusable if nothing else shares it
};

namespace detail {

template <class T> struct codec<serialize_buffer<T>> : range_codec<T> {
    static_assert(std::is_default_constructible_v<T>, "towline: serialize_buffer<T> makes its elements before it reads them");

    static out_cursor put_tail(archive_writer& w, std::size_t, out_cursor c, serialize_buffer<T> const& v, std::uint32_t depth)
    {
        return put_range_tail(w, c, static_cast<T const*>(v.data()), v.size(), depth); // lent: others may share it
    }
    static in_cursor get_parts(archive_reader& r, std::byte const* head, in_cursor c, serialize_buffer<T>& v, std::uint32_t depth)
    {
        if constexpr (bitwise<T>) {
            r.seek(c);
            r.set_range_head(head);
            incoming_range const range = r.read_range<T>();
            prepare(r, v, range.count);
            if (range.is_chunk()) {
                if (range.count > 0) {
                    r.source().fetch(range.chunk, v.data());
                }
            } else {
                copy_bytes(v.data(), range.data, range.count * sizeof(T));
            }
            return r.cursor();
        } else {
            auto const n = r.plain(r.get_rest_of_count(*head, c, typeid(serialize_buffer<T>)), c, typeid(serialize_buffer<T>));
            check_elements_count<T, serialize_buffer<T>>(r, n);
            r.check_depth(c, depth);
            prepare(r, v, n.count);
            head = n.p;
            c.p = n.p + n.count * head_size<T>();
            for (T& e : v) {
                c = detail::get_parts(r, head, c, e, depth + 1);
                head += head_size<T>();
            }
            return c;
        }
    }

private:
    static void prepare(archive_reader& r, serialize_buffer<T>& v, std::uint64_t n)
    {
        if (!v.own_ || v.owner_.use_count() != 1 || v.size_ != n) {
            r.charge(n, cost<T>(), typeid(v));
            v = serialize_buffer<T>(n);
        }
    }
};

} // namespace detail
} // namespace towline
