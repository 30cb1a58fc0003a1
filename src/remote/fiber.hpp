#pragma once
// A fiber: a stack on which tasks run that may be suspended and go on later, perhaps on another thread. Recycled between tasks.
// Switching costs about 10 ns (Boost.Context); the state of C++ exceptions and the sanitizers' idea of the stack switch along.

#include "remote/stack.hpp"

#include <towline/detail/state.hpp>

#include <boost/context/detail/fcontext.hpp>

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
    /// Goes on with the suspended task; true if it ended.
    bool resume();

    /// The fiber that the calling thread is on; null on a plain stack.
    [[nodiscard]] static fiber* current() noexcept;
    /// Suspends the current fiber. The thread that ran it then calls after(context) on its own stack, when the fiber may be resumed by
    /// anyone, and goes on with other work. Returns when somebody resumed it.
    void suspend(void (*after)(void* context, fiber&) noexcept, void* context);

    /// What runs again when the fiber is queued: `resume`.
    task resumption;
    fiber* next = nullptr;           ///< for the pool's free list
    workers* pool = nullptr;         ///< whose task it runs

    /// Names the function that it runs (static text), for the overflow report. On the fiber itself.
    void rename(char const* name) noexcept
    {
        name_ = name;
        set_running(&stack_, name);
    }

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
    char const* name_ = nullptr;
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
