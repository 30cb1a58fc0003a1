// The pool's threads, queue and fibers.

#include "remote/workers.hpp"

#include "base/threads.hpp"
#include "remote/thresholds.hpp"

#include <towline/error.hpp>

#include <cstddef>
#include <fmt/format.h>
#include <sched.h>
#include <system_error>
#include <utility>

namespace towline::remoting {
namespace {

thread_local workers* serving_here = nullptr;
thread_local bool no_stack = false;

[[gnu::noinline]] workers* serving_pool() noexcept
{
    asm volatile("");
    return serving_here;
}

// A queued resumption has no run function; it is a member of its fiber.
fiber& fiber_of(task& resumption) noexcept
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
    return *reinterpret_cast<fiber*>(reinterpret_cast<std::byte*>(&resumption) - offsetof(fiber, resumption));
#pragma GCC diagnostic pop
}

} // namespace

workers::workers(engine::engine* engine, unsigned threads, bool oversubscribed, void (*on_thread)(void*), void* context)
    : engine_(engine), oversubscribed_(oversubscribed), on_thread_(on_thread), on_thread_context_(context)
{
    threads_.reserve(threads);
    try {
        for (unsigned i = 0; i < threads; ++i)
            threads_.emplace_back([this] { loop(); });
    } catch (std::system_error const& e) {
        auto const begun = threads_.size();
        stop();
        throw base::no_thread(fmt::format("worker {} of {} (TOWLINE_WORKERS)", begun + 1, threads), e.code().value());
    }
}

void workers::stop() noexcept
{
    {
        std::scoped_lock lock(mutex_);
        stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_)
        t.join();
    threads_.clear();
}

workers::~workers()
{
    stop();
    while (free_ != nullptr)
        delete std::exchange(free_, free_->next);
}

bool workers::out_of_stacks() noexcept
{
    return no_stack;
}

void workers::append(task& t) noexcept
{
    t.next = nullptr;
    (queue_.head == nullptr ? queue_.head : queue_.tail->next) = &t;
    queue_.tail = &t;
    queued_.fetch_add(1, std::memory_order_release);
}

void workers::put(task& t) noexcept
{
    bool wake_worker = false, wake_server = false;
    {
        std::scoped_lock lock(mutex_);
        append(t);
        bool const served_here = serving_pool() == this && queue_.head == queue_.tail;
        wake_worker = sleepers_ > 0 && !served_here;
        wake_server = servers_.load(std::memory_order_relaxed) > 0 && !served_here && sleepers_ == 0;
    }
    if (wake_worker)
        wake_.notify_one();
    if (wake_server && engine_ != nullptr)
        engine_->notify();
}

void workers::push(task& t) noexcept
{
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    put(t);
}

void workers::resume(fiber& f) noexcept
{
    suspended_.fetch_sub(1, std::memory_order_relaxed);
    put(f.resumption);
}

void workers::yield()
{
    fiber::current()->suspend([](void* pool, fiber& f) noexcept {
        auto* const self = static_cast<workers*>(pool);
        if (self->engine_ != nullptr)
            self->engine_->progress();  // the task may wait for a message
        sched_yield();
        self->put(f.resumption);
    }, this);
}

task* workers::take() noexcept
{
    task* const t = queue_.head;
    if (t != nullptr) {
        queue_.head = t->next;
        queued_.fetch_sub(1, std::memory_order_relaxed);
    }
    return t;
}

fiber* workers::get_fiber()
{
    {
        std::scoped_lock lock(mutex_);
        if (free_ != nullptr) {
            --free_count_;
            return std::exchange(free_, free_->next);
        }
    }
    auto* const made = new fiber;
    std::scoped_lock lock(mutex_);
    made->older = youngest_;
    if (youngest_ != nullptr)
        youngest_->younger = made;
    return youngest_ = made;
}

void workers::put_fiber(fiber* f) noexcept
{
    {
        std::scoped_lock lock(mutex_);
        if (free_count_ < thresholds::kept_fibers) {
            f->next = std::exchange(free_, f);
            ++free_count_;
            return;
        }
        (f->younger != nullptr ? f->younger->older : youngest_) = f->older;
        if (f->older != nullptr)
            f->older->younger = f->younger;
    }
    delete f;
}

void workers::execute(task& t)
{
    fiber* f = nullptr;
    bool ended = false;
    if (t.run == nullptr) {
        f = &fiber_of(t);
        ended = f->resume();
    } else {
        try {
            f = get_fiber();
        } catch (...) {
            no_stack = true;
            t.run(&t);
            no_stack = false;
            return task_ended();
        }
        f->pool = this;
        ended = f->start(t);
    }
    if (!ended)
        return;
    put_fiber(f);
    task_ended();
}

void workers::task_ended() noexcept
{
    finished_.fetch_add(1, std::memory_order_relaxed);
    // A serving thread reads the count when it is woken.
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1 && servers_.load(std::memory_order_relaxed) != 0 && engine_ != nullptr)
        engine_->notify();
}

bool workers::run_one()
{
    task* t = nullptr;
    bool more = false;
    {
        std::scoped_lock lock(mutex_);
        t = take();
        more = queue_.head != nullptr && sleepers_ > 0;
    }
    if (t == nullptr)
        return false;
    if (more)
        wake_.notify_one();
    watch_overflow_on_this_thread();
    execute(*t);
    return true;
}

bool workers::poll_while_suspended()
{
    int const rounds = oversubscribed_ ? thresholds::suspended_polls_oversubscribed : thresholds::suspended_polls;
    for (int i = 0; i < rounds && engine_ != nullptr && suspended_.load(std::memory_order_relaxed) != 0; ++i) {
        engine_->progress();
        if (has_work())
            return true;
        if ((i + 1) % thresholds::polls_per_yield == 0 || oversubscribed_)
            sched_yield();
    }
    return has_work();
}

void workers::loop() noexcept
{
    if (on_thread_ != nullptr)
        on_thread_(on_thread_context_);
    while (true) {
        if (run_one() || poll_while_suspended())
            continue;
        std::unique_lock lock(mutex_);
        if (queue_.head != nullptr)
            continue;
        if (stop_)
            return;
        ++sleepers_;
        wake_.wait(lock, [this] { return queue_.head != nullptr || stop_; });
        --sleepers_;
    }
}

void workers::note_suspension() noexcept
{
    suspended_.fetch_add(1, std::memory_order_relaxed);
}

workers::serving::serving(workers& pool) noexcept : pool_(pool), before_(std::exchange(serving_here, &pool))
{
    std::scoped_lock lock(pool_.mutex_);
    pool_.servers_.fetch_add(1, std::memory_order_relaxed);
}

workers::serving::~serving()
{
    std::scoped_lock lock(pool_.mutex_);
    pool_.servers_.fetch_sub(1, std::memory_order_relaxed);
    serving_here = before_;
}

} // namespace towline::remoting
