#pragma once
// Messages that a matched probe removed from the queue (3.8.2).

#include "matching/matcher.hpp"
#include "mpi/communicator.hpp"
#include "mpi/handles.hpp"
#include "mpi/object.hpp"

namespace towline::mpi {

class message final : public object {
public:
    message(communicator& comm, matching::taken_message&& m) : on(comm), taken(std::move(m)) {}

    ref<communicator> const on;
    matching::taken_message taken;
};

template <>
struct handle_traits<MPI_Message> : handle_traits_of<message, object_kind::message, 0x128, 2, MPI_ERR_REQUEST> {};

} // namespace towline::mpi
