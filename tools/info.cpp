// Prints `towline info`.

#include "info.hpp"

#include "base/clock.hpp"
#include "base/event_count.hpp"
#include "base/machine.hpp"
#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "binding.hpp"
#include "distance.hpp"
#include "engine/tuning.hpp"
#include "heap/xpmem.hpp"
#include "job/file.hpp"
#include "job/job.hpp"
#include "job/launch/launcher.hpp"
#include "onload/placement.hpp"
#include "processes.hpp"
#include "stats.hpp"
#include "transport/table.hpp"
#include "towline/error.hpp"
#include "towline/version.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <hwloc.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

namespace towline::tools {

namespace {

struct fact {
    std::string section;
    std::string name;
    std::string value;  ///< what there is
    std::string note;   ///< what it means for Towline, and why
    char state = ' ';   ///< '+' used, '-' not used, ' ' a plain fact
};

class report {
public:
    void section(std::string name) { section_ = std::move(name); }
    void plain(std::string name, std::string value, std::string note = {}) { add(' ', std::move(name), std::move(value), std::move(note)); }
    void used(std::string name, std::string value, std::string note = {}) { add('+', std::move(name), std::move(value), std::move(note)); }
    void unused(std::string name, std::string value, std::string note = {})
    {
        add('-', std::move(name), std::move(value), std::move(note));
    }
    void either(bool yes, std::string name, std::string value, std::string note)
    {
        add(yes ? '+' : '-', std::move(name), std::move(value), std::move(note));
    }

