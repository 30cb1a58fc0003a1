// Streams of more than 2^31 bytes, in memory that is only an address: windows of them against a byte-by-byte interpreter of the type map.
// TOWLINE_TEST_ROUNDS makes it longer.

#include "layout/copy_plan.hpp"
#include "layout/stream.hpp"
#include "random_types.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstdlib>
#include <map>
#include <optional>

namespace {

using namespace towline;
using namespace towline::layout;
using namespace random_types;

constexpr i64 least_stream = i64{1} << 31;
constexpr i64 room = i64{1} << 40;  ///< of addresses
constexpr i64 margin = 64;          ///< around a window that nothing may touch

/// Memory of which only what is touched exists.
class sparse {
public:
    sparse() : at_(mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
    ~sparse()
    {
        if (is_there())
            munmap(at_, room);
    }
    sparse(sparse const&) = delete;
    sparse& operator=(sparse const&) = delete;
    [[nodiscard]] bool is_there() const { return at_ != MAP_FAILED; }
    [[nodiscard]] std::byte* begin() const { return static_cast<std::byte*>(at_); }

private:
    void* at_;
};

/// Many elements of a type; where each byte of their stream lies.
struct huge {
    both type;
    i64 count = 0, size = 0;
    std::vector<i64> starts;  ///< of each entry in an element's stream
    std::byte* buffer = nullptr;

    /// Nothing, if the type has no data, or so many do not fit the room.
    static std::optional<huge> make(maker& random, sparse const& memory)
    {
        huge h{random.make(static_cast<int>(random.pick(0, 3))), 0, 0, {}, nullptr};
        i64 const one = h.type.naive.size();
        if (one == 0)
            return std::nullopt;
        h.count = (least_stream + random.pick(0, least_stream)) / one + 1;
        h.size = one * h.count;
        i64 const extent = h.type.naive.extent(), last = (h.count - 1) * extent;
        i64 const low = h.type.naive.true_lb() + std::min<i64>(0, last), high = h.type.naive.true_ub() + std::max<i64>(0, last);
        if (high - low + 4 * margin > room)
            return std::nullopt;
        h.buffer = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory.begin()) + 2 * margin - static_cast<std::uintptr_t>(low));
        for (i64 at = 0; auto const& e : h.type.naive.map) {
            h.starts.push_back(at);
            at += info(e.unit).size;
        }
        return h;
    }
    [[nodiscard]] std::byte* byte(i64 position) const
    {
        i64 const one = type.naive.size(), rest = position % one;
        auto const i = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), rest) - starts.begin() - 1);
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) +
                                            static_cast<std::uintptr_t>(position / one * type.naive.extent() +
                                                                        type.naive.map[i].displacement + rest - starts[i]));
    }
    /// A part of the stream, often around a power of two.
    [[nodiscard]] std::pair<i64, i64> window(maker& random, i64 all) const
    {
        i64 const some[]{0, least_stream, all, random.pick(0, all)};
        i64 const middle = some[random.pick(0, 3)];
        return {std::clamp<i64>(middle - random.pick(0, 700), 0, all), std::clamp<i64>(middle + random.pick(0, 700), 0, all)};
    }
};

/// What memory holds around the bytes that are to be written.
class watch {
public:
    void look_around(std::byte* at)
    {
        for (i64 i = -margin / 8; i <= margin / 8; ++i)
            bytes_.try_emplace(at + i, at[i]);
    }
    void expect(std::byte* at, std::byte value) { bytes_[at] = value; }
    void check() const
    {
        for (auto const& [at, value] : bytes_)
            ASSERT_EQ(*at, value);
    }

private:
    std::map<std::byte*, std::byte> bytes_;
};

void fill(huge const& h, i64 first, i64 last, maker& random)
{
    for (i64 p = first; p < last; ++p)
        *h.byte(p) = static_cast<std::byte>(random.pick(1, 255));
}

/// The same elements, as one of the ways to say so many.
stream stream_of(huge const& h, datatype& whole, maker& random)
{
    i64 const parts = random.pick(1, 9);
    whole = random.pick(0, 1) == 0 || h.count % parts != 0 ? h.type.real : contiguous(h.count / parts, h.type.real);
    bool const fits = whole.size() == h.type.real.size() || whole.extent() == h.count / parts * h.type.real.extent();
    if (!fits)
        whole = h.type.real;
    return {whole, h.size / whole.size()};
}

unsigned rounds()
{
    char const* const given = std::getenv("TOWLINE_TEST_ROUNDS");
    return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 150;
}

TEST(huge_streams, are_packed_and_unpacked_where_the_interpreter_finds_them)
{
    unsigned compared = 0;
    with_seeds(rounds(), [&](maker& random) {
        sparse const memory;
        if (!memory.is_there())
            return;
        auto const h = huge::make(random, memory);
        if (!h)
            return;
        SCOPED_TRACE(h->type.real.describe().substr(0, 300) + ", " + std::to_string(h->count) + " times");
        datatype whole = h->type.real;
        stream const s = stream_of(*h, whole, random);
        ASSERT_EQ(s.size(), h->size);
        for (int turn = 0; turn < 4; ++turn, ++compared) {
            auto const [first, last] = h->window(random, h->size);
            fill(*h, first, last, random);
            std::vector<std::byte> packed(static_cast<std::size_t>(last - first));
            s.pack(h->buffer, first, last, packed.data());
            for (i64 p = first; p < last; ++p)
                ASSERT_EQ(packed[static_cast<std::size_t>(p - first)], *h->byte(p)) << p;

            watch w;
            for (i64 p = first; p < last; ++p)
                w.look_around(h->byte(p));
            for (i64 p = first; p < last; ++p) {
                packed[static_cast<std::size_t>(p - first)] = static_cast<std::byte>(random.pick(0, 255));
                w.expect(h->byte(p), packed[static_cast<std::size_t>(p - first)]);
            }
            s.unpack(h->buffer, first, last, packed.data());
            w.check();
            if (testing::Test::HasFatalFailure())
                return;
        }
    });
    if (std::getenv("TOWLINE_TEST_SEED") == nullptr) {
        EXPECT_GT(compared, rounds() / 2) << "hardly a type has fitted the memory";
    }
}

TEST(huge_streams, are_copied_from_layout_to_layout)
{
    unsigned compared = 0;
    with_seeds(rounds(), [&](maker& random) {
        sparse const here, there;
        if (!here.is_there() || !there.is_there())
            return;
        auto const from = huge::make(random, here), to = huge::make(random, there);
        if (!from || !to)
            return;
        SCOPED_TRACE(from->type.real.describe().substr(0, 300) + ", " + std::to_string(from->count) + " times, to " +
                     to->type.real.describe().substr(0, 300) + ", " + std::to_string(to->count) + " times");
        copy_plan const plan(elements_of(to->type.real, to->count), elements_of(from->type.real, from->count));
        ASSERT_EQ(plan.size(), std::min(to->size, from->size));
        for (int turn = 0; turn < 4; ++turn, ++compared) {
            auto const [first, last] = to->window(random, plan.size());
            fill(*from, first, last, random);
            watch w;
            for (i64 p = first; p < last; ++p)
                w.look_around(to->byte(p));
            for (i64 p = first; p < last; ++p)
                w.expect(to->byte(p), *from->byte(p));
            plan.copy(to->buffer, from->buffer, first, last);
            w.check();
            if (testing::Test::HasFatalFailure())
                return;
        }
    });
    if (std::getenv("TOWLINE_TEST_SEED") == nullptr) {
        EXPECT_GT(compared, rounds() / 4) << "hardly a pair of types has fitted the memory";
    }
}

} // namespace
