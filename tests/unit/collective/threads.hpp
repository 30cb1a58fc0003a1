#pragma once
// Ranks that are threads, with lanes.

#include "unit/collective/simulation.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace simulated {

/// The memory of this process, for threads.
class threads_memory final : public col::node_memory {
public:
    /// Of what was not allocated here, others reach everything; or, not 0, some, drawn from the seed.
    explicit threads_memory(std::uint64_t seed = 0) : seed_(seed) {}

    void* allocate(std::uint64_t n) noexcept override
    {
        void* const block = ::operator new(n, std::align_val_t{64});
        std::scoped_lock const lock(mutex_);
        blocks_[reinterpret_cast<std::uintptr_t>(block)] = n;
        return block;
    }
    void deallocate(void* block) noexcept override
    {
        {
            std::scoped_lock const lock(mutex_);
            EXPECT_EQ(blocks_.erase(reinterpret_cast<std::uintptr_t>(block)), 1u);
        }
        ::operator delete(block, std::align_val_t{64});
    }
    std::uint64_t find(void const* data, std::uint64_t n) const noexcept override
    {
        auto const word = reinterpret_cast<std::uintptr_t>(data);
        bool const is_drawn = !only_allocated && (seed_ == 0 || ((word >> 4) * 0x9e3779b97f4a7c15 + seed_) >> 63 != 0);
        return is_drawn || is_allocated(word, n) ? word : 0;
    }
    std::byte* attach(std::uint64_t word, std::uint64_t n) override
    {
        if (only_allocated && word == 0 && n <= sizeof first_)
            return first_;  // as in the heap, where nobody tells of it, but it is there
        if (only_allocated && !is_allocated(word, n))
            throw towline::error("nobody told this word");
        return reinterpret_cast<std::byte*>(word);
    }
    bool is_shared_with(peer) noexcept override { return true; }
    towline::base::sleeper sleeper(peer p) noexcept override
    {
        return beds.empty() ? towline::base::sleeper{} : towline::base::sleeper{&beds[p], towline::base::fence_side::notifier_fences};
    }
    bool is_gone(peer p) const noexcept override { return p == dead.load(std::memory_order_acquire); }
    std::atomic<std::uint64_t> const& sleeps() const noexcept override { return slept; }
    void note(counts const& c) noexcept override
    {
        std::scoped_lock const lock(mutex_);
        all.operations += c.operations;
        all.posted += c.posted;
        all.moved += c.moved;
    }

    bool only_allocated = false;  ///< nothing else is reached
    std::atomic<peer> dead{~peer{0}};
    std::atomic<std::uint64_t> slept{0};
    std::span<towline::base::event_count> beds;  ///< where ranks sleep; empty: none does
    counts all;

private:
    [[nodiscard]] bool is_allocated(std::uintptr_t begin, std::uint64_t n) const
    {
        std::scoped_lock const lock(mutex_);
        auto const after = blocks_.upper_bound(begin);
        if (after == blocks_.begin())
            return false;
        auto const& [block, size] = *std::prev(after);
        return begin - block <= size && n <= size - (begin - block);
    }

    std::byte first_[128 * 1024]{};
    std::uint64_t const seed_;
    mutable std::mutex mutex_;
    std::map<std::uintptr_t, std::uint64_t> blocks_;
};

/// The lanes of so many ranks, open.
inline std::vector<std::unique_ptr<col::lanes>> opened_lanes(col::node_memory& memory, int size, col::lanes::limits limits = {})
{
    std::vector<peer> peers(static_cast<std::size_t>(size));
    std::iota(peers.begin(), peers.end(), peer{0});
    std::vector<std::unique_ptr<col::lanes>> all;
    std::vector<std::uint64_t> words;
    for (int i = 0; i < size; ++i) {
        all.push_back(std::make_unique<col::lanes>(memory, i, peers, limits));
        words.push_back(all.back()->own_word());
    }
    for (auto& l : all)
        EXPECT_TRUE(l->open(words));
    return all;
}

/// A thread for each rank runs body(its lanes, rank).
inline void among_threads(threads_memory& memory, int size, col::lanes::limits limits,
                          std::function<void(std::unique_ptr<col::lanes>, int)> const& body)
{
    auto all = opened_lanes(memory, size, limits);
    std::vector<std::thread> threads;
    for (int i = 0; i < size; ++i)
        threads.emplace_back([&, i] { body(std::move(all[static_cast<std::size_t>(i)]), i); });
    for (auto& t : threads)
        t.join();
}

} // namespace simulated
