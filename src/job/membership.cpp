// Joining a job: everything on the way of instance_if_launched() runs inside malloc, so it neither allocates nor throws; failures are
// a static text and an errno that instance() turns into an exception.

#include "base/log.hpp"
#include "job/file.hpp"
#include "job/job.hpp"
#include "job/launch/death_watch.hpp"
#include "job/launch/foreign_job.hpp"
#include "towline/error.hpp"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace towline::job {

namespace {

enum class kind { ok, usage, system, version };

struct failure {
    kind what = kind::ok;
    char const* text = nullptr;
    int number = 0;  ///< errno, or the pid that has the rank
};

enum : int { outside = 0, joining = 1, member = 2 };
std::atomic<int> stage{outside};
std::atomic<bool> in_forked_child{false};
std::atomic<bool> alone{false};  ///< whatever launcher there may be

/// Whether the process has loaded the library. A shell or wrapper that never does must not claim the slot of the rank that it starts.
bool library_is_loaded() noexcept
{
    static std::atomic<unsigned long long> last_adds{0};
    struct search {
        bool found = false;
        unsigned long long adds = 0;
    } result;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* context) {
            auto& out = *static_cast<search*>(context);
            if (out.adds == 0) {
                out.adds = info->dlpi_adds;
                if (out.adds == last_adds.load(std::memory_order_relaxed))
                    return 1;  // nothing was loaded since we looked
            }
            char const* name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
            char const* slash = std::strrchr(name, '/');
            name = slash == nullptr ? name : slash + 1;
            out.found = std::strncmp(name, "libtowline.so", 13) == 0 || std::strncmp(name, "libmpi_abi.so", 13) == 0;
            return out.found ? 1 : 0;
        },
        &result);
    if (!result.found)
        last_adds.store(result.adds, std::memory_order_relaxed);
    return result.found;
}

} // namespace

struct joiner {
    membership self;

    static joiner& get() noexcept
    {
        static joiner one;  // trivial to destroy: usable until the very end
        return one;
    }

