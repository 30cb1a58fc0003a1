// Proving that a process is the peer that is meant.

#include "engine/peer_process.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>

#include <sys/random.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

namespace towline::engine {
namespace {

std::uint64_t random_word() noexcept
{
    std::uint64_t word = 0;
    if (::getrandom(&word, sizeof word, 0) != static_cast<ssize_t>(sizeof word)) {  // a filter may refuse it
        timespec now{};
        ::clock_gettime(CLOCK_REALTIME, &now);
        word = static_cast<std::uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15 ^ static_cast<std::uint64_t>(now.tv_sec) << 20 ^
               static_cast<std::uint64_t>(::getpid());
    }
    return word | 1;  // memory that nobody has written is zero
}

} // namespace

process_card own_process() noexcept
{
    static std::uint64_t const word = random_word();
    return {static_cast<std::int32_t>(::getpid()), 0, reinterpret_cast<std::uintptr_t>(&word), word};
}

int prove(process_card const& card, std::uint64_t own_namespace) noexcept
{
    if (card.pid <= 0 || card.word == 0 || (card.pid_namespace != 0 && own_namespace != 0 && card.pid_namespace != own_namespace))
        return ESRCH;
    std::uint64_t found = 0;
    iovec const here{&found, sizeof found};
    iovec const there{reinterpret_cast<void*>(card.address), sizeof found};
    int const saved = errno;
    ssize_t const got = ::process_vm_readv(card.pid, &here, 1, &there, 1, 0);
    int const why = got < 0 ? errno : 0;
    errno = saved;
    // Nothing at that address, or another word: another process.
    if (why == EFAULT || (why == 0 && (got != static_cast<ssize_t>(sizeof found) || found != card.word)))
        return ESRCH;
    return why;
}

std::string text_of_word(process_card const& card)
{
    return fmt::format("{:x}:{:x}", card.address, card.word);
}

bool read_word(std::string_view text, process_card& card) noexcept
{
    char const* const end = text.data() + text.size();
    auto const [colon, bad_address] = std::from_chars(text.data(), end, card.address, 16);
    if (bad_address != std::errc{} || colon == end || *colon != ':')
        return false;
    auto const [rest, bad_word] = std::from_chars(colon + 1, end, card.word, 16);
    return bad_word == std::errc{} && rest == end;
}

} // namespace towline::engine