    [[nodiscard]] std::vector<fact> const& facts() const { return facts_; }

private:
    void add(char state, std::string name, std::string value, std::string note)
    {
        facts_.push_back({section_, std::move(name), std::move(value), std::move(note), state});
    }
    std::string section_;
    std::vector<fact> facts_;
};

/// "[a] b c" in the files of /sys/kernel/mm: the word in brackets.
std::string chosen_word(std::string const& words)
{
    auto const begin = words.find('[');
    auto const end = words.find(']');
    return begin == words.npos || end == words.npos ? words : words.substr(begin + 1, end - begin - 1);
}

std::string plural(std::size_t number, std::string_view word)
{
    return fmt::format("{} {}{}", number, word, number == 1 ? "" : "s");
}

void topology(report& out)
{
    hwloc_topology_t map = nullptr;
    if (hwloc_topology_init(&map) != 0)
        return;
    hwloc_topology_set_type_filter(map, HWLOC_OBJ_L1CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(map) == 0) {
        auto count = [&](hwloc_obj_type_t type) { return static_cast<std::size_t>(std::max(0, hwloc_get_nbobjs_by_type(map, type))); };
        std::string caches;
        for (auto const& [type, name] : {std::pair{HWLOC_OBJ_L1CACHE, "L1"}, {HWLOC_OBJ_L2CACHE, "L2"}, {HWLOC_OBJ_L3CACHE, "L3"}})
            if (count(type) > 0)
                caches += fmt::format("{}{} {} x {}", caches.empty() ? "" : ", ", name, count(type),
                                      human_bytes(hwloc_get_obj_by_type(map, type, 0)->attr->cache.size));
        out.plain("topology",
                  fmt::format("{}, {}, {}, {}", plural(count(HWLOC_OBJ_PACKAGE), "package"), plural(count(HWLOC_OBJ_NUMANODE), "NUMA node"),
                              plural(count(HWLOC_OBJ_CORE), "core"), plural(count(HWLOC_OBJ_PU), "hardware thread")));
        if (!caches.empty())
            out.plain("caches", caches);
    }
    hwloc_topology_destroy(map);
}

void distances(report& out, std::vector<int> const& processors)
{
    auto const found = measure_distances(processors);
    if (found.empty())
        return out.plain("distance of cores", processors.size() < 2 ? "one core" : "not measured",
                         processors.size() < 2 ? "" : "other programs have the processors");
    auto const [least, most] = std::ranges::minmax_element(found, {}, &distance::ns);
    auto const pair = [](distance const& d) { return fmt::format("processors {} and {}", d.from, d.to); };
    bool const same = least->name() == most->name();
    out.plain("distance of cores",
              found.size() == 1 ? fmt::format("{:.0f} ns", least->ns) : fmt::format("{:.0f} to {:.0f} ns", least->ns, most->ns),
              fmt::format("{}; one way of a cache line: {}", same ? std::string(least->name()) : "shared caches and separate cores",
                          found.size() == 1 ? pair(*least) : fmt::format("nearest {}, farthest {}", pair(*least), pair(*most))));
    out.plain("ways of messages", std::string(base::setting("TOWLINE_WAY").value_or("auto")),
              base::setting("TOWLINE_WAY").value_or("auto") != "auto" ? "by TOWLINE_WAY"
              : most->ns <= shared_most_ns
                  ? "each rank measures what they cost; where caches are shared, ways differ little"
                  : "each rank measures what they cost; between separate cores rewritten data mostly go by relay");
}

void processor(report& out)
{
    out.section("processor");
    auto const allowed = base::allowed_cpus();
    out.plain("cores allowed", fmt::format("{}", allowed.size()), "what `--bind core` goes round; from the affinity mask");
    auto const quota = base::cpu_quota();
    out.plain("cgroup quota", quota ? fmt::format("{:.4g} cores", *quota) : "none");
    out.used("cores counted on", fmt::format("{}", base::usable_cores()), "more ranks than this wait by sleeping instead of spinning");
    std::string helpers;
    bool const helped = onload::explain(onload::requested(), base::usable_cores(), helpers);
    out.either(helped, "on-loading", helped ? "on" : "off", helpers);
    bool const in_order = base::setting_switch("TOWLINE_DETERMINISTIC", false);
    out.either(in_order, "reductions", in_order ? "in one order" : "in any order",
               in_order ? "by TOWLINE_DETERMINISTIC: the same bits whatever the size and the way"
                        : "as messages; TOWLINE_DETERMINISTIC=on gives the same bits whatever the size and the way");
    topology(out);
    distances(out, allowed);
    if (base::ticks_are_tsc())
        out.used("clock", fmt::format("time-stamp counter, {:.3f} GHz", base::ticks_per_ns()));
    else
        out.unused("clock", "clock_gettime", "the time-stamp counter is not invariant");
}

void memory(report& out)
{
    out.section("memory");
    out.plain("memory", human_bytes(base::total_memory()));
    auto const bound = base::cgroup::memory_bound(base::cgroup::this_process());
    out.plain("cgroup limit", bound ? human_bytes(bound->limit) : "none",
              bound ? bound->folder + ": the launcher says so where a rank is killed for it" : "");
    base::unique_fd file;
    std::string refused;
    try {
        file = job::create_job_file(1);
    } catch (error const& e) {
        refused = e.what();
    }
    out.either(static_cast<bool>(file), "sealed memory file", file ? "works" : "refused",
               file ? "holds all that ranks share" : refused + ": nothing can run");
    if (file) {
        job::control_view const view(file.get());
        out.used("segment", human_bytes(view.header().segment_bytes),
                 fmt::format("of address space a rank{}; costs memory only where touched",
                             base::setting("TOWLINE_SEGMENT") ? ", by TOWLINE_SEGMENT" : ", set TOWLINE_SEGMENT to change it"));
    }
    auto const shmem = base::first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    std::string const word = shmem ? chosen_word(*shmem) : "";
    bool const huge = word == "always" || word == "within_size" || word == "advise" || word == "force";
    out.either(huge, "huge pages", shmem ? fmt::format("shmem: {}", word) : "none",
               huge ? "first touches and attaching are several times cheaper"
                    : shmem ? "not used: needs `echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled` by root"
                            : "not used: the kernel has none");
    struct statvfs shm {};
    if (statvfs("/dev/shm", &shm) == 0)
        out.unused("/dev/shm", human_bytes(static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize),
                   "not needed: its size does not matter");
    else
        out.unused("/dev/shm", "none", "not needed");
}

void xpmem(report& out)
{
    if (!base::setting_switch("TOWLINE_XPMEM", true))
        return out.unused("XPMEM", "off", "by TOWLINE_XPMEM");
    int failed = 0;
    auto device = heap::open_xpmem(failed);
    heap::xpmem_device::number segment = 0;
    if (device != nullptr && (failed = device->make(segment)) == 0) {
        device->remove(segment);
        return out.used("XPMEM", "works",
                        "memory outside the shared heap is attached, and moves with one copy and no system call; not with --keep-going");
    }
    if (failed == ENOENT)
        return out.unused("XPMEM", "absent", "no /dev/xpmem; not needed: the shared heap and cross-memory attach do without");
    out.unused("XPMEM", "refused",
               fmt::format("/dev/xpmem: {}{}", std::strerror(failed), failed == EACCES ? "; ask for a udev rule with mode 0666" : ""));
}

void kernel(report& out)
{
    out.section("kernel");
    utsname name{};
    uname(&name);
    out.plain("version", fmt::format("{} {}", name.sysname, name.release));
    bool const wanted = base::setting_switch("TOWLINE_MEMBARRIER", true);
    bool const barrier = wanted && base::register_membarrier();
    out.either(barrier, "membarrier",
               barrier  ? "works"
               : wanted ? "refused"
                        : "off",
               barrier  ? "a notifier pays nothing while nobody sleeps"
               : wanted ? "not used: each notify pays a fence, about 8 ns"
                        : "by TOWLINE_MEMBARRIER");
    int const refused = base::probe_cross_memory_attach();
    auto const yama = base::first_line("/proc/sys/kernel/yama/ptrace_scope");
    std::string why;
    if (refused != 0)
        why = yama && *yama != "0" ? fmt::format("refused by Yama (ptrace_scope {}), ", *yama)
                                   : fmt::format("refused ({}), ", std::strerror(refused));
    out.either(refused == 0, "cross-memory attach", refused == 0 ? "works" : "refused",
               refused == 0 ? "memory outside the shared heap moves with one copy"
                            : why + "memory outside the shared heap is copied twice");
    out.plain("Yama", yama ? fmt::format("ptrace_scope {}", *yama) : "absent");
    xpmem(out);
}

void towline_itself(report& out)
{
    out.section("towline");
    auto const [major, minor, patch] = library_version();
    out.plain("version", fmt::format("{}.{}.{}", major, minor, patch));
    auto const library = preload_library();
    bool const on = base::setting_switch("TOWLINE_HEAP", true);
    out.either(!library.empty() && on, "malloc", library.empty() ? "absent" : on ? "works" : "off",
               library.empty() ? "libtowline-malloc.so is not beside the library: big blocks of malloc stay outside the shared heap"
               : on            ? fmt::format("big blocks of malloc lie in the shared heap under towline run, by {}", library)
                               : "by TOWLINE_HEAP");
    bool foreign = false;
    for (auto const& s : job::launch::look()) {
        out.either(s.used, fmt::format("launcher {}", s.name), s.used ? "works" : "not here", s.why);
        foreign = foreign || (s.used && s.name != "towline run");
    }
    if (foreign)
        out.unused("malloc here", "not shared",
                   "this launcher preloads nothing: big blocks of malloc are shared under towline run only, rma_vector and rma_allocator "
                   "everywhere");
    job::membership::stay_alone();  // transports look for a job, and this process is not to be a rank
    for (auto const& entry : transport::table()) {
        std::string const name = fmt::format("transport {}", entry.name);
        try {
            auto const component = entry.open();
            auto const& can = component->caps();
            out.used(name, "works",
                     fmt::format("{}; messages of {}{}; about {:.0f} ns", entry.summary, human_bytes(can.max_eager),
                                 can.can_map   ? ", big blocks are read in place"
                                 : can.can_get ? ", big blocks are fetched"
                                               : "",
                                 can.latency_ns));
        } catch (error const& e) {
            out.unused(name, "refused", fmt::format("{}; {}", entry.summary, e.what()));
        }
    }
}

void thresholds(report& out)
{
    out.section("thresholds");
    namespace tuning = engine::tuning;
    auto const r = tuning::read();
    auto const here = tuning::this_machine();
    std::string const place = r.path.empty() ? "its file: neither XDG_CONFIG_HOME nor HOME is set" : r.path;
    switch (r.from) {
    case tuning::source::none: out.unused("file", "none", "towline tune measures this machine, and writes " + place); break;
    case tuning::source::off: out.unused("file", "off", "by TOWLINE_TUNING"); break;
    case tuning::source::broken: out.unused("file", "refused", r.complaints.front()); break;
    case tuning::source::other:
        out.unused("file", "another machine",
                   fmt::format("{}: measured on {} with {}, not on {} with {}; towline tune measures this one", r.path,
                               r.measured.processor.empty() ? "a processor it does not name" : r.measured.processor,
                               plural(r.measured.cores, "core"), here.processor, plural(here.cores, "core")));
        break;
    case tuning::source::file:
        out.used("file", "measured here",
                 fmt::format("{}, {}{}", r.path, r.when.empty() ? "at some time" : r.when,
                             r.measured.kernel == here.kernel
                                 ? ""
                                 : fmt::format(", with kernel {}: towline tune measures anew", r.measured.kernel)));
        for (auto const& line : r.complaints)
            out.unused("refused", "", line);
    }
    for (std::size_t i = 0; i < tuning::table().size(); ++i) {
        auto const& t = tuning::table()[i];
        std::size_t const value = r.sizes.*t.value;
        bool const given = i < r.given.size() && r.given[i];
        out.plain(t.name, fmt::format("{} {}", value, value == 1 ? "byte" : "bytes"),
                  fmt::format("{}: {}", given ? "file" : "default", t.meaning));
    }
}

void settings(report& out)
{
    out.section("settings");
    for (auto const& s : base::settings_table()) {
        if (auto const value = base::setting(s.name))
            out.used(s.name, std::string(*value), s.meaning);
        else
            out.plain(s.name, s.otherwise, s.meaning);
    }
    for (auto const& line : base::unknown_settings())
        out.unused("unknown", "", line);
}

std::string text_of(std::vector<fact> const& facts)
{
    std::string text;
    std::string section;
    std::size_t name = 0;  // widths of the section's columns
    std::size_t value = 0;
    for (auto const& f : facts) {
        if (f.section != section) {
            text += fmt::format("{}{}\n", section.empty() ? "" : "\n", f.section);
            section = f.section;
            name = value = 0;
            for (auto const& other : facts) {
                if (other.section != section)
                    continue;
                name = std::max(name, other.name.size());
                if (!other.note.empty() && other.value.size() < 40)
                    value = std::max(value, other.value.size());
            }
        }
        std::string const line = fmt::format("  {} {:<{}}  {:<{}}  {}", f.state, f.name, name, f.value, f.note.empty() ? 0 : value, f.note);
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text + "\n+ used   - not used\n";
}

std::string json_of(std::vector<fact> const& facts)
{
    nlohmann::ordered_json all;
    for (auto const& f : facts) {
        nlohmann::ordered_json one{{"value", f.value}};
        if (f.state != ' ')
            one["used"] = f.state == '+';
        if (!f.note.empty())
            one["note"] = f.note;
        all[f.section][f.name] = std::move(one);
    }
    return all.dump(2) + "\n";
}

} // namespace

int info(bool json)
{
    base::check_settings();
    report out;
    processor(out);
    memory(out);
    kernel(out);
    towline_itself(out);
    thresholds(out);
    settings(out);
    fmt::print("{}", json ? json_of(out.facts()) : text_of(out.facts()));
    return 0;
}

} // namespace towline::tools
