// A program with operators new and delete of its own, which write down what they made: no vector is handed a block that they do not know.
#include "remote_check.hpp"

#include "heap/heap.hpp"

#include <towline/towline.hpp>

#include <cstdint>
#include <new>
#include <vector>

namespace tl = towline;

namespace {

constexpr std::uint64_t ours = 0x6f7065726174;  // in front of each block
constexpr std::size_t front = 64;

void* make(std::size_t size)
{
    auto* const block = static_cast<char*>(std::malloc(size + front));
    if (block == nullptr)
        throw std::bad_alloc();
    *reinterpret_cast<std::uint64_t*>(block) = ours;
    return block + front;
}
void end(void* p) noexcept
{
    if (p == nullptr)
        return;
    auto* const block = static_cast<char*>(p) - front;
    CHECK(*reinterpret_cast<std::uint64_t*>(block) == ours);
    *reinterpret_cast<std::uint64_t*>(block) = 0;
    std::free(block);
}

} // namespace

void* operator new(std::size_t size)
{
    return make(size);
}
void* operator new[](std::size_t size)
{
    return make(size);
}
void operator delete(void* p) noexcept
{
    end(p);
}
void operator delete[](void* p) noexcept
{
    end(p);
}
void operator delete(void* p, std::size_t) noexcept
{
    end(p);
}
void operator delete[](void* p, std::size_t) noexcept
{
    end(p);
}

static double last(std::vector<double> v)
{
    v.push_back(1);
    return v[v.size() - 2];
}

int main(int argc, char** argv)
{
    tl::world w(argc, argv);
    CHECK(!towline::heap::delete_releases());
    std::vector<double> const v(1'000'000, 2.5);
    for (int i = 0; i < 10; ++i)
        CHECK(tl::async<&last>(w.next(), v).get() == 2.5);
    w.barrier();
}
