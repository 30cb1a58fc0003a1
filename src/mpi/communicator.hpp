#pragma once
// Communicators (7.4): groups of processes that talk in a context of their own.

#include "mpi/abi.hpp"
#include "mpi/attributes.hpp"
#include "mpi/errhandler.hpp"
#include "mpi/group.hpp"
#include "mpi/info.hpp"
#include "mpi/object.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

namespace towline::mpi {

class communicator final : public object {
public:
    /// An intercommunicator where `remote` is a group.
    communicator(ref<group> local, ref<group> remote, errhandler& handler)
        : handler_(handler), hints_(make<info>()), local_(std::move(local)), remote_(std::move(remote))
    {
    }

    [[nodiscard]] int rank() const noexcept { return local_->rank(); }
    [[nodiscard]] int size() const noexcept { return local_->size(); }
    [[nodiscard]] bool is_inter() const noexcept { return static_cast<bool>(remote_); }
    [[nodiscard]] group& local() const noexcept { return *local_; }
    [[nodiscard]] group& remote() const noexcept { return *remote_; }

    [[nodiscard]] handler_slot& handler() noexcept { return handler_; }
    [[nodiscard]] mpi::error_site error_site() const
    {
        std::string const n = name();
        return {handler_.get(), "the error handler of " + (n.empty() ? "its communicator" : n), handle()};
    }
    [[nodiscard]] attribute_set& attributes() noexcept { return attributes_; }
    [[nodiscard]] info& hints() noexcept { return *hints_; }

    /// The handle that the program has for it; null while it has none.
    [[nodiscard]] MPI_Comm handle() const noexcept { return handle_.load(std::memory_order_acquire); }
    void set_handle(MPI_Comm handle) noexcept { handle_.store(handle, std::memory_order_release); }

    [[nodiscard]] std::string name() const
    {
        std::scoped_lock const lock(mutex_);
        return name_;
    }
    void set_name(std::string_view name)
    {
        std::scoped_lock const lock(mutex_);
        name_ = name;
    }

private:
    handler_slot handler_;
    attribute_set attributes_;
    ref<info> const hints_;
    ref<group> const local_;
    ref<group> const remote_;
    std::atomic<MPI_Comm> handle_{MPI_COMM_NULL};
    mutable std::mutex mutex_;
    std::string name_;
};

} // namespace towline::mpi