    failure map(int fd, std::uint32_t size) noexcept
    {
        void* memory = mmap(nullptr, mapped_bytes(size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED)
            return {kind::system, "mapping the control block of the job", errno};
        self.fd_ = fd;
        self.header_ = static_cast<control_header*>(memory);
        self.slots_ = reinterpret_cast<rank_slot*>(self.header_ + 1);
        return {};
    }

    failure claim(int rank) noexcept
    {
        self.rank_ = rank;
        auto& slot = self.slots_[rank];
        std::int32_t nobody = 0;
        if (!slot.pid.compare_exchange_strong(nobody, static_cast<std::int32_t>(getpid())))
            return {kind::usage, nullptr, nobody};
        slot.pid_namespace.store(pid_namespace());
        auto expected = static_cast<std::uint32_t>(rank_state::empty);
        if (!slot.state.compare_exchange_strong(expected, static_cast<std::uint32_t>(rank_state::joined)))
            return {kind::usage, "the job has ended already", 0};
        base::set_log_rank(rank);
        return {};
    }

    failure adopt(char const* name) noexcept
    {
        char const* const end = name + std::strlen(name);
        int fd = -1;
        int rank = -1;
        auto const [colon, bad_fd] = std::from_chars(name, end, fd);
        if (bad_fd != std::errc{} || colon == end || *colon != ':')
            return {kind::usage, "is not of the form DESCRIPTOR:RANK", 0};
        auto const [rest, bad_rank] = std::from_chars(colon + 1, end, rank);
        if (bad_rank != std::errc{} || rest != end || fd < 0 || rank < 0)
            return {kind::usage, "is not of the form DESCRIPTOR:RANK", 0};

        struct stat about {};
        if (fstat(fd, &about) != 0)
            return {kind::usage,
                    "names a closed descriptor: either a rank started this program (a child of a rank is not part of the job: unset "
                    "TOWLINE_JOB for it), or a wrapper between towline run and the program closed it",
                    0};
        return take(fd, rank, true);
    }

    /// `launched`: by towline run. Whoever calls gives the descriptor away where it succeeds.
    failure take(int fd, int rank, bool launched) noexcept
    {
        struct stat about {};
        if (fstat(fd, &about) != 0)
            return {kind::system, "looking at the job file", errno};
        int const seals = fcntl(fd, F_GET_SEALS);
        constexpr int needed = F_SEAL_SHRINK | F_SEAL_GROW;
        if (seals < 0 || (seals & needed) != needed || about.st_size < static_cast<off_t>(sizeof(control_header)))
            return {kind::usage, "names a descriptor that is not a job file", 0};
        void* page = mmap(nullptr, sizeof(control_header), PROT_READ, MAP_SHARED, fd, 0);
        if (page == MAP_FAILED)
            return {kind::system, "mapping the job file", errno};
        auto const& header = *static_cast<control_header const*>(page);
        char const* wrong = check_control(header, static_cast<std::uint64_t>(about.st_size));
        kind const how = header.magic == control_magic && header.version != control_version ? kind::version : kind::usage;
        std::uint32_t const size = header.size;
        bool const barrier = header.fences == base::fence_side::sleeper_fences;
        munmap(page, sizeof(control_header));
        if (wrong != nullptr)
            return {how, wrong, 0};
        if (static_cast<std::uint32_t>(rank) >= size)
            return {kind::usage, "names a rank that the job does not have", 0};
        if (barrier && !base::register_membarrier())
            return {kind::usage, "names a job that uses membarrier(2), which this process may not: start it with TOWLINE_MEMBARRIER=off",
                    0};
        // The kernel kills a rank whose launcher dies. Its own children do not inherit that.
        if (launched)
            prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (failure const f = map(fd, size); f.what != kind::ok)
            return f;
        if (failure const f = claim(rank); f.what != kind::ok) {
            munmap(self.header_, mapped_bytes(size));
            return f;
        }
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        return {};
    }
};

namespace {

/// `name`: where the job file is from.
[[noreturn]] void raise(std::string const& name, failure const& f)
{
    if (f.what == kind::system)
        throw system_error(f.text, f.number);
    if (f.what == kind::version)
        throw version_error(fmt::format("{}: {}", name, f.text));
    if (f.text == nullptr) {
        bool const lives = kill(f.number, 0) == 0 || errno == EPERM;
        throw usage_error(fmt::format("{}: the rank was taken by process {}, which {}: one program a rank", name, f.number,
                                      lives ? "is still running" : "has ended"));
    }
    throw usage_error(fmt::format("{} {}", name, f.text));
}

/// Loaded before any of the callers, so that fork and exit are watched from the start without allocating later.
struct watch {
    watch()
    {
        pthread_atfork(nullptr, nullptr, [] {
            if (stage.load(std::memory_order_relaxed) != member) {
                stage.store(outside, std::memory_order_relaxed);  // the thread that was joining is not in this process
                return;
            }
            in_forked_child.store(true, std::memory_order_relaxed);
            // What the child writes to the control block stays with the child.
            auto& m = joiner::get().self;
            mmap(&m.header(), mapped_bytes(m.header().size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, m.fd(), 0);
        });
    }
    ~watch()
    {
        // A rank that should have ended MPI first stays a member: the launcher then finds that it has ended without that.
        if (auto& m = joiner::get().self; stage.load(std::memory_order_acquire) == member && (m.self().marks.load() & mark_unfinished) == 0)
            m.leave();
    }
} const watching;

} // namespace

membership* membership::instance_if_launched() noexcept
{
    int now = stage.load(std::memory_order_acquire);
    if (now == member)
        return &joiner::get().self;
    if (now == joining)
        return nullptr;  // another thread, or an allocation of the joining itself
    int const saved = errno;
    membership* result = nullptr;
    char const* name = std::getenv("TOWLINE_JOB");
    if (name != nullptr && library_is_loaded() && stage.compare_exchange_strong(now, joining)) {
        bool const ok = joiner::get().adopt(name).what == kind::ok;
        stage.store(ok ? member : outside, std::memory_order_release);
        result = ok ? &joiner::get().self : nullptr;
    }
    errno = saved;
    return result;
}

membership& membership::instance()
{
    for (;;) {
        int now = stage.load(std::memory_order_acquire);
        if (now == member)
            return joiner::get().self;
        if (now == joining || !stage.compare_exchange_strong(now, joining)) {
            sched_yield();
            continue;
        }
        break;
    }
    auto& j = joiner::get();
    try {
        if (char const* name = std::getenv("TOWLINE_JOB"); name != nullptr && *name != '\0') {
            if (failure const f = j.adopt(name); f.what != kind::ok)
                raise(fmt::format("TOWLINE_JOB={}", name), f);
        } else if (auto foreign = alone ? nullptr : launch::foreign_job::join([&j](base::unique_fd file, int rank) {
                       if (failure const f = j.take(file.get(), rank, false); f.what != kind::ok)
                           raise("the job file of the first rank of this node", f);
                       (void)file.release();
                   })) {
            j.self.self().program.store(static_cast<std::uint32_t>(foreign->program() + 1));
            j.self.foreign_ = foreign.release();  // until the process ends
            if (j.self.header().here > 1)
                launch::watch_deaths(j.self);
        } else {
            auto file = create_job_file(1);
            if (failure const f = j.map(file.get(), 1); f.what != kind::ok)
                raise("", f);
            (void)file.release();
            (void)j.claim(0);
            base::set_log_rank(base::logs(base::log_level::debug) ? 0 : -1);
        }
    } catch (...) {
        stage.store(outside, std::memory_order_release);
        throw;
    }
    stage.store(member, std::memory_order_release);
    return j.self;
}

void membership::stay_alone() noexcept
{
    alone = true;
}

bool membership::forked() const noexcept
{
    return in_forked_child.load(std::memory_order_relaxed);
}

} // namespace towline::job
