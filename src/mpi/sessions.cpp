// Calls on sessions and process sets (11.3): mpi://WORLD and mpi://SELF, which the standard requires.

#include "mpi/calls.hpp"
#include "mpi/error_codes.hpp"
#include "mpi/info.hpp"
#include "mpi/process.hpp"
#include "mpi/session.hpp"
#include "mpi/strings.hpp"

#include <array>
#include <fmt/format.h>
#include <strings.h>

namespace towline::mpi {
namespace {

constexpr std::array<char const*, 2> sets{"mpi://WORLD", "mpi://SELF"};

[[nodiscard]] group& set_named(char const* name)
{
    communicator* const all[] = {&process::instance().world(), &process::instance().self()};
    for (std::size_t i = 0; i < sets.size(); ++i)
        if (::strcasecmp(name, sets[i]) == 0)
            return all[i]->local();
    throw failure(MPI_ERR_ARG, fmt::format("pset_name is \"{:.60}\"; the sets are {} and {}", name, sets[0], sets[1]));
}

errhandler& handler_for_session(MPI_Errhandler handle)
{
    errhandler& e = get(handle, "errhandler");
    if (e.of() != handled::any && e.of() != handled::session)
        throw failure(MPI_ERR_ERRHANDLER, "errhandler was created for another kind of object");
    return e;
}

} // namespace

bsend_space& buffer_for(communicator& c)
{
    if (c.buffer().is_attached())
        return c.buffer();
    if (auto* const s = static_cast<session*>(c.local().origin()); s != nullptr && s->buffer().is_attached())
        return s->buffer();
    return process::instance().buffer();
}

namespace calls {

void session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session)
{
    *session = MPI_SESSION_NULL;
    mpi::errhandler& handler = handler_for_session(errhandler);
    int level = MPI_THREAD_MULTIPLE;
    if (info != MPI_INFO_NULL)
        if (auto const wanted = get(info, "info").get("thread_level"))
            level = level_of_name(*wanted);
    begin_session(level);
    *session = give<MPI_Session>(make<mpi::session>(handler));
}

void session_finalize(MPI_Session* session)
{
    ref<mpi::session> const ended = take(*session, "session");
    *session = MPI_SESSION_NULL;
    ended->buffer().detach(process::instance().matcher());
    end_session();
}

void session_get_info(MPI_Session session, MPI_Info* info_used)
{
    (void)get(session, "session");
    ref<info> used = make<info>();
    used->set("thread_level", name_of_level(process::thread_level()));
    *info_used = give<MPI_Info>(std::move(used));
}

void session_get_num_psets(MPI_Session session, MPI_Info info, int* npset_names)
{
    (void)get(session, "session");
    if (info != MPI_INFO_NULL)
        (void)get(info, "info");
    *npset_names = static_cast<int>(sets.size());
}

void session_get_nth_pset(MPI_Session session, MPI_Info info, int n, int* pset_len, char* pset_name)
{
    (void)get(session, "session");
    if (info != MPI_INFO_NULL)
        (void)get(info, "info");
    if (n < 0 || n >= static_cast<int>(sets.size()))
        throw failure(MPI_ERR_ARG, fmt::format("n is {}; there are the sets 0 to {}", n, sets.size() - 1));
    if (*pset_len < 0)
        throw failure(MPI_ERR_ARG, fmt::format("pset_len is {}, and a length cannot be negative", *pset_len));
    std::string_view const name = sets[static_cast<std::size_t>(n)];
    if (*pset_len > 0) {
        if (pset_name == nullptr)
            throw failure(MPI_ERR_ARG, fmt::format("pset_name is a null pointer, and pset_len is {}", *pset_len));
        copy_string(name, pset_name, static_cast<std::size_t>(*pset_len));
    }
    *pset_len = static_cast<int>(name.size()) + 1;
}

void session_get_pset_info(MPI_Session session, char const* pset_name, MPI_Info* info)
{
    (void)get(session, "session");
    ref<mpi::info> about = make<mpi::info>();
    about->set("mpi_size", std::to_string(set_named(pset_name).size()));
    *info = give<MPI_Info>(std::move(about));
}

void group_from_session_pset(MPI_Session session, char const* pset_name, MPI_Group* newgroup)
{
    mpi::session& s = get(session, "session");
    *newgroup = MPI_GROUP_NULL;
    group const& set = set_named(pset_name);
    *newgroup = give<MPI_Group>(make<group>(std::vector<process_id>(set.members().begin(), set.members().end()), set.self(), &s));
}

void session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler)
{
    get(session, "session").handler().set(ref<mpi::errhandler>(handler_for_session(errhandler)));
}

void session_get_errhandler(MPI_Session session, MPI_Errhandler* errhandler)
{
    *errhandler = get(session, "session").handler().get()->handle();
}

void session_call_errhandler(MPI_Session session, int errorcode)
{
    call_handler(get(session, "session").error_site(session), errorcode,
                 fmt::format("MPI_Session_call_errhandler was called with {}.", error_codes::instance().name_of(errorcode)));
}

} // namespace calls
} // namespace towline::mpi
