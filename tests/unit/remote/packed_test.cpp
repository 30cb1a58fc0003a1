// Packed values from peers that write anything.
#include <towline/rma_object.hpp>
#include <towline/towline.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

namespace {

namespace tl = towline;
namespace detail = towline::detail;
using tl::archive_error;
using field = tl::rma_vector<double>;

/// A message with the bytes given, whose sender lets blocks be claimed by number.
class message final : public detail::message_view {
public:
    explicit message(std::vector<std::byte> content) : content_(std::move(content))
    {
        bytes = content_;
        packed = true;
    }
    void wait_for_blocks() override {}
    void* claim(std::uint64_t where, std::size_t size) override
    {
        auto const at = blocks.find(where);
        if (at == blocks.end())
            throw tl::error("no such block");
        sizes.push_back(size);
        return at->second;
    }
    std::map<std::uint64_t, void*> blocks;
    std::vector<std::size_t> sizes;

private:
    std::vector<std::byte> content_;
};

template <class... T>
std::vector<std::byte> bytes_of(T const&... values)
{
    std::vector<std::byte> all;
    auto const add = [&all](auto const& v) {
        auto const* const p = reinterpret_cast<std::byte const*>(&v);
        all.insert(all.end(), p, p + sizeof v);
    };
    (add(values), ...);
    return all;
}

template <class T>
T read(message& m)
{
    return std::get<0>(detail::unpack(detail::type_list<T>{}, m));
}

struct mixed {
    char letter;
    bool yes;
    field data;
    std::uint16_t number;
};

TEST(remote_packed, layout)
{
    static_assert(detail::extent_of<mixed>().bytes == 1 + 1 + 16 + 2 && detail::extent_of<mixed>().handles == 1);
    mixed value{'a', true, field(10, 1.0), 0x1234};
    void* const block = value.data.data();
    std::uint64_t places[1];
    std::uint64_t* place = places;
    ASSERT_TRUE(detail::share_blocks(std::as_const(value), place, [&](void const* data, std::size_t size) {
        EXPECT_EQ(data, block);
        EXPECT_EQ(size, 80u);
        return std::uint64_t{77};
    }));
    std::vector<std::byte> bytes(detail::extent_of<mixed>().bytes);
    std::byte* to = bytes.data();
    std::uint64_t const* next = places;
    detail::pack_one(to, value, next);
    EXPECT_EQ(bytes, bytes_of('a', true, std::uint64_t{77}, std::uint64_t{10}, std::uint16_t{0x1234}));
    EXPECT_EQ(value.data.size(), 10u) << "packing takes nothing away";
    detail::let_go_of_blocks(value);
    EXPECT_TRUE(value.data.empty());

    message m(bytes);
    m.blocks[77] = block;
    mixed const back = read<mixed>(m);
    EXPECT_EQ(m.sizes, std::vector<std::size_t>{80});
    EXPECT_TRUE(back.letter == 'a' && back.yes && back.number == 0x1234 && back.data == field(10, 1.0));
}

TEST(remote_packed, what_cannot_leave_says_so)
{
    auto const share = [](void const*, std::size_t) { return std::uint64_t{1}; };
    auto const nowhere = [](void const*, std::size_t) { return std::uint64_t{0}; };
    std::uint64_t places[1];
    std::uint64_t* place = places;
    field one(3), other = one;
    EXPECT_FALSE(detail::share_blocks(one, place, share));
    other = {};
    EXPECT_TRUE(detail::share_blocks(one, place, share));
    place = places;
    EXPECT_FALSE(detail::share_blocks(one, place, nowhere));
    place = places;
    EXPECT_TRUE(detail::share_blocks(field(), place, nowhere));
    EXPECT_EQ(places[0], 0u);
}

TEST(remote_packed, wrong_sizes)
{
    message small(bytes_of(std::uint64_t{1}));
    EXPECT_THROW(read<field>(small), archive_error);
    message big(bytes_of(1, 2));
    EXPECT_THROW(read<int>(big), archive_error);
    message none({});
    EXPECT_THROW((read<std::pair<char, short>>(none)), archive_error);
}

TEST(remote_packed, wrong_values)
{
    message unclear(bytes_of(std::uint8_t{2}));
    EXPECT_THROW(read<bool>(unclear), archive_error);
    message nowhere(bytes_of(std::uint64_t{5}, std::uint64_t{1}));
    EXPECT_THROW(read<field>(nowhere), tl::error);
    message endless(bytes_of(std::uint64_t{5}, ~std::uint64_t{0} / 4));
    endless.blocks[5] = nullptr;
    EXPECT_THROW(read<field>(endless), archive_error);
    field crooked(4);
    message odd(bytes_of(std::uint64_t{5}, std::uint64_t{1}));
    odd.blocks[5] = reinterpret_cast<std::byte*>(crooked.data()) + 1;
    EXPECT_THROW(read<field>(odd), archive_error);
    message nothing(bytes_of(std::uint64_t{5}, std::uint64_t{0}));
    EXPECT_TRUE(read<field>(nothing).empty()) << "an empty vector has no block, whatever is said of it";
}

TEST(remote_packed, an_object_is_one)
{
    field two(2, 1.5);
    message m(bytes_of(std::uint64_t{5}, std::uint64_t{2}));
    m.blocks[5] = two.data();
    EXPECT_THROW(read<tl::rma_object<double>>(m), archive_error);
    detail::block_handle<field>::let_go(two);  // the reader took it, and gave it back
}

TEST(remote_packed, no_blocks_in_other_messages)
{
    struct plain final : detail::message_view {
        void wait_for_blocks() override {}
    } m;
    EXPECT_THROW(static_cast<void>(m.claim(1, 8)), archive_error);
}

} // namespace
