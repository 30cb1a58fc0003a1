// Vectors that take over the blocks in which their elements arrived.

#include "unit/archive/round_trip.hpp"

#include <towline/archive_all.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <memory_resource>
#include <new>
#include <numeric>
#include <vector>

namespace towline::test {
namespace {

/// Every chunk is copied into memory of operator new, which is given away when asked for; what nobody took is released here.
class owning_source final : public chunk_source {
public:
    explicit owning_source(std::span<chunk const> chunks)
    {
        for (chunk const& c : chunks) {
            void* const block = ::operator new(c.size);
            std::memcpy(block, c.data, c.size);
            blocks_.push_back({block, c.size});
        }
    }
    ~owning_source() override
    {
        for (auto const& b : blocks_)
            ::operator delete(b.data);
    }
    std::size_t count() const override { return blocks_.size(); }
    std::uint64_t size(std::size_t i) const override { return blocks_[i].size; }
    void const* view(std::size_t i) override { return blocks_[i].data; }
    void* take(std::size_t) override { return nullptr; }
    void* take_for_delete(std::size_t i, std::size_t alignment) override
    {
        alignments.push_back(alignment);
        return gives ? std::exchange(blocks_[i].data, nullptr) : nullptr;
    }
    void fetch(std::size_t i, void* to) override
    {
        ++copied;
        std::memcpy(to, blocks_[i].data, blocks_[i].size);
    }

    bool gives = true;
    int copied = 0;
    std::vector<std::size_t> alignments;

private:
    struct owned {
        void* data;
        std::uint64_t size;
    };
    std::vector<owned> blocks_;
};

std::vector<int> numbers(std::size_t n, int from = 0)
{
    std::vector<int> v(n);
    std::iota(v.begin(), v.end(), from);
    return v;
}

struct pair_of_vectors {
    std::vector<int> a;
    std::vector<double> b;
    friend bool operator==(pair_of_vectors const&, pair_of_vectors const&) = default;
};

TEST(adopt, a_vector_owns_the_block_it_came_in)
{
    auto const original = numbers(5000);
    packed const a(original);
    owning_source source(a.chunks());
    void const* const block = source.view(0);
    archive_reader r(a.index(), &source);
    auto v = r.read<std::vector<int>>();
    r.finish();
    EXPECT_EQ(v, original);
    EXPECT_EQ(v.data(), block);
    EXPECT_EQ(v.capacity(), 5000u);
    EXPECT_EQ(source.copied, 0);
    EXPECT_EQ(source.alignments, std::vector<std::size_t>{alignof(int)});
    v.push_back(5000);
    EXPECT_EQ(v, numbers(5001));
}

TEST(adopt, one_that_holds_something_releases_it)
{
    pair_of_vectors const original{numbers(4000, 3), std::vector<double>(3000, 0.5)};
    packed const a(original);
    for (std::size_t const had : {0, 10, 4000, 100'000}) {
        owning_source source(a.chunks());
        void const* const block = source.view(0);
        archive_reader r(a.index(), &source);
        pair_of_vectors v{numbers(had), std::vector<double>(had)};
        r.read_into(v);
        r.finish();
        EXPECT_EQ(v, original);
        EXPECT_EQ(v.a.data(), block);
        EXPECT_EQ(source.copied, 0);
    }
}

TEST(adopt, it_copies_where_nothing_is_given)
{
    auto const original = numbers(5000);
    packed const a(original);
    owning_source source(a.chunks());
    source.gives = false;
    archive_reader r(a.index(), &source);
    EXPECT_EQ(r.read<std::vector<int>>(), original);
    EXPECT_EQ(source.copied, 1);
}

TEST(adopt, other_allocators_and_containers_copy)
{
    auto const original = numbers(5000);
    packed const a(original);
    {
        owning_source source(a.chunks());
        archive_reader r(a.index(), &source);
        std::pmr::vector<int> v;
        r.read_into(v);
        EXPECT_TRUE(std::equal(v.begin(), v.end(), original.begin(), original.end()));
        EXPECT_TRUE(source.alignments.empty());
    }
    std::string const text(20'000, 'x');
    packed const b(text);
    owning_source source(b.chunks());
    archive_reader r(b.index(), &source);
    EXPECT_EQ(r.read<std::string>(), text);
    EXPECT_TRUE(source.alignments.empty());
}

TEST(adopt, what_was_adopted_is_released_when_decoding_fails)
{
    pair_of_vectors const original{numbers(4000), std::vector<double>(3000, 0.5)};
    packed const a(original);
    owning_source whole(a.chunks());
    {
        // The second vector's block is missing, then shorter: the leak checker looks at the first one's.
        owning_source source(a.chunks().first(1));
        EXPECT_THROW((void)archive_reader(a.index(), &source).read<pair_of_vectors>(), archive_error);
    }
    archive_reader r(a.index(), &whole);
    struct other {
        std::vector<int> a;
        std::vector<float> b;
    };
    EXPECT_THROW((void)r.read<other>(), archive_error);
    EXPECT_EQ(whole.view(0), nullptr);  // it was taken
}

TEST(adopt, the_budget_is_charged_as_for_a_copy)
{
    auto const original = numbers(5000);
    packed const a(original);
    owning_source source(a.chunks());
    archive_reader r(a.index(), &source, {.max_bytes = 19'999});
    EXPECT_THROW((void)r.read<std::vector<int>>(), archive_error);
    EXPECT_NE(source.view(0), nullptr);
}

} // namespace
} // namespace towline::test
