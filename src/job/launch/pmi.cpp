// Speaks PMI-1: one line asks, one line answers.

#include "job/launch/pmi.hpp"

#include "base/printable.hpp"
#include "job/file.hpp"
#include "job/launch/process_mapping.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

namespace towline::job::launch {

namespace {

constexpr std::size_t longest_line = 64 << 10;
constexpr std::size_t most_pieces = 64;
constexpr std::size_t head_of_value = 8;  // "PIECES." in front of the first piece

/// PMI_RANK or PMI_SIZE; -1 where it is not a number.
int number_of_variable(char const* name)
{
    char const* const text = std::getenv(name);
    if (text == nullptr)
        return -1;
    int value = -1;
    auto const* const end = text + std::strlen(text);
    auto const [rest, bad] = std::from_chars(text, end, value);
    return bad == std::errc{} && rest == end ? value : -1;
}

std::string as_digits(std::string_view text)
{
    std::string digits;
    for (char const c : text)
        digits += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    return digits;
}

bool from_digits(std::string_view digits, std::string& text)
{
    if (digits.size() % 2 != 0)
        return false;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        unsigned value = 0;
        if (std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16).ptr != digits.data() + i + 2)
            return false;
        text += static_cast<char>(value);
    }
    return true;
}

} // namespace

pmi::pmi(base::unique_fd fd, patience p)
    : fd_(std::move(fd)), patience_(p), rank_(number_of_variable("PMI_RANK")), size_(number_of_variable("PMI_SIZE"))
{
    if (rank_ < 0 || size_ < 1 || rank_ >= size_ || size_ > static_cast<int>(max_ranks))
        throw usage_error(fmt::format("the launcher gave this process a PMI_FD, but no PMI_RANK and PMI_SIZE that make sense (up to {} "
                                      "ranks): unset PMI_FD, or start it with mpiexec, srun or towline run",
                                      max_ranks));
    fcntl(fd_.get(), F_SETFD, FD_CLOEXEC);  // a child is not this rank
    ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init");
    auto const limits = ask("cmd=get_maxes\n", "maxes");
    if (number(limits, "keylen_max", "get_maxes") < 40 || number(limits, "vallen_max", "get_maxes") < 64)
        throw error(fmt::format("{}: its keys or values are too short for use", name()));
    piece_ = static_cast<std::size_t>(std::min(number(limits, "vallen_max", "get_maxes"), 1024l)) - head_of_value - 2;
    space_ = ask("cmd=get_my_kvsname\n", "my_kvsname")["kvsname"];
    if (space_.empty())
        throw error(fmt::format("{}: it does not name its key-value space (answer to get_my_kvsname)", name()));
    program_ = static_cast<int>(number(ask("cmd=get_appnum\n", "appnum"), "appnum", "get_appnum"));
}

std::string pmi::name() const
{
    return fmt::format("PMI-1 (PMI_FD={})", fd_.get());
}

std::vector<std::uint32_t> pmi::nodes()
{
    std::string text;
    try {
        text = raw("PMI_process_mapping");
    } catch (error const&) {
        return {};  // it is no part of PMI-1, though all tell
    }
    auto found = parse_process_mapping(text, static_cast<std::uint32_t>(size_));
    return found ? *found : std::vector<std::uint32_t>();
}

void pmi::put(std::string const& key, std::string_view text)
{
    std::string const digits = as_digits(text);
    std::size_t const pieces = std::max<std::size_t>(1, (digits.size() + piece_ - 1) / piece_);
    if (pieces > most_pieces)
        throw limit_error(fmt::format("{}: a text of {} bytes is too long for it", name(), text.size()));
    for (std::size_t i = 0; i < pieces; ++i) {
        auto const part = std::string_view(digits).substr(i * piece_, piece_);
        std::string const head = i == 0 ? fmt::format("{}.", pieces) : "";
        ask(fmt::format("cmd=put kvsname={} key={}-{}.{} value={}{}\n", space_, key, rank_, i, head, part), "put_result");
    }
}

std::string pmi::get(int rank, std::string const& key)
{
    std::string digits;
    std::size_t pieces = 1;
    for (std::size_t i = 0; i < pieces; ++i) {
        std::string part = raw(fmt::format("{}-{}.{}", key, rank, i));
        if (i == 0) {
            auto const* const end = part.data() + part.size();
            auto const [rest, bad] = std::from_chars(part.data(), end, pieces);
            if (bad != std::errc{} || rest == end || *rest != '.' || pieces < 1 || pieces > most_pieces)
                throw error(fmt::format("{}: '{}' of rank {} is not of Towline's form", name(), key, rank));
            part.erase(0, static_cast<std::size_t>(rest - part.data()) + 1);
        }
        digits += part;
    }
    std::string text;
    if (!from_digits(digits, text))
        throw error(fmt::format("{}: '{}' of rank {} is not of Towline's form", name(), key, rank));
    return text;
}

