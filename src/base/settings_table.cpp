// The table of all settings.

#include "base/settings_table.hpp"

#include "base/checking.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <optional>
#include <sched.h>
#include <unistd.h>
#include <utility>

namespace towline::base {

namespace {

bool is_anything(std::string_view)
{
    return true;
}

bool is_switch(std::string_view text)
{
    return parse_switch(text).has_value();
}

bool is_size(std::string_view text)
{
    return parse_bytes(text).has_value();
}

bool is_segment(std::string_view text)
{
    auto const bytes = parse_bytes(text);
    return bytes && std::has_single_bit(*bytes) && *bytes >= std::uint64_t{16} << 20;
}

bool is_stack(std::string_view text)
{
    auto const bytes = parse_bytes(text, 1024);
    return bytes && *bytes >= std::uint64_t{16} << 10 && *bytes <= std::uint64_t{1} << 30;
}

std::optional<int> number_of(std::string_view text)
{
    int value = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

bool is_number_of_workers(std::string_view text)
{
    auto const n = number_of(text);
    return n && *n >= 1 && *n <= 1024;
}

/// Whether a thread of this process may run on that core. Only the kernel knows: a cgroup may also exclude cores, beside the affinity
/// mask.
bool is_core_here(int core)
{
    cpu_set_t before;
    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) != 0)
        return false;
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    CPU_SET(static_cast<std::size_t>(core), &wanted);
    bool const may = sched_setaffinity(0, sizeof wanted, &wanted) == 0;
    sched_setaffinity(0, sizeof before, &before);
    return may;
}

bool is_onload(std::string_view text)
{
    if (auto const core = number_of(text))
        return is_core_here(*core);
    return text == "off" || text == "on" || text == "auto";
}

bool is_lanes(std::string_view text)
{
    return find_word(text, {"on", "off", "first"}).has_value();
}

bool is_way(std::string_view text)
{
    return find_word(text, {"auto", "direct", "relay", "relay-past"}).has_value();
}

bool is_static_data(std::string_view text)
{
    return find_word(text, {"off", "program", "libraries"}).has_value();
}

bool is_layout(std::string_view text)
{
    return find_word(text, {"pack", "pipelined", "basic", "memo", "optimized"}).has_value();
}

bool is_list_of_transports(std::string_view text)
{
    if (text.starts_with('^'))
        text.remove_prefix(1);
    while (!text.empty()) {
        auto const word = text.substr(0, text.find(','));
        if (word != "self" && word != "shm" && word != "datagram")
            return false;
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return true;
}

bool is_security(std::string_view text)
{
    return find_word(text, {"authenticate", "encrypt"}).has_value();
}

bool is_level(std::string_view text)
{
    return find_word(text, {"off", "error", "warning", "info", "debug"}).has_value();
}

bool is_patience(std::string_view text)
{
    auto const time = parse_time_or_off(text);
    return time && *time >= std::chrono::milliseconds(500);
}

bool is_launcher(std::string_view text)
{
    return find_word(text, {"auto", "none", "pmi", "pmix"}).has_value();
}

bool is_time(std::string_view text)
{
    auto const time = parse_time(text);
    return time && *time >= std::chrono::milliseconds(1);
}

bool is_list_of_checks(std::string_view text)
{
    return parse_checks(text).has_value();
}

constexpr char const* on_off = "on or off";
constexpr char const* size = "a size: bytes, or a number with K, M, G or T behind it";

constexpr std::array table{
    setting_entry{"TOWLINE_HEAP", on_off, "on", "whether malloc takes big blocks from the shared heap", is_switch},
    setting_entry{"TOWLINE_HEAP_THRESHOLD", size, "32K", "from this size on malloc takes from the shared heap", is_size},
    setting_entry{"TOWLINE_HEAP_COMMIT", on_off, "on where vm.overcommit_memory is 2, else off",
                  "whether the shared heap allocates the pages of a block when it hands the block out", is_switch},
    setting_entry{"TOWLINE_HEAP_KEEP", size, "a quarter of the memory, shared among the ranks; 64M at least",
                  "freed shared memory that stays warm in each rank", is_size},
    setting_entry{"TOWLINE_STATIC_DATA", "off, program or libraries", "program", "whose static data lies in the shared heap", is_static_data},
    setting_entry{"TOWLINE_MAX_MESSAGE", size, "1T", "bytes that decoding one call or result may allocate", is_size},
    setting_entry{"TOWLINE_SEGMENT", "a size that is a power of two, from 16M on", "64G, or four times the memory if that is more",
                  "address space of each rank's shared memory", is_segment},
    setting_entry{"TOWLINE_WORKERS", "a whole number from 1 to 1024", "cores / ranks, 1 at least", "threads that run calls",
                  is_number_of_workers},
    setting_entry{"TOWLINE_STACK", "a size from 16K to 1G: KiB, or a number with K, M or G behind it", "256K",
                  "stack of each call on a worker", is_stack},
    setting_entry{"TOWLINE_ONLOAD", "off, on, auto or the number of a core that this process may use", "off",
                  "helper threads that copy big blocks and make progress", is_onload},
    setting_entry{"TOWLINE_MEMBARRIER", on_off, "on", "whether waking uses membarrier(2) instead of a fence", is_switch},
    setting_entry{"TOWLINE_LANES", "on, off or first", "on", "whether collective operations go over shared memory", is_lanes},
    setting_entry{"TOWLINE_WAY", "auto, direct, relay or relay-past", "auto", "how messages of 1.5 KiB to 1 MiB travel", is_way},
    setting_entry{"TOWLINE_LAYOUT", "pack, pipelined, basic, memo or optimized", "optimized", "how messages of derived datatypes travel",
                  is_layout},
    setting_entry{"TOWLINE_TRANSPORT", "a list with commas of self, shm, datagram, or ^ in front of those to leave out",
                  "all that are needed", "what carries messages between ranks", is_list_of_transports},
    setting_entry{"TOWLINE_INTERFACES", "a list", "one network that all machines share",
                  "how machines of a job are reached, by all of them: interfaces, addresses, 10.0.0.0/24", is_anything},
    setting_entry{"TOWLINE_SECURITY", "authenticate or encrypt", "authenticate", "how packets between machines are protected", is_security},
    setting_entry{"TOWLINE_LINK_TIMEOUT", "off, or a time from 0.5 s on: seconds, or a number with ms, s, m or h behind it", "60",
                  "when a rank on another machine has answered no packet for so long, it is given up", is_patience},
    setting_entry{"TOWLINE_LAUNCHER", "auto, none, pmi or pmix", "auto",
                  "whose job a process joins that towline run did not start", is_launcher},
    setting_entry{"TOWLINE_LAUNCHER_TIMEOUT", "a time from 1 ms on: seconds, or a number with ms, s, m or h behind it", "5m",
                  "how long other launchers, and ranks that they start, are waited for", is_time},
    setting_entry{"TOWLINE_DETERMINISTIC", on_off, "off", "whether reductions combine in one order, whatever way they go", is_switch},
    setting_entry{"TOWLINE_WATCHDOG", "off, or a time from 0.5 s on: seconds, or a number with ms, s, m or h behind it", "60",
                  "when nothing has moved for so long, tells who waits for whom", is_patience},
    setting_entry{"TOWLINE_WATCHDOG_ABORT", on_off, "off", "whether the watchdog then ends the job, with exit code 124", is_switch},
    setting_entry{"TOWLINE_TUNING", "the path of a file, or off", "machine.toml in $XDG_CONFIG_HOME/towline (~/.config/towline)",
                  "sizes that towline tune measured on this machine", is_anything},
    setting_entry{"TOWLINE_XPMEM", on_off, "on", "whether memory outside the shared heap is attached by /dev/xpmem", is_switch},
    setting_entry{"TOWLINE_CHECK", "on, off, or a list with commas of collectives, types", "off", "checks that cost time",
                  is_list_of_checks},
    setting_entry{"TOWLINE_LOG", "one of off, error, warning, info, debug", "warning", "what the library says on standard error", is_level},
};

/// Whether a variable that is no setting was set by the launcher for its ranks, by the tests, or by the build.
bool is_ours(std::string_view name)
{
    constexpr std::array<std::string_view, 6> names{"TOWLINE_JOB",   "TOWLINE_RANK",     "TOWLINE_SIZE",
                                                    "TOWLINE_CORES", "TOWLINE_SANITIZE", "TOWLINE_WRITE_GOLDEN"};
    return std::ranges::find(names, name) != names.end() || name.starts_with("TOWLINE_TEST_") || name.starts_with("TOWLINE_BENCH_") ||
           name.starts_with("TOWLINE_FUZZ_");
}

/// Edit distance: letters to insert, remove or replace to turn one into the other.
std::size_t distance(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t k = 0; k < b.size(); ++k) {
            std::size_t const changed = diagonal + (a[i] == b[k] ? 0 : 1);
            diagonal = row[k + 1];
            row[k + 1] = std::min({changed, row[k] + 1, row[k + 1] + 1});
        }
    }
    return row.back();
}

