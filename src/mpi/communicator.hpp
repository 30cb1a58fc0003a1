#pragma once
// Communicators (7.4): groups of processes whose messages have a context that no other message enters.

#include "collective/team.hpp"
#include "job/job.hpp"
#include "matching/envelope.hpp"
#include "mpi/abi.hpp"
#include "mpi/attributes.hpp"
#include "mpi/buffered.hpp"
#include "mpi/errhandler.hpp"
#include "mpi/group.hpp"
#include "mpi/info.hpp"
#include "mpi/object.hpp"
#include "mpi/partitioned.hpp"
#include "mpi/phase.hpp"
#include "mpi/topology.hpp"

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace towline::mpi {

/// What a communicator's messages are for. Each use has a separate context.
enum class plane : std::uint32_t {
    point_to_point,
    collective,  ///< the program's collective operations
    internal,    ///< of this library: agreements while communicators are made
    tagged,      ///< of this library, under tags: MPI_Finalize, calls that some members make under a tag of the program, and (with
                 ///< sources above all ranks) partitioned communication
};

class communicator final : public object {
public:
    /// An intercommunicator if `remote` is a group. All members know it by the same number, which none of their other communicators has.
    /// The topology may be null.
    communicator(ref<group> local, ref<group> remote, errhandler& handler, std::uint32_t number, ref<mpi::topology> topology = {})
        : object(one_thread), number_(number), rank_(local->rank()), peers_(remote ? remote->members() : local->members()),
          handler_(handler), hints_(make<info>()), local_(std::move(local)), remote_(std::move(remote)), topology_(std::move(topology)),
          team_(team_on(plane::collective)), house_team_(team_on(plane::internal))
    {
    }
    /// Undoes `enter`. No operation is pending, because operations hold references.
    ~communicator() override;

    /// Sets the agreed number if the communicator was made without one (0), and registers its members with the matcher. Before the first
    /// message.
    void enter(std::uint32_t number);

    [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
    [[nodiscard]] matching::context_id context(plane p) const noexcept { return number_ << 2 | static_cast<std::uint32_t>(p); }
    /// The process that a rank names in point-to-point calls: of the remote group if there is one.
    [[nodiscard]] bool has_peer(int rank) const noexcept { return static_cast<std::size_t>(static_cast<unsigned>(rank)) < peers_.size(); }
    [[nodiscard]] matching::peer peer(int rank) const noexcept { return static_cast<matching::peer>(peers_[static_cast<unsigned>(rank)]); }
    [[nodiscard]] int peers() const noexcept { return static_cast<int>(peers_.size()); }

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return local_->size(); }
    [[nodiscard]] bool is_inter() const noexcept { return static_cast<bool>(remote_); }
    [[nodiscard]] group& local() const noexcept { return *local_; }
    [[nodiscard]] group& remote() const noexcept { return *remote_; }
    /// The group that `peer` indexes: the remote group if there is one.
    [[nodiscard]] group& others() const noexcept { return remote_ ? *remote_ : *local_; }
    /// Null if it has none.
    [[nodiscard]] mpi::topology* topology() const noexcept { return topology_.get(); }

    /// Its ranks as the team of the program's collective operations.
    [[nodiscard]] collective::team& team() noexcept { return team_; }
    /// The same for the library's internal operations, in plane::internal: they never match operations of the program.
    [[nodiscard]] collective::team& house_team() noexcept { return house_team_; }

    [[nodiscard]] handler_slot& handler() noexcept { return handler_; }
    [[nodiscard]] mpi::error_site error_site() const
    {
        return {handler_.get(), "the error handler of " + described(), handle()};
    }
    [[nodiscard]] attribute_set& attributes() noexcept { return attributes_; }
    [[nodiscard]] info& hints() noexcept { return *hints_; }
    /// What the program attached for buffered sends.
    [[nodiscard]] bsend_space& buffer() noexcept { return buffer_; }
    [[nodiscard]] partitioned_pairs& pairs() noexcept { return pairs_; }

    /// The program's handle; null while it has none.
    [[nodiscard]] MPI_Comm handle() const noexcept { return handle_.load(std::memory_order_acquire); }
    void set_handle(MPI_Comm handle) noexcept { handle_.store(handle, std::memory_order_release); }

    [[nodiscard]] std::string name() const
    {
        std::scoped_lock const lock(mutex_);
        return name_;
    }
    /// For error texts: its name, or what it is.
    [[nodiscard]] std::string described() const;
    void set_name(std::string_view name)
    {
        std::scoped_lock const lock(mutex_);
        name_ = name;
    }

private:
    [[nodiscard]] collective::team team_on(plane p) const
    {
        job::control_header const& job = job::membership::instance().header();
        auto const cores = job.nodes == 1 ? static_cast<int>(job.cores) : 0;
        auto const members_of = [cores](group const& g) {
            return collective::members{g.size(),
                                       [](void const* who, int rank) {
                                           return static_cast<matching::peer>(static_cast<group const*>(who)->member(rank));
                                       },
                                       &g, cores, collective::wished_in_order()};
        };
        return remote_ ? collective::team(context(p), rank_, members_of(*local_), members_of(*remote_))
                       : collective::team(context(p), rank_, members_of(*local_));
    }

    std::uint32_t number_;
    bool entered_ = false;
    int const rank_;
    std::span<process_id const> const peers_;
    handler_slot handler_;
    bsend_space buffer_;
    partitioned_pairs pairs_;
    attribute_set attributes_;
    ref<info> const hints_;
    ref<group> const local_;
    ref<group> const remote_;
    ref<mpi::topology> const topology_;
    collective::team team_;
    collective::team house_team_;
    std::atomic<MPI_Comm> handle_{MPI_COMM_NULL};
    mutable std::mutex mutex_;
    std::string name_;
};

} // namespace towline::mpi