void pmi::meet(base::deadline const& end, void (*go_on)(void const*), void const* context)
{
    send("cmd=barrier_in\n", base::deadline(patience_.answer));
    receive("barrier_out", "barrier_in", end, go_on, context);
}

void pmi::abort(int code, std::string_view) noexcept
{
    try {
        send(fmt::format("cmd=abort exitcode={}\n", code), base::deadline(std::chrono::seconds(1)));
    } catch (std::exception const&) {
        // the launcher sees the exit code
    }
}

void pmi::finalize() noexcept
{
    try {
        ask("cmd=finalize\n", "finalize_ack");
    } catch (std::exception const&) {
        // it sees the process end
    }
    fd_.reset();
}

std::string pmi::raw(std::string const& key)
{
    return ask(fmt::format("cmd=get kvsname={} key={}\n", space_, key), "get_result")["value"];
}

pmi::answer pmi::ask(std::string const& line, std::string_view expected)
{
    base::deadline const end(patience_.answer);
    send(line, end);
    return receive(expected, std::string_view(line).substr(4, line.find_first_of(" \n") - 4), end);
}

long pmi::number(answer const& a, std::string_view key, std::string_view asked) const
{
    long value = 0;
    auto const found = a.find(key);
    if (found != a.end()) {
        auto const* const end = found->second.data() + found->second.size();
        auto const [rest, bad] = std::from_chars(found->second.data(), end, value);
        if (bad == std::errc{} && rest == end)
            return value;
    }
    throw error(fmt::format("{}: its answer to {} has no number {}", name(), asked, key));
}

void pmi::send(std::string const& line, base::deadline const& end)
{
    for (std::size_t done = 0; done < line.size();) {
        ssize_t const n = ::send(fd_.get(), line.data() + done, line.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            done += static_cast<std::size_t>(n);
        } else if (errno == EAGAIN || errno == EINTR) {
            pollfd writable{fd_.get(), POLLOUT, 0};
            poll(&writable, 1, 100);
            if (end.passed())
                throw error(fmt::format("{}: the launcher takes nothing", name()));
        } else {
            throw system_error(fmt::format("{}: speaking to the launcher", name()), errno);
        }
    }
}

pmi::answer pmi::receive(std::string_view expected, std::string_view asked, base::deadline const& end, void (*go_on)(void const*),
                         void const* context)
{
    std::size_t line = 0;
    while ((line = read_.find('\n')) == read_.npos) {
        if (read_.size() > longest_line)
            throw error(fmt::format("{}: its answer to {} has no end", name(), asked));
        if (end.passed())
            throw error(fmt::format("{}: the launcher did not answer {} in time: {} (TOWLINE_LAUNCHER_TIMEOUT)", name(), asked,
                                    go_on != nullptr ? "other ranks have not come" : "nothing came"));
        pollfd readable{fd_.get(), POLLIN, 0};
        auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(end.left()).count() + 1;
        poll(&readable, 1, static_cast<int>(std::min<long>(left, 100)));
        if (go_on != nullptr)
            go_on(context);
        char bytes[4096];
        ssize_t const n = recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0)
            read_.append(bytes, static_cast<std::size_t>(n));
        else if (n == 0)
            throw error(fmt::format("{}: the launcher has gone, and left {} without an answer", name(), asked));
        else if (errno != EAGAIN && errno != EINTR)
            throw system_error(fmt::format("{}: waiting for the launcher's answer to {}", name(), asked), errno);
    }
    std::string const text = read_.substr(0, line);
    read_.erase(0, line + 1);
    answer a;
    for (std::size_t at = 0; at < text.size();) {
        auto const stop = std::min(text.find(' ', at), text.size());
        auto const equals = text.find('=', at);
        if (equals < stop)
            a[text.substr(at, equals - at)] = text.substr(equals + 1, stop - equals - 1);
        at = stop + 1;
    }
    if (a["cmd"] != expected)
        throw error(fmt::format("{}: the launcher's answer to {} is '{:.200}', and not {}", name(), asked, base::printable(text),
                                expected));
    if (auto const rc = a.find("rc"); rc != a.end() && rc->second != "0")
        throw error(fmt::format("{}: the launcher refuses {}: '{:.200}'", name(), asked, base::printable(text)));
    return a;
}

} // namespace towline::job::launch
