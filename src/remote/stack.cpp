// Maps stacks, and detects their overflow.

#include "remote/stack.hpp"

#include "base/settings.hpp"
#include "base/settings_table.hpp"

#include <towline/error.hpp>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace towline::remoting {
namespace {

constexpr std::size_t guard = 4096;

struct running {
    stack const* where = nullptr;
    char const* name = nullptr;
};
thread_local running current;

} // namespace

std::size_t stack_size()
{
    static std::size_t const size = [] {
#ifdef TOWLINE_SANITIZED
        constexpr std::size_t kib = 1024;
#else
        constexpr std::size_t kib = 256;
#endif
        base::check_setting("TOWLINE_STACK");
        return static_cast<std::size_t>(base::setting_bytes("TOWLINE_STACK", kib * 1024, 1024)) / guard * guard;
    }();
    return size;
}

stack map_stack()
{
    std::size_t const size = stack_size();
    void* const base = mmap(nullptr, size + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (base == MAP_FAILED || mprotect(base, guard, PROT_NONE) != 0) {
        int const code = errno;
        if (base != MAP_FAILED)
            munmap(base, size + guard);
        throw limit_error("no stack for another suspended handler (" + std::string(std::strerror(code)) +
                          "): too many calls are waiting inside " + "handlers; see vm.max_map_count, or set TOWLINE_STACK to fewer KiB");
    }
    return {static_cast<std::byte*>(base) + guard, size};
}

void unmap_stack(stack const& s) noexcept
{
    munmap(s.bottom - guard, s.size + guard);
}

void set_running(stack const* s, char const* name) noexcept
{
    current = {s, name};
}

#ifdef TOWLINE_SANITIZED
void watch_overflow_on_this_thread() {}
#else
namespace {

struct sigaction before;

void say(char const* text) noexcept
{
    [[maybe_unused]] auto const n = write(STDERR_FILENO, text, std::strlen(text));
}

void on_fault(int signal, siginfo_t* info, void* context)
{
    auto const* at = static_cast<std::byte const*>(info->si_addr);
    if (current.where != nullptr && at < current.where->bottom && at >= current.where->bottom - guard) {
        say("towline: the handler of ");
        say(current.name != nullptr ? current.name : "a call");
        say(" used up its stack; set TOWLINE_STACK to more KiB (now ");
        char digits[24];
        char* p = digits + sizeof digits;
        *--p = '\0';
        for (std::size_t kib = current.where->size / 1024; kib != 0; kib /= 10)
            *--p = static_cast<char>('0' + kib % 10);
        say(p);
        say("), or keep big arrays off it\n");
    }
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr)
        return before.sa_sigaction(signal, info, context);
    if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        return before.sa_handler(signal);
    // Restore the default handler: the instruction runs again and ends the process with the right signal and address.
    ::signal(signal, SIG_DFL);
}

struct signal_stack {
    signal_stack()
    {
        constexpr std::size_t size = 32768;
        memory = std::make_unique<std::byte[]>(size);
        stack_t const s{.ss_sp = memory.get(), .ss_flags = 0, .ss_size = size};
        stack_t old{};
        if (sigaltstack(nullptr, &old) == 0 && (old.ss_flags & SS_DISABLE) == 0)
            return;  // the thread has a signal stack
        installed = sigaltstack(&s, nullptr) == 0;
    }
    ~signal_stack()
    {
        stack_t const none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
        if (installed)
            sigaltstack(&none, nullptr);
    }
    std::unique_ptr<std::byte[]> memory;
    bool installed = false;
};

} // namespace

void watch_overflow_on_this_thread()
{
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        sigaction(SIGSEGV, &action, &before);
    });
    thread_local signal_stack const mine;
}
#endif

} // namespace towline::remoting
