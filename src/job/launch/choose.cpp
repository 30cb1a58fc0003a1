// Which launcher started this process.

#include "job/launch/launcher.hpp"

#include "base/log.hpp"
#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "job/launch/pmi.hpp"
#include "job/launch/pmix.hpp"
#include "towline/error.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/stat.h>

namespace towline::job::launch {

namespace {

enum class wish { any, none, pmi, pmix };

wish wished()
{
    return static_cast<wish>(base::setting_choice("TOWLINE_LAUNCHER", {"auto", "none", "pmi", "pmix"}, 0));
}

/// PMI_FD, if it is a socket that is open here; -1: it is something else; -2: it is not set.
int pmi_descriptor()
{
    char const* const text = std::getenv("PMI_FD");
    if (text == nullptr || *text == '\0')
        return -2;
    int fd = -1;
    auto const* const end = text + std::strlen(text);
    auto const [rest, bad] = std::from_chars(text, end, fd);
    struct stat about {};
    return bad == std::errc{} && rest == end && fd >= 0 && fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode) ? fd : -1;
}

constexpr char const* not_wanted = "TOWLINE_LAUNCHER says otherwise";

sighting look_for_pmi(wish w)
{
    sighting s{"PMI", false, "PMI_FD is not set: mpiexec of MPICH and srun --mpi=pmi2 set it"};
    int const fd = pmi_descriptor();
    if (fd == -1)
        s.why = fmt::format("PMI_FD={} is no socket that is open here", std::getenv("PMI_FD"));
    else if (fd >= 0 && w != wish::any && w != wish::pmi)
        s.why = not_wanted;
    else if (fd >= 0)
        s = {"PMI", true, fmt::format("PMI_FD={}", fd)};
    return s;
}

/// srun and mpirun set both; a part of them is left over from elsewhere.
bool pmix_is_set()
{
    return std::getenv("PMIX_NAMESPACE") != nullptr && std::getenv("PMIX_RANK") != nullptr;
}

sighting look_for_pmix(wish w, bool pmi_used)
{
    sighting s{"PMIx", false, "PMIX_NAMESPACE and PMIX_RANK are not set: mpirun of Open MPI, prterun and srun --mpi=pmix set them"};
    auto const missing = why_no_pmix();
    if (!pmix_is_set())
        s.why += missing.empty() ? "" : "; and " + missing;
    else if (w != wish::any && w != wish::pmix)
        s.why = not_wanted;
    else if (pmi_used)
        s.why = "PMI comes first";
    else
        s = {"PMIx", missing.empty(), missing.empty() ? fmt::format("PMIX_NAMESPACE={}", std::getenv("PMIX_NAMESPACE")) : missing};
    return s;
}

} // namespace

patience wished_patience()
{
    using std::chrono::milliseconds;
    auto const all = std::chrono::duration_cast<milliseconds>(base::setting_time("TOWLINE_LAUNCHER_TIMEOUT", std::chrono::minutes(5)));
    return {std::min<milliseconds>(all, std::chrono::seconds(60)), all};
}

std::vector<sighting> look()
{
    wish const w = wished();
    if (std::getenv("TOWLINE_JOB") != nullptr)
        return {{"towline run", true, "TOWLINE_JOB"}, {"PMI", false, "towline run comes first"},
                {"PMIx", false, "towline run comes first"}};
    auto const by_pmi = look_for_pmi(w);
    return {{"towline run", false, "TOWLINE_JOB is not set"}, by_pmi, look_for_pmix(w, by_pmi.used)};
}

std::unique_ptr<launcher> connect()
{
    wish const w = wished();
    if (w == wish::none)
        return nullptr;
    int const fd = pmi_descriptor();
    if (fd >= 0 && w != wish::pmix)
        return std::make_unique<pmi>(base::unique_fd(fd), wished_patience());
    if (w != wish::pmi && pmix_is_set())
        return connect_pmix(wished_patience());
    if (w == wish::pmix)
        throw usage_error("TOWLINE_LAUNCHER=pmix, but PMIX_NAMESPACE and PMIX_RANK are not set: no launcher that speaks PMIx started this "
                          "program");
    if (fd == -1)
        throw usage_error(fmt::format("PMI_FD={} names a closed descriptor or no socket: either a rank started this program (a child of a rank "
                                      "is not part of the job: unset PMI_FD for it, or set TOWLINE_LAUNCHER=none), or a wrapper between the "
                                      "launcher and the program closed it",
                                      std::getenv("PMI_FD")));
    if (w == wish::pmi)
        throw usage_error("TOWLINE_LAUNCHER=pmi, but PMI_FD is not set: no launcher that speaks PMI started this program");
    return nullptr;
}

} // namespace towline::job::launch
