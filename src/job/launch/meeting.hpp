#pragma once
// How the job file gets to the ranks of a node under a launcher that is not ours (docs/wire.md, "Under other launchers"): the first rank of
// the node listens on an abstract Unix socket, whose name it tells by way of the launcher, and hands the descriptor to those who know the
// job's key.

#include "base/clock.hpp"
#include "base/unique_fd.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace towline::job::launch {

using job_key = std::array<std::byte, 32>;

/// The side of the first rank. All throw error (the text names the ranks that are missing), system_error.
class host {
public:
    /// Listens. What other users send is dropped unread.
    host();
    /// Of the socket, without the leading NUL; random.
    [[nodiscard]] std::string const& name() const noexcept { return name_; }

    struct guest {
        int rank = -1;
        std::vector<int> cpus{};  ///< on which it may run
        base::unique_fd link{};
    };
    /// Waits until each of these ranks has come, and nobody else is let in.
    [[nodiscard]] std::vector<guest> receive(std::vector<int> const& ranks, job_key const&, base::deadline const&);
    /// Gives them the job file, and waits until each is a member.
    static void hand_out(std::vector<guest>&, int job_file, base::deadline const&);

private:
    std::string name_;
    base::unique_fd listener_;
};

/// The side of the others: asks the first rank of the node for the job file. `join` gets the descriptor and makes the process a member.
/// Returns when all ranks of the node are.
void visit(std::string const& name, int rank, job_key const&, std::vector<int> const& cpus, base::deadline const&,
           std::function<void(base::unique_fd)> const& join);

} // namespace towline::job::launch
