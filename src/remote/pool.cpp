// Blocks of up to 1 KiB for states and tasks, cached by each thread.

#include <towline/detail/pool.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <new>

namespace towline::detail {

#ifdef TOWLINE_SANITIZED
// Sanitizers track an object only if it comes from their allocator.
void* pool_allocate(std::size_t size) { return ::operator new(size); }
void pool_free(void* block, std::size_t) noexcept { ::operator delete(block); }
#else
namespace {

constexpr std::size_t granule = 64, largest = 1024, classes = largest / granule;
constexpr std::uint32_t batch = 64;  // blocks that move together between a thread's list and the common one

struct node {
    node* next;
};

struct list {
    node* head = nullptr;
    std::uint32_t length = 0;

    void push(node* n) noexcept
    {
        n->next = head;
        head = n;
        ++length;
    }
    node* pop() noexcept
    {
        node* n = head;
        head = n->next;
        --length;
        return n;
    }
};

// The common lists are never destroyed, because threads may end after static destruction began.
struct common {
    std::mutex mutex;
    std::array<list, classes> lists;
};
common& shared() noexcept
{
    alignas(common) static std::byte storage[sizeof(common)];
    static common* const instance = new (storage) common;
    return *instance;
}

struct cache {
    std::array<list, classes> lists{};
    bool ended = false;

    ~cache()
    {
        ended = true;
        std::scoped_lock lock(shared().mutex);
        for (std::size_t c = 0; c < classes; ++c)
            while (lists[c].head != nullptr)
                shared().lists[c].push(lists[c].pop());
    }
};
thread_local cache mine;

// Out of line: called for every 64th block of a thread, and only if allocation and release are on different threads.
[[gnu::noinline]] void refill(std::size_t c)
{
    {
        std::scoped_lock lock(shared().mutex);
        list& from = shared().lists[c];
        for (std::uint32_t i = 0; i < batch && from.head != nullptr; ++i)
            mine.lists[c].push(from.pop());
    }
    if (mine.lists[c].head == nullptr)
        mine.lists[c].push(static_cast<node*>(::operator new((c + 1) * granule)));
}

[[gnu::noinline]] void spill(std::size_t c) noexcept
{
    std::scoped_lock lock(shared().mutex);
    for (std::uint32_t i = 0; i < batch; ++i)
        shared().lists[c].push(mine.lists[c].pop());
}

} // namespace

void* pool_allocate(std::size_t size)
{
    if (size > largest || mine.ended)
        return ::operator new(size <= largest ? (size + granule - 1) / granule * granule : size);
    std::size_t const c = (size + granule - 1) / granule - 1;
    if (mine.lists[c].head == nullptr)
        refill(c);
    return mine.lists[c].pop();
}

void pool_free(void* block, std::size_t size) noexcept
{
    if (size > largest || mine.ended)
        return ::operator delete(block);
    std::size_t const c = (size + granule - 1) / granule - 1;
    mine.lists[c].push(static_cast<node*>(block));
    if (mine.lists[c].length >= 2 * batch)
        spill(c);
}
#endif

} // namespace towline::detail
