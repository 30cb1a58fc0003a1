// Nonblocking duplication of communicators (7.4.2).

#include "mpi/calls.hpp"
#include "mpi/communicator_making.hpp"
#include "mpi/entry.hpp"
#include "mpi/process.hpp"
#include "mpi/request.hpp"

#include <new>

namespace towline::mpi {
namespace {

/// The new communicator has a handle from the start, and is usable when the leader's number has arrived.
class duplication final : public activity {
public:
    duplication(communicator& parent, ref<communicator> made) : parent_(parent), made_(std::move(made))
    {
        std::uint32_t const sequence = parent.house_team().next_sequence();
        party const members(parent);
        if (members.leads()) {
            number_pool& pool = process::instance().numbers().pool();
            number_ = pool.reserve();
            pool.settle(number_, members.size());
        }
        members.broadcast(agreement_.schedule(), &number_, sizeof number_);
        start_agreement(agreement_, parent, sequence);
    }

    bool done() override
    {
        if (!agreement_.done())
            return false;
        if (!entered_)
            enter();
        return true;
    }
    int result(MPI_Status& status) override
    {
        set_empty(&status);
        return code_;
    }

private:
    void enter()
    {
        entered_ = true;
        code_ = agreement_code(agreement_.result());
        if (code_ == MPI_SUCCESS && number_ == communicator_numbers::none)
            code_ = MPI_ERR_OTHER;
        try {
            if (code_ == MPI_SUCCESS)
                made_->enter(number_);
        } catch (std::bad_alloc const&) {
            code_ = MPI_ERR_NO_MEM;
        }
        // After a failure the program's handle is not usable.
        if (MPI_Comm const handle = made_->handle(); code_ != MPI_SUCCESS && handle != MPI_COMM_NULL)
            (void)table_of<MPI_Comm>.remove(bits_of(handle));
        made_ = {};
        parent_ = {};
    }

    ref<communicator> parent_;
    ref<communicator> made_;
    std::uint32_t number_ = communicator_numbers::none;
    collective::collective_request agreement_;
    bool entered_ = false;
    int code_ = MPI_SUCCESS;
};

void duplicate(MPI_Comm comm, info const* hints, MPI_Comm* newcomm, MPI_Request* handle)
{
    communicator& c = get(comm, "comm");
    *newcomm = MPI_COMM_NULL;
    *handle = MPI_REQUEST_NULL;
    ref<errhandler> const handler = c.handler().get();
    auto made = make<communicator>(ref<group>(c.local()), c.is_inter() ? ref<group>(c.remote()) : ref<group>(), *handler, 0,
                                   c.topology() != nullptr ? ref<topology>(*c.topology()) : ref<topology>());
    if (c.handler().was_set())
        made->handler().set(handler);
    if (hints != nullptr)
        made->hints().merge(*hints);
    communicator& copy = *made;
    MPI_Comm name = publish(ref<communicator>(made));
    request_table& all = request_table::instance();
    request* r = nullptr;
    try {
        r = &all.acquire();
        r->work = std::make_unique<duplication>(c, std::move(made));
        r->comm = ref<communicator>(c);
        r->what = request::kind::activity;
        // Copies attributes now: those set later are not copied. The other ranks get the messages that they wait for even if this fails.
        c.attributes().copy_to(comm, copy.attributes(), name);
    } catch (...) {
        unpublish(name);
        if (r != nullptr)
            all.release(*r);
        throw;
    }
    process::instance().numbers().tell();
    *newcomm = name;
    *handle = r->handle();
}

} // namespace

namespace calls {

void comm_idup(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request)
{
    duplicate(comm, nullptr, newcomm, request);
}

void comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm, MPI_Request* request)
{
    duplicate(comm, info == MPI_INFO_NULL ? nullptr : &get(info, "info"), newcomm, request);
}

} // namespace calls
} // namespace towline::mpi
