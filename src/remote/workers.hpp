#pragma once
// The worker pool: threads that run tasks on fibers. A waiting task frees its thread for others; tasks nest to any depth.
//
// A worker without a task sleeps. While tasks are suspended, it first polls the engine for a short time, because polls resume them. A
// thread that waits and holds nothing (world::serve, the end of the world) may run tasks itself, so that a call to a waiting process costs
// no wake-up.

#include "engine/engine.hpp"
#include "remote/fiber.hpp"
#include "remote/thresholds.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace towline::remoting {

class workers {
public:
    /// `engine` may be null (no polling). Zero threads: tasks run only where `run_one` is called.
    workers(engine::engine* engine, unsigned threads, bool oversubscribed = false, void (*on_thread)(void*) = nullptr,
            void* context = nullptr);
    ~workers();  ///< stops; suspended tasks are abandoned with their stacks
    /// Joins the threads; queued tasks stay queued.
    void stop() noexcept;
    workers(workers const&) = delete;
    workers& operator=(workers const&) = delete;

    /// Queues a task, which must not move until it runs. Any thread, also inside a handler.
    void push(task&) noexcept;
    /// Removes the first queued task for which `is` returns true and passes it to `end`, which deletes it; false if there is none.
    template <class Is, class End>
    bool withdraw(Is&& is, End&& end)
    {
        task* found = nullptr;
        {
            std::scoped_lock lock(mutex_);
            for (task *t = queue_.head, *before = nullptr; t != nullptr; before = std::exchange(t, t->next))
                if (t->run != nullptr && is(*t)) {
                    found = t;
                    (before == nullptr ? queue_.head : before->next) = t->next;
                    if (queue_.tail == t)
                        queue_.tail = before;
                    queued_.fetch_sub(1, std::memory_order_relaxed);
                    break;
                }
        }
        if (found == nullptr)
            return false;
        end(*found);
        task_ended();
        return true;
    }
    /// Queues a suspended fiber again; call `note_suspension` before it.
    void resume(fiber&) noexcept;
    void note_suspension() noexcept;
    /// On a fiber: runs other tasks, then continues.
    void yield();

    /// Runs one queued task on the calling thread; false if there was none. Not on a fiber.
    bool run_one();
    [[nodiscard]] bool has_work() const noexcept { return queued_.load(std::memory_order_acquire) != 0; }
    /// Tasks queued, running or suspended.
    [[nodiscard]] std::uint64_t unfinished() const noexcept { return unfinished_.load(std::memory_order_acquire); }
    /// Tasks that have ended since the start.
    [[nodiscard]] std::uint64_t finished() const noexcept { return finished_.load(std::memory_order_acquire); }

    /// In its scope the calling thread tests `has_work` after each progress.
    class serving {
    public:
        explicit serving(workers&) noexcept;
        ~serving();
        serving(serving const&) = delete;
        serving& operator=(serving const&) = delete;

    private:
        workers& pool_;
        workers* before_;
    };

    /// Visits all fibers that run a task, and some that do not; of very many it skips some. Any thread.
    template <class F>
    void for_each_fiber(F&& each)
    {
        std::scoped_lock lock(mutex_);
        std::size_t left = thresholds::fibers_told;
        for (fiber const* f = youngest_; f != nullptr && left-- != 0; f = f->older)
            each(*f);
    }

    /// True while a task runs on a plain stack because no further stack was available: it must not wait.
    [[nodiscard]] static bool out_of_stacks() noexcept;

private:
    struct queue {
        task* head = nullptr;
        task* tail = nullptr;
    };
    void append(task&) noexcept;
    void put(task&) noexcept;
    task* take() noexcept;  // under mutex_
    void execute(task&);
    void task_ended() noexcept;
    fiber* get_fiber();
    void put_fiber(fiber*) noexcept;
    void loop() noexcept;
    bool poll_while_suspended();

    engine::engine* engine_;
    bool oversubscribed_;
    void (*on_thread_)(void*);
    void* on_thread_context_;

    std::mutex mutex_;
    std::condition_variable wake_;
    queue queue_;
    fiber* free_ = nullptr;
    fiber* youngest_ = nullptr;  ///< of all
    unsigned free_count_ = 0;
    unsigned sleepers_ = 0;
    bool stop_ = false;
    std::atomic<unsigned> servers_{0};
    std::atomic<std::uint64_t> queued_{0};
    std::atomic<std::uint64_t> unfinished_{0};
    std::atomic<std::uint64_t> finished_{0};
    std::atomic<std::uint64_t> suspended_{0};
    std::vector<std::thread> threads_;
};

} // namespace towline::remoting
