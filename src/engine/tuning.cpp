// The table of sizes, where the file is found, and sizes in the job file.

#include "engine/tuning.hpp"

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/settings.hpp"
#include "base/unique_fd.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace towline::engine::tuning {

namespace {

using thresholds::sizes;

constexpr std::size_t never = std::size_t{1} << 40;
constexpr std::size_t longest_file = 64 << 10;

constexpr threshold all[] = {
    {"hand_over", &sizes::hand_over, 1, never,
     "a block that is given away changes owner from this size on; smaller is copied into the message"},
    {"map_lent", &sizes::map_lent, 64, never,
     "lent memory in the shared heap is read where it is from this size on; smaller is copied into the message"},
    {"inline_block", &sizes::inline_block, 64, std::size_t{1} << 24, "other blocks travel inside the message while all of it fits this"},
    {"attach_lent", &sizes::attach_lent, 1, never,
     "memory outside the shared heap is read where the sender has it from this size on; smaller is copied twice"},
    {"attach_chunk", &sizes::attach_chunk, 4096, std::size_t{1} << 30, "bytes that one system call reads from another address space"},
    {"cooperate", &sizes::cooperate, 4096, never,
     "a block from arena to arena is copied by both sides from this size on; smaller by the receiver alone"},
    {"take_alone", &sizes::take_alone, 1, never,
     "but up to this size, where it is written again and again, by the receiver alone, which takes its lines"},
    {"share_least", &sizes::share_least, 4096, std::size_t{1} << 30, "bytes of such a block that one side takes at once, at least"},
    {"share_most", &sizes::share_most, 4096, std::size_t{1} << 30, "and at most"},
    {"help_portion", &sizes::help_portion, 4096, std::size_t{1} << 40,
     "bytes that a sender copies for its receivers before it looks at its other messages again"},
    {"push_least", &sizes::push_least, 1024, never,
     "memory outside the shared heap is pushed by a sender that waits from this size on; smaller is read"},
    {"push_most", &sizes::push_most, 1, never, "and up to this size; bigger is read from the sender's address space"},
    {"pull_window", &sizes::pull_window, 4096, std::size_t{1} << 30, "bytes asked for ahead where a block comes in pieces"},
};
static_assert(std::size(all) <= most_words);
static_assert(sizeof(sizes) == std::size(all) * sizeof(std::size_t), "each size needs its line in the table");

std::string config_file()
{
    constexpr char const* name = "towline/machine.toml";
    // The base directory specification: what is not absolute is ignored.
    if (auto const config = base::setting("XDG_CONFIG_HOME"); config && config->starts_with('/'))
        return std::string(*config) + "/" + name;
    if (auto const home = base::setting("HOME"); home && home->starts_with('/'))
        return std::string(*home) + "/.config/" + name;
    return {};
}

bool says_off(std::optional<std::string_view> setting) noexcept
{
    return setting && base::parse_switch(*setting) == false;
}

/// The file's text, or errno. What is no plain file, or too long for what it should be, is EINVAL and EFBIG.
std::string text_of(char const* path, int& failed)
{
    failed = 0;
    base::unique_fd const file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat about {};
    if (!file || ::fstat(file.get(), &about) != 0) {
        failed = errno;
        return {};
    }
    if (S_ISDIR(about.st_mode) || !S_ISREG(about.st_mode)) {
        failed = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
        return {};
    }
    // No more than there is: to touch new memory costs more than to read the file. One byte more tells whether it grows.
    std::string text(std::min(static_cast<std::size_t>(about.st_size), longest_file) + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        ssize_t const got = ::read(file.get(), text.data() + size, text.size() - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            failed = errno;
        if (got <= 0)
            break;
        size += static_cast<std::size_t>(got);
    }
    if (size > longest_file)
        failed = EFBIG;
    text.resize(size);
    return text;
}

} // namespace

std::span<threshold const> table() noexcept
{
    return all;
}

machine this_machine()
{
    machine m;
    m.processor = base::processor_name();
    m.cores = base::online_cpus();
    utsname name{};
    if (::uname(&name) == 0)
        m.kernel = name.release;
    return m;
}

std::optional<std::string> file_path()
{
    auto const setting = base::setting("TOWLINE_TUNING");
    if (says_off(setting))
        return std::nullopt;
    std::string path = setting ? std::string(*setting) : config_file();
    return path.empty() ? std::nullopt : std::optional(std::move(path));
}

reading read()
{
    reading result;
    auto const path = file_path();
    if (!path) {
        result.from = says_off(base::setting("TOWLINE_TUNING")) ? source::off : source::none;
        return result;
    }
    int failed = 0;
    std::string const text = text_of(path->c_str(), failed);
    if (failed == 0)
        return parse(text, *path, this_machine());
    result.path = *path;
    if (base::setting("TOWLINE_TUNING"))
        throw usage_error("TOWLINE_TUNING='" + *path + "' cannot be read: " + std::strerror(failed) +
                          "; write the path of a file that towline tune made, or off");
    if (failed == ENOENT || failed == ENOTDIR)
        return result;
    result.from = source::broken;
    result.complaints.push_back(*path + " cannot be read: " + std::strerror(failed) + "; the shipped thresholds are used");
    return result;
}

thresholds::sizes read_and_tell()
{
    reading const r = read();
    for (auto const& line : r.complaints)
        base::log(base::log_level::warning, "{}", line);
    if (r.from == source::other)
        base::log(base::log_level::info, "{} was measured on another machine ({}, {} cores): the shipped thresholds are used", r.path,
                  r.measured.processor, r.measured.cores);
    return r.sizes;
}

words to_words(thresholds::sizes const& s) noexcept
{
    words w{};
    for (std::size_t i = 0; i < std::size(all); ++i)
        w[i] = std::uint64_t{s.*all[i].value} + 1;
    return w;
}

thresholds::sizes from_words(std::span<std::uint64_t const> w) noexcept
{
    thresholds::sizes s;
    for (std::size_t i = 0; i < std::min(std::size(all), w.size()); ++i)
        if (w[i] != 0 && w[i] - 1 >= all[i].least && w[i] - 1 <= all[i].most)
            s.*all[i].value = static_cast<std::size_t>(w[i] - 1);
    return s;
}

} // namespace towline::engine::tuning
