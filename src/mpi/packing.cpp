// Packing and unpacking (5.2, 5.3).

#include "layout/external32.hpp"
#include "layout/stream.hpp"
#include "mpi/calls.hpp"
#include "mpi/communicator.hpp"
#include "mpi/datatype.hpp"

#include <towline/error.hpp>

#include <cstring>
#include <fmt/format.h>

namespace towline::mpi {
namespace {

/// Returns measure(); reports a size beyond 64 bits as an error of the count.
template <class Measure>
auto sized(Measure measure)
{
    try {
        return measure();
    } catch (limit_error const& e) {
        throw failure(MPI_ERR_COUNT, e.what());
    }
}

void check_datarep(char const* datarep)
{
    if (std::strcmp(datarep, "external32") != 0)
        throw failure(MPI_ERR_ARG, fmt::format("datarep is \"{:.40}\"; it is \"external32\"", datarep));
}

/// Checks a position in a packed buffer, before `wanted` bytes are written or read there.
void check_room(void const* packed, char const* parameter, MPI_Count size, char const* size_parameter, MPI_Count position,
                std::int64_t wanted)
{
    if (size < 0)
        throw failure(MPI_ERR_ARG, fmt::format("{} is {}, and a size cannot be negative", size_parameter, size));
    if (position < 0 || position > size)
        throw failure(MPI_ERR_ARG, fmt::format("*position is {}, and the buffer has {} bytes", position, size));
    if (wanted > size - position)
        throw failure(MPI_ERR_TRUNCATE,
                      fmt::format("{} bytes from {} on are wanted, and {} is {}", wanted, position, size_parameter, size));
    if (packed == nullptr && wanted > 0)
        throw failure(MPI_ERR_BUFFER, fmt::format("{} is a null pointer", parameter));
}

std::byte* at(void* buffer, MPI_Count position) noexcept
{
    return static_cast<std::byte*>(buffer) + position;
}

std::byte const* at(void const* buffer, MPI_Count position) noexcept
{
    return static_cast<std::byte const*>(buffer) + position;
}

} // namespace

namespace calls {

void pack(void const* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf, MPI_Count outsize, MPI_Count* position, MPI_Comm comm)
{
    (void)get(comm, "comm");
    check_count(incount, "incount");
    mpi::datatype const& type = get_committed(datatype, "datatype");
    check_buffer(inbuf, incount, type, "inbuf");
    auto const message = sized([&] { return layout::stream(type.layout(), incount); });
    check_room(outbuf, "outbuf", outsize, "outsize", *position, message.size());
    message.pack(inbuf, 0, message.size(), at(outbuf, *position));
    *position += message.size();
}

void unpack(void const* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount, MPI_Datatype datatype,
            MPI_Comm comm)
{
    (void)get(comm, "comm");
    check_count(outcount, "outcount");
    mpi::datatype const& type = get_committed(datatype, "datatype");
    check_buffer(outbuf, outcount, type, "outbuf");
    auto const message = sized([&] { return layout::stream(type.layout(), outcount); });
    check_room(inbuf, "inbuf", insize, "insize", *position, message.size());
    message.unpack(outbuf, 0, message.size(), at(inbuf, *position));
    *position += message.size();
}

void pack_size(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count* size)
{
    (void)get(comm, "comm");
    check_count(incount, "incount");
    mpi::datatype const& type = get(datatype, "datatype");
    *size = sized([&] { return layout::stream(type.layout(), incount).size(); });
}

void pack_external(char const* datarep, void const* inbuf, MPI_Count incount, MPI_Datatype datatype, void* outbuf, MPI_Count outsize,
                   MPI_Count* position)
{
    check_datarep(datarep);
    check_count(incount, "incount");
    mpi::datatype const& type = get_committed(datatype, "datatype");
    check_buffer(inbuf, incount, type, "inbuf");
    std::int64_t const bytes = sized([&] { return layout::external32_size(type.layout(), incount); });
    check_room(outbuf, "outbuf", outsize, "outsize", *position, bytes);
    if (std::int64_t const lost = layout::pack_external32(type.layout(), incount, inbuf, at(outbuf, *position)); lost != 0)
        throw failure(MPI_ERR_CONVERSION,
                      fmt::format("{} of the values do not fit external32, where a long has 4 bytes and a wchar_t 2", lost));
    *position += bytes;
}

void unpack_external(char const* datarep, void const* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
                     MPI_Datatype datatype)
{
    check_datarep(datarep);
    check_count(outcount, "outcount");
    mpi::datatype const& type = get_committed(datatype, "datatype");
    check_buffer(outbuf, outcount, type, "outbuf");
    std::int64_t const bytes = sized([&] { return layout::external32_size(type.layout(), outcount); });
    check_room(inbuf, "inbuf", insize, "insize", *position, bytes);
    layout::unpack_external32(type.layout(), outcount, outbuf, at(inbuf, *position));
    *position += bytes;
}

void pack_external_size(char const* datarep, MPI_Count incount, MPI_Datatype datatype, MPI_Count* size)
{
    check_datarep(datarep);
    check_count(incount, "incount");
    mpi::datatype const& type = get(datatype, "datatype");
    *size = sized([&] { return layout::external32_size(type.layout(), incount); });
}

} // namespace calls
} // namespace towline::mpi
