#pragma once
// Fibers: stacks on which tasks run, and may be suspended and resumed on another thread. Fibers are reused by later tasks. A switch takes
// about 10 ns (Boost.Context) and includes the state of C++ exceptions and the stack that sanitizers know.

#include "remote/stack.hpp"

#include <towline/detail/state.hpp>

#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>

namespace towline::remoting {

using detail::task;
class workers;

class fiber {
public:
    fiber();
    ~fiber();  ///< not while a task is suspended on it
    fiber(fiber const&) = delete;
    fiber& operator=(fiber const&) = delete;

    /// Runs `t` until it ends or suspends; true if it ended. From a plain stack only.
    bool start(task& t);
    /// Resumes the suspended task; true if it ended.
    bool resume();

    /// The fiber of the calling thread; null on a plain stack.
    [[nodiscard]] static fiber* current() noexcept;
    /// Suspends the current fiber. Its thread then calls after(context) on its own stack, and continues with other work. From that call on
    /// any thread may resume the fiber. Returns when a thread did.
    void suspend(void (*after)(void* context, fiber&) noexcept, void* context);

    /// The task that resumes the fiber when it is queued.
    task resumption;
    fiber* next = nullptr;           ///< for the pool's free list
    workers* pool = nullptr;         ///< whose task it runs

    /// Records the function that the fiber runs (static text) and the calling rank until its task ends, for the overflow report and the
    /// watchdog. Called on the fiber itself.
    void rename(char const* name, int caller) noexcept
    {
        auto const whose = static_cast<std::uint64_t>(caller + 1) << address_bits;
        note_.store(reinterpret_cast<std::uintptr_t>(name) | whose, std::memory_order_relaxed);
        set_running(&stack_, name);
    }

    /// Records a wait of its task; `on` may be null.
    class waiting {
    public:
        waiting(fiber& f, char const* what, detail::state_base const* on) noexcept : fiber_(f)
        {
            f.waits_on_.store(on, std::memory_order_relaxed);
            f.waits_for_.store(what, std::memory_order_relaxed);
        }
        ~waiting() { fiber_.waits_for_.store(nullptr, std::memory_order_relaxed); }
        waiting(waiting const&) = delete;
        waiting& operator=(waiting const&) = delete;

    private:
        fiber& fiber_;
    };

    // For the watchdog. Any thread; the answer may be outdated when it is returned.
    struct call {
        char const* name;  ///< null: none
        int caller;
    };
    [[nodiscard]] call running() const noexcept
    {
        std::uint64_t const n = note_.load(std::memory_order_relaxed);
        return {name_in(n), static_cast<int>(n >> address_bits) - 1};
    }
    [[nodiscard]] char const* waits_for() const noexcept { return waits_for_.load(std::memory_order_relaxed); }  ///< null: it does not wait
    [[nodiscard]] detail::state_base const* waits_on() const noexcept { return waits_on_.load(std::memory_order_relaxed); }
    fiber *older = nullptr, *younger = nullptr;  ///< links of the list of all fibers of the pool

private:
    struct exceptions {  // __cxa_eh_globals
        void* caught = nullptr;
        unsigned int uncaught = 0;
    };
    static void entry(boost::context::detail::transfer_t) noexcept;
    void loop(boost::context::detail::transfer_t) noexcept;
    bool switch_in();
    void switch_out();

    stack stack_;
    /// A text's address and a rank below 2^15 in one word, so that recording a call is one store.
    static constexpr unsigned address_bits = 48;
    static char const* name_in(std::uint64_t note) noexcept
    {
        return reinterpret_cast<char const*>(static_cast<std::uintptr_t>(note & ((std::uint64_t{1} << address_bits) - 1)));
    }
    std::atomic<std::uint64_t> note_{0};
    std::atomic<char const*> waits_for_{nullptr};
    std::atomic<detail::state_base const*> waits_on_{nullptr};
    boost::context::detail::fcontext_t inside_ = nullptr;   ///< where the fiber stopped
    boost::context::detail::fcontext_t outside_ = nullptr;  ///< where its thread waits
    task* task_ = nullptr;
    bool ended_ = true;
    void (*after_)(void*, fiber&) noexcept = nullptr;
    void* after_context_ = nullptr;
    exceptions exceptions_;
    // used by sanitizers only
    [[maybe_unused]] void* tsan_inside_ = nullptr;
    [[maybe_unused]] void* tsan_outside_ = nullptr;
    [[maybe_unused]] void* asan_fake_ = nullptr;
    [[maybe_unused]] void const* asan_outside_bottom_ = nullptr;
    [[maybe_unused]] std::size_t asan_outside_size_ = 0;
};

} // namespace towline::remoting
