#pragma once
// What this machine offers to this process: cores, memory, and which system calls the kernel permits.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace towline::base {

/// Cores in this process's affinity mask.
[[nodiscard]] std::vector<int> allowed_cpus();

/// The cgroup's limit on processor time, in cores (1.5 is one and a half), the tightest on the way up; nothing where there is none.
/// Reads cgroup v2 and v1.
[[nodiscard]] std::optional<double> cpu_quota();

/// Cores that this process and its children can keep busy: allowed_cpus, not more than the quota (rounded up); at least 1.
[[nodiscard]] unsigned usable_cores();

/// The processor as its maker calls it ("AMD EPYC 9354 32-Core Processor"); empty where nothing tells.
[[nodiscard]] std::string processor_name();
/// Hardware threads that are online, whatever this process may use of them; at least 1.
[[nodiscard]] unsigned online_cpus();

/// Bytes of memory of the machine, and the cgroup's limit on them where there is one.
[[nodiscard]] std::uint64_t total_memory();
[[nodiscard]] std::optional<std::uint64_t> memory_limit();

/// Tries to read `size` bytes at `remote` of process `pid` with process_vm_readv, as the engine does. 0 if it works, else errno.
/// The bytes are not checked; `remote` has to be readable there.
[[nodiscard]] int try_cross_memory_read(int pid, void const* remote, std::size_t size) noexcept;
/// The same against a child forked for the purpose, which is what ranks are to each other (siblings of one user): 0 or errno.
/// Costs a fork; for `towline info` and start-up, not for hot paths.
[[nodiscard]] int probe_cross_memory_attach() noexcept;

/// A file's first line without its end, of at most 4 KiB; nothing where it cannot be read. For /proc and /sys.
[[nodiscard]] std::optional<std::string> first_line(char const* path);

/// The parsers behind the cgroup functions; `read` gives a file's first line. For tests with invented machines.
namespace cgroup {
struct source {
    std::string proc_cgroup;     ///< content of /proc/self/cgroup
    std::string proc_mountinfo;  ///< content of /proc/self/mountinfo
    std::optional<std::string> (*read)(std::string const& path);
    std::string (*read_all)(std::string const& path) = nullptr;  ///< all lines; empty where there is no such file. May be null
};
/// The first call reads /proc: that the process is moved to another cgroup later is not seen. Every rank makes it before its heap begins,
/// which asks again while it allocates (core::fits).
[[nodiscard]] source this_process();
/// Of another process, as far as /proc tells; its folders are looked for where this process sees them.
[[nodiscard]] source process(int pid);
[[nodiscard]] std::optional<double> cpu_quota(source const&);
[[nodiscard]] std::optional<std::uint64_t> memory_limit(source const&);

/// A limit, and the cgroup's folder that has it.
struct bound {
    std::uint64_t limit = 0;
    std::string folder;
};
/// The tightest on the way up: bytes of memory, and processes together with threads.
[[nodiscard]] std::optional<bound> memory_bound(source const&);
[[nodiscard]] std::optional<bound> pids_bound(source const&);
/// How many processes of the cgroup (and with v2 of those below it) the kernel has killed because a limit of memory was reached; nothing
/// where it does not tell.
[[nodiscard]] std::optional<std::uint64_t> memory_kills(source const&);
} // namespace cgroup

} // namespace towline::base
