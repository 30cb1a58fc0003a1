// Converts an exception to a call of the error handler, with the call, its arguments, the error and the rank.

#include "mpi/datatype.hpp"
#include "mpi/entry.hpp"
#include "mpi/error_codes.hpp"
#include "mpi/failure.hpp"
#include "mpi/handles.hpp"
#include "mpi/process.hpp"
#include "mpi/session.hpp"

#include <towline/error.hpp>

#include <cxxabi.h>
#include <fmt/format.h>
#include <new>
#include <string_view>
#include <vector>

namespace towline::mpi {

failure::failure(int code, std::string what) : code_(code), what_(std::move(what)) {}
failure::failure(failure const&) noexcept = default;
failure::~failure() = default;

failure failure::on(communicator& comm) const
{
    failure f = *this;
    f.raised_on_ = ref<communicator>(comm);
    return f;
}

namespace {

using words = std::span<word const>;

std::string text_of_handle(std::uint64_t bits)
{
    if (char const* const name = predefined_name(bits))
        return name;
    return fmt::format("{:#x}", bits);
}

std::string text_of_number(kind k, std::int64_t n)
{
    bool const is_rank = k == kind::rank || k == kind::source || k == kind::dest || k == kind::root;
    if (is_rank && n == MPI_PROC_NULL)
        return "MPI_PROC_NULL";
    if (is_rank && n == MPI_ANY_SOURCE)
        return "MPI_ANY_SOURCE";
    if (is_rank && n == MPI_ROOT)
        return "MPI_ROOT";
    if (k == kind::tag && n == MPI_ANY_TAG)
        return "MPI_ANY_TAG";
    if (n == MPI_UNDEFINED)
        return "MPI_UNDEFINED";
    return std::to_string(n);
}

bool is_handle(kind k) noexcept
{
    return k >= kind::comm && k <= kind::file;
}

/// A handle argument, by value or behind a pointer.
std::uint64_t handle_of(parameter const& p, word value) noexcept
{
    std::uint64_t const* const place = value.pointer<std::uint64_t>();
    return p.direction == direction::in ? value.bits() : place != nullptr ? *place : 0;
}

std::string text_of(parameter const& p, word value)
{
    if (p.array || (p.direction != direction::in && !is_handle(p.kind)))
        return value.bits() == 0 ? "null" : fmt::format("{:#x}", value.bits());
    switch (p.kind) {
    case kind::integer:
    case kind::flag:
    case kind::count:
    case kind::displ:
    case kind::extent:
    case kind::aint:
    case kind::bigcount:
    case kind::offset:
    case kind::rank:
    case kind::source:
    case kind::dest:
    case kind::root:
    case kind::tag:
    case kind::index:
    case kind::error:
    case kind::keyval:
    case kind::fint:
    case kind::t_safety:
    case kind::t_order: return text_of_number(p.kind, value.number());
    case kind::comm:
        if (communicator* const c = find(reinterpret_cast<MPI_Comm>(handle_of(p, value))); c != nullptr && !c->name().empty())
            return c->name();
        return text_of_handle(handle_of(p, value));
    case kind::datatype:
        if (datatype* const d = find(reinterpret_cast<MPI_Datatype>(handle_of(p, value))); d != nullptr && !d->name().empty())
            return d->name();
        return text_of_handle(handle_of(p, value));
    case kind::group:
    case kind::op:
    case kind::request:
    case kind::message:
    case kind::info:
    case kind::errhandler:
    case kind::session:
    case kind::win:
    case kind::file: return text_of_handle(handle_of(p, value));
    case kind::string: {
        char const* const s = value.pointer<char const>();
        return s == nullptr ? "null" : fmt::format("\"{:.40}\"", s);
    }
    case kind::buffer:
        if (value.bits() == reinterpret_cast<std::uintptr_t>(MPI_IN_PLACE))
            return "MPI_IN_PLACE";
        return value.bits() == 0 ? "NULL" : fmt::format("{:#x}", value.bits());
    default: return value.bits() == 0 ? "null" : fmt::format("{:#x}", value.bits());
    }
}

/// "MPI_Send(buf=0x7f.., count=3, ...)"; output arguments only if they are null.
std::string text_of_call(function const& f, words arguments)
{
    std::string text = std::string(f.name) + '(';
    for (std::size_t i = 0; i < f.parameters.size(); ++i) {
        parameter const& p = f.parameters[i];
        if (p.direction == direction::out && arguments[i].bits() != 0 && p.kind != kind::buffer)
            continue;
        if (text.back() != '(')
            text += ", ";
        text += fmt::format("{}={}", p.name, text_of(p, arguments[i]));
    }
    return text + ')';
}

/// The error site of a communicator. If the program set no handler for it or for those that it derives from, the handler of MPI_COMM_WORLD
/// replaces the initial one, as in MPICH.
error_site site_of(communicator& comm)
{
    error_site site = comm.error_site();
    if (process* const p = process::instance_or_null(); p != nullptr && !comm.handler().was_set() && p->world().handler().was_set()) {
        error_site const world = p->world().error_site();
        site.handler = world.handler;
        site.name = world.name;
    }
    return site;
}

/// The object whose error handler is called (9.3): the communicator, session or file of the call, else MPI_COMM_SELF.
error_site site_of(function const& f, words arguments)
{
    if (std::string_view(f.name).starts_with("MPI_File_"))
        return file_error_site();
    for (std::size_t i = 0; i < f.parameters.size(); ++i) {
        parameter const& p = f.parameters[i];
        if (p.kind == kind::session && p.direction != direction::out) {
            auto const handle = reinterpret_cast<MPI_Session>(handle_of(p, arguments[i]));
            if (session* const s = find(handle))
                return s->error_site(handle);
        }
        // MPI_Session_init has no session yet; its errhandler argument applies.
        if (std::string_view(f.name) == "MPI_Session_init" && p.kind == kind::errhandler)
            if (errhandler* const h = find(reinterpret_cast<MPI_Errhandler>(arguments[i].bits())))
                return {ref<errhandler>(*h), "the error handler that the call was given"};
        if (p.kind != kind::comm || p.array || p.direction == direction::out)
            continue;
        if (communicator* const comm = find(reinterpret_cast<MPI_Comm>(handle_of(p, arguments[i]))))
            return site_of(*comm);
    }
    if (process* const p = process::instance_or_null())
        return site_of(p->self());
    return {initial_handler().get(), "the initial error handler"};
}

std::string on_rank()
{
    process* const p = process::instance_or_null();
    return p != nullptr ? fmt::format(", on rank {} of MPI_COMM_WORLD", p->world().rank()) : std::string();
}

struct outcome {
    int code;
    std::string text;
    ref<communicator> on;
};

/// Inside a handler of `catch (...)`.
outcome outcome_of_exception()
{
    try {
        throw;
    } catch (failure const& e) {
        return {e.code(), e.what(), e.raised_on() != nullptr ? ref<communicator>(*e.raised_on()) : ref<communicator>()};
    } catch (std::bad_alloc const& e) {
        return {MPI_ERR_NO_MEM, fmt::format("memory ran out ({})", e.what()), {}};
    } catch (peer_error const& e) {
        return {MPI_ERR_PROC_ABORTED, e.what(), {}};
    } catch (limit_error const& e) {
        return {MPI_ERR_NO_MEM, e.what(), {}};
    } catch (towline::error const& e) {
        return {MPI_ERR_OTHER, e.what(), {}};
    } catch (std::exception const& e) {
        return {MPI_ERR_INTERN, e.what(), {}};
    } catch (abi::__forced_unwind const&) {
        throw;  // thread cancellation
    } catch (...) {
        return {MPI_ERR_INTERN, "a callback threw something that is no exception of the standard library", {}};
    }
}

int raise(function const& f, words arguments, outcome const& what)
{
    error_site const site = what.on ? site_of(*what.on) : site_of(f, arguments);
    std::string const name = error_codes::instance().name_of(what.code), call = text_of_call(f, arguments);
    // A code that the program made, or got from a nested call, stays.
    int const code =
        error_instances::instance().add(what.code, fmt::format("{}: {}. The call was {}{}.", name, what.text, call, on_rank()));
    call_handler(site, code, fmt::format("{} failed: {} ({}). The call was {}.", f.name, what.text, name, call));
    return code;
}

} // namespace

int failed(function const& f, std::initializer_list<word> arguments)
{
    return raise(f, {arguments.begin(), arguments.size()}, outcome_of_exception());
}

int unsupported(function const& f, std::initializer_list<word> arguments)
{
    return raise(f, {arguments.begin(), arguments.size()}, {MPI_ERR_UNSUPPORTED_OPERATION, "this library does not have it yet", {}});
}

void throw_null(char const* parameter)
{
    throw failure(MPI_ERR_ARG, fmt::format("{} is a null pointer", parameter));
}

void set_empty(MPI_Status* status) noexcept
{
    if (status != MPI_STATUS_IGNORE)
        *status = MPI_Status{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, {}};
}

} // namespace towline::mpi
