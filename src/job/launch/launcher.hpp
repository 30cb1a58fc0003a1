#pragma once
// A launcher that is not ours (Slurm, MPICH's mpiexec, Open MPI's mpirun): what a process asks of it. It says who the process is, keeps
// short texts that ranks leave for each other, and lets all ranks meet. One thread calls at a time.

#include "base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace towline::job::launch {

/// How long to wait: for an answer of the launcher itself, and for other ranks (TOWLINE_LAUNCHER_TIMEOUT).
struct patience {
    std::chrono::milliseconds answer;
    std::chrono::milliseconds ranks;
};
[[nodiscard]] patience wished_patience();

/// All functions but abort and finalize throw error: the launcher refused, answered something else, is gone, or was silent for too long; the
/// text names what is missing.
class launcher {
public:
    launcher() = default;
    launcher(launcher const&) = delete;
    launcher& operator=(launcher const&) = delete;
    virtual ~launcher() = default;

    /// For people: "PMI (PMI_FD=6)".
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    /// Number of this process's program among those that the launcher was given; -1: it does not say.
    [[nodiscard]] virtual int program() const = 0;
    /// The node of each rank, numbered from 0 as ranks meet them; empty: the launcher does not say.
    [[nodiscard]] virtual std::vector<std::uint32_t> nodes() = 0;

    /// Leaves a text for those who ask after the next meeting; each key once. Letters, digits, '-' and '.' in the key; no NUL in the text.
    virtual void put(std::string const& key, std::string_view text) = 0;
    /// What that rank has put before the last meeting.
    [[nodiscard]] virtual std::string get(int rank, std::string const& key) = 0;
    /// Blocks until every rank has come. `go_on` is asked now and then, and throws where waiting has no sense any more.
    virtual void meet(base::deadline const&, void (*go_on)(void const*), void const* context) = 0;

    /// The launcher is to end the job with this code. Does not wait for it.
    virtual void abort(int code, std::string_view why) noexcept = 0;
    /// This process ends in good order, and says nothing more.
    virtual void finalize() noexcept = 0;
};

/// A way to a launcher, for whoever wants to know why it is used, or not.
struct sighting {
    std::string name;
    bool used = false;
    std::string why;
};
/// Looks at the environment, and talks to nobody.
[[nodiscard]] std::vector<sighting> look();

/// The launcher that started this process; null: none did, or none is wanted (TOWLINE_LAUNCHER).
[[nodiscard]] std::unique_ptr<launcher> connect();

} // namespace towline::job::launch
