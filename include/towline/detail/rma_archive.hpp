#pragma once
// How an rma_vector travels. Included by towline/rma_vector.hpp, below the class.

#include <towline/rma_vector.hpp>

namespace towline {

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
        static_cast<void>(v.storage_.release());
        v = {};
    }
    static rma_vector<T> load(archive_reader& r)
    {
        incoming_range const range = r.read_range<T>();
        if (range.is_chunk())
            if (void* const block = r.source().take(range.chunk)) {
                rma_vector<T> v;
                v.storage_ = detail::rma_storage::adopt(block);
                v.data_ = static_cast<T*>(block);
                v.size_ = v.capacity_ = range.count;
                return v;
            }
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
