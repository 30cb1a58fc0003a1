#pragma once
// Writing and reading in memory, for tests.

#include <towline/archive.hpp>
#include <towline/archive_memory.hpp>

#include <vector>

namespace towline::test {

/// A value as an archive; the value must outlive it.
class packed {
public:
    template <class T>
    explicit packed(T&& value, std::size_t threshold = default_chunk_threshold) : writer_(room_, threshold)
    {
        writer_.write(std::forward<T>(value));
        index_ = writer_.index();
        source_ = memory_chunks(writer_.chunks());
    }
    [[nodiscard]] std::span<std::byte const> index() const { return index_; }
    [[nodiscard]] std::span<chunk const> chunks() const { return writer_.chunks(); }
    [[nodiscard]] archive_reader reader(archive_limits limits = {}) { return archive_reader(index_, &source_, limits); }

private:
    std::vector<std::byte> room_;
    archive_writer writer_;
    std::span<std::byte const> index_;
    memory_chunks source_;
};

/// Writes and reads with several thresholds, fresh and into a used object; the last result.
template <class T> T round_trip(T const& value)
{
    for (std::size_t threshold : {std::size_t{64}, std::size_t{1000}}) {
        packed a(value, threshold);
        auto r = a.reader();
        [[maybe_unused]] T const fresh = r.template read<T>();
        r.finish();
    }
    packed a(value);
    auto r = a.reader();
    T result = r.template read<T>();
    r.finish();
    if constexpr (detail::refillable<T>) {
        auto again = a.reader();
        again.read_into(result);
        again.finish();
    }
    return result;
}

} // namespace towline::test
