// Conversion of handles and statuses between C and Fortran (19.3.4, 19.3.5). A Fortran handle is the integer of MPI_Comm_toint and its
// variants. A status has the same eight words in C, in Fortran's arrays and in TYPE(MPI_Status).

#include "mpi/calls.hpp"
#include "mpi/entry.hpp"

#include <cstring>

namespace towline::mpi {
namespace {

static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint));

void copy(MPI_Fint const* f_status, MPI_Status* to)
{
    require(f_status, "f_status");
    std::memcpy(to, f_status, sizeof *to);
}

} // namespace

namespace calls {

MPI_Fint comm_c2f(MPI_Comm comm) noexcept { return comm_toint(comm); }
MPI_Comm comm_f2c(MPI_Fint comm) noexcept { return comm_fromint(comm); }
MPI_Fint errhandler_c2f(MPI_Errhandler errhandler) noexcept { return errhandler_toint(errhandler); }
MPI_Errhandler errhandler_f2c(MPI_Fint errhandler) noexcept { return errhandler_fromint(errhandler); }
MPI_Fint file_c2f(MPI_File file) noexcept { return file_toint(file); }
MPI_File file_f2c(MPI_Fint file) noexcept { return file_fromint(file); }
MPI_Fint group_c2f(MPI_Group group) noexcept { return group_toint(group); }
MPI_Group group_f2c(MPI_Fint group) noexcept { return group_fromint(group); }
MPI_Fint info_c2f(MPI_Info info) noexcept { return info_toint(info); }
MPI_Info info_f2c(MPI_Fint info) noexcept { return info_fromint(info); }
MPI_Fint message_c2f(MPI_Message message) noexcept { return message_toint(message); }
MPI_Message message_f2c(MPI_Fint message) noexcept { return message_fromint(message); }
MPI_Fint op_c2f(MPI_Op op) noexcept { return op_toint(op); }
MPI_Op op_f2c(MPI_Fint op) noexcept { return op_fromint(op); }
MPI_Fint request_c2f(MPI_Request request) noexcept { return request_toint(request); }
MPI_Request request_f2c(MPI_Fint request) noexcept { return request_fromint(request); }
MPI_Fint session_c2f(MPI_Session session) noexcept { return session_toint(session); }
MPI_Session session_f2c(MPI_Fint session) noexcept { return session_fromint(session); }
MPI_Fint type_c2f(MPI_Datatype datatype) noexcept { return type_toint(datatype); }
MPI_Datatype type_f2c(MPI_Fint datatype) noexcept { return type_fromint(datatype); }
MPI_Fint win_c2f(MPI_Win win) noexcept { return win_toint(win); }
MPI_Win win_f2c(MPI_Fint win) noexcept { return win_fromint(win); }

void status_c2f(MPI_Status const* c_status, MPI_Fint* f_status) { std::memcpy(f_status, c_status, sizeof *c_status); }
void status_c2f08(MPI_Status const* c_status, MPI_F08_status* f08_status) { *f08_status = *c_status; }
void status_f082c(MPI_F08_status const* f08_status, MPI_Status* c_status) { *c_status = *f08_status; }
void status_f082f(MPI_F08_status const* f08_status, MPI_Fint* f_status) { std::memcpy(f_status, f08_status, sizeof *f08_status); }
void status_f2c(MPI_Fint const* f_status, MPI_Status* c_status) { copy(f_status, c_status); }
void status_f2f08(MPI_Fint const* f_status, MPI_F08_status* f08_status) { copy(f_status, f08_status); }

} // namespace calls
} // namespace towline::mpi
