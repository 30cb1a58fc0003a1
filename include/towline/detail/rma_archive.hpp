#pragma once
// Archives of rma_vector. Included by towline/rma_vector.hpp, below the class.

#include <towline/detail/packed.hpp>
#include <towline/rma_vector.hpp>

namespace towline {

template <class T>
struct detail::block_handle<rma_vector<T>> {
    using element = T;
    static bool may_leave(rma_vector<T> const& v) noexcept { return v.empty() || v.storage_.sole(); }
    static handed_block block(rma_vector<T> const& v) noexcept { return {reinterpret_cast<std::uintptr_t>(v.data()), v.size()}; }
    static void let_go(rma_vector<T>& v) noexcept
    {
        if (v.size_ == 0)
            return;
        static_cast<void>(v.storage_.release());
        v.data_ = nullptr;
        v.size_ = v.capacity_ = 0;
    }
    static rma_vector<T> adopt(void* block, std::uint64_t count)
    {
        return count == 0 ? rma_vector<T>() : rma_vector<T>(rma_storage::adopt(block), count);
    }
};

template <class T>
struct serializer<rma_vector<T>> {
    static constexpr bool is_range = true;
    static void save(archive_writer& w, rma_vector<T> const& v)
    {
        std::size_t const bytes = v.size() * sizeof(T);
        if (w.makes_chunk(bytes))
            w.add_range(v.size(), {.kind = chunk_kind::rma, .data = v.data(), .size = bytes});
        else
            w.write(std::span<T const>(v.data(), v.size()));
    }
    static void save(archive_writer& w, rma_vector<T>&& v)
    {
        std::size_t const bytes = v.size() * sizeof(T);
        if (bytes == 0 || w.index_only() || !v.storage_.sole())
            return save(w, std::as_const(v));
        w.add_range(v.size(), {.kind = chunk_kind::rma_given, .data = v.data(), .size = bytes});
        detail::block_handle<rma_vector<T>>::let_go(v);
    }
    static rma_vector<T> load(archive_reader& r)
    {
        incoming_range const range = r.read_range<T>();
        if (range.is_chunk())
            if (void* const block = r.source().take(range.chunk))
                return detail::block_handle<rma_vector<T>>::adopt(block, range.count);
        r.charge(range.count, sizeof(T), typeid(rma_vector<T>));
        rma_vector<T> v(range.count, no_init);
        if (range.is_chunk())
            r.source().fetch(range.chunk, v.data());
        else if (range.count != 0)
            std::memcpy(static_cast<void*>(v.data()), range.data, range.count * sizeof(T));
        return v;
    }
};

} // namespace towline
