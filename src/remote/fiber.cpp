// Switches between fibers.

#include "remote/fiber.hpp"

#include <cstring>
#include <cxxabi.h>
#include <utility>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TOWLINE_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define TOWLINE_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(TOWLINE_TSAN)
#define TOWLINE_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__) && !defined(TOWLINE_ASAN)
#define TOWLINE_ASAN 1
#endif
#ifdef TOWLINE_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#ifdef TOWLINE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace towline::remoting {

namespace ctx = boost::context::detail;

namespace {

thread_local fiber* running_fiber = nullptr;

// A fiber may resume on another thread. These functions are not inlined, so that they load the thread's variables afresh after a switch.
[[gnu::noinline]] void set_current(fiber* f) noexcept
{
    running_fiber = f;
    asm volatile("");
}

[[gnu::noinline]] void* exception_globals() noexcept
{
    asm volatile("");
    return abi::__cxa_get_globals();
}

} // namespace

[[gnu::noinline]] fiber* fiber::current() noexcept
{
    asm volatile("");
    return running_fiber;
}

fiber::fiber() : stack_(map_stack())
{
    resumption.run = nullptr;
    inside_ = ctx::make_fcontext(stack_.top(), stack_.size, &fiber::entry);
#ifdef TOWLINE_TSAN
    tsan_inside_ = __tsan_create_fiber(0);
#endif
}

fiber::~fiber()
{
#ifdef TOWLINE_TSAN
    __tsan_destroy_fiber(tsan_inside_);
#endif
#ifdef TOWLINE_ASAN
    __asan_unpoison_memory_region(stack_.bottom, stack_.size);
#endif
    unmap_stack(stack_);
}

bool fiber::start(task& t)
{
    task_ = &t;
    ended_ = false;
    return switch_in();
}

bool fiber::resume()
{
    return switch_in();
}

bool fiber::switch_in()
{
    exceptions own;
    std::memcpy(&own, exception_globals(), sizeof own);
    std::memcpy(exception_globals(), &exceptions_, sizeof exceptions_);
    set_current(this);
    set_running(&stack_, name_in(note_.load(std::memory_order_relaxed)));
#ifdef TOWLINE_TSAN
    tsan_outside_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_inside_, 0);
#endif
#ifdef TOWLINE_ASAN
    void* fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, stack_.bottom, stack_.size);
#endif
    ctx::transfer_t const from = ctx::jump_fcontext(inside_, this);
#ifdef TOWLINE_ASAN
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
    inside_ = from.fctx;
    std::memcpy(&exceptions_, exception_globals(), sizeof exceptions_);
    std::memcpy(exception_globals(), &own, sizeof own);
    set_running(nullptr, nullptr);
    set_current(nullptr);
    if (ended_)
        return true;
    // From here on another thread may resume and end the fiber.
    after_(after_context_, *this);
    return false;
}

void fiber::switch_out()
{
#ifdef TOWLINE_ASAN
    __sanitizer_start_switch_fiber(&asan_fake_, asan_outside_bottom_, asan_outside_size_);
#endif
#ifdef TOWLINE_TSAN
    __tsan_switch_to_fiber(tsan_outside_, 0);
#endif
    ctx::transfer_t const from = ctx::jump_fcontext(outside_, nullptr);
#ifdef TOWLINE_ASAN
    __sanitizer_finish_switch_fiber(asan_fake_, &asan_outside_bottom_, &asan_outside_size_);
#endif
    outside_ = from.fctx;
}

void fiber::suspend(void (*after)(void*, fiber&) noexcept, void* context)
{
    after_ = after;
    after_context_ = context;
    switch_out();
}

void fiber::entry(ctx::transfer_t from) noexcept
{
    static_cast<fiber*>(from.data)->loop(from);
}

void fiber::loop(ctx::transfer_t from) noexcept
{
#ifdef TOWLINE_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &asan_outside_bottom_, &asan_outside_size_);
#endif
    outside_ = from.fctx;
    while (true) {
        task* const t = std::exchange(task_, nullptr);
        t->run(t);
        note_.store(0, std::memory_order_relaxed);
        ended_ = true;
        switch_out();
    }
}

} // namespace towline::remoting