std::string refusal(setting_entry const& s, std::string_view value)
{
    return fmt::format("{}='{}' is not {}", s.name, value, s.form);
}

/// The name and value of each variable whose name begins with TOWLINE_; each name once.
template <class Function>
void for_each_of_ours(variables all, Function&& function)
{
    std::vector<std::string_view> seen;
    for (std::string_view const text : all) {
        auto const equals = text.find('=');
        std::string_view const name = text.substr(0, equals);
        if (equals == text.npos || !name.starts_with("TOWLINE_") || std::ranges::find(seen, name) != seen.end())
            continue;
        seen.push_back(name);
        function(name, text.substr(equals + 1));
    }
}

} // namespace

std::span<setting_entry const> settings_table() noexcept
{
    return table;
}

variables environment() noexcept
{
    std::size_t n = 0;
    while (environ != nullptr && environ[n] != nullptr)
        ++n;
    return {environ, n};
}

void check_settings(variables all)
{
    std::string wrong;
    for_each_of_ours(all, [&](std::string_view name, std::string_view value) {
        auto const s = std::ranges::find(table, name, &setting_entry::name);
        if (s != table.end() && !value.empty() && !s->fits(value))
            wrong += (wrong.empty() ? "" : "\n") + refusal(*s, value);
    });
    if (!wrong.empty())
        throw usage_error(wrong);
}

void check_setting(std::string_view name)
{
    auto const s = std::ranges::find(table, name, &setting_entry::name);
    auto const value = setting(s->name);
    if (value && !s->fits(*value))
        throw usage_error(refusal(*s, *value));
}

std::vector<std::string> unknown_settings(variables all)
{
    std::vector<std::string> lines;
    for_each_of_ours(all, [&](std::string_view name, std::string_view) {
        if (is_ours(name) || std::ranges::find(table, name, &setting_entry::name) != table.end())
            return;
        auto const far = [&](setting_entry const& s) { return distance(name, s.name); };
        lines.push_back(fmt::format("{} is set, and is no setting of Towline; the nearest is {}", name,
                                    std::ranges::min_element(table, {}, far)->name));
    });
    return lines;
}

void tell_unknown_settings()
{
    static bool const told = [] {
        for (auto const& line : unknown_settings())
            log(log_level::warning, "{}", line);
        return true;
    }();
    (void)told;
}

} // namespace towline::base
