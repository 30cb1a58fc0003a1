// Checks buffers, and packs and unpacks them.

#include "mpi/payload.hpp"

#include "layout/copy_plan.hpp"
#include "layout/stream.hpp"
#include "mpi/failure.hpp"

#include <cstring>
#include <fmt/format.h>

namespace towline::mpi {

void payload::look(MPI_Datatype handle, payload_names const& names)
{
    check_count(count_, names.count);
    if (count_ == 0 && handle == MPI_DATATYPE_NULL) {  // accepted, as in other libraries
        bytes_ = 0;
        return;
    }
    datatype& type = get_committed(handle, names.datatype);
    check_buffer(buffer_, count_, type, names.buffer);
    if (count_ == 1 && type.briefly().holds()) {
        bytes_ = type.briefly().bytes();
        type_ = &type;
        return;
    }
    layout::datatype const& l = type.layout();
    if (__builtin_mul_overflow(count_, l.size(), &bytes_))
        throw failure(MPI_ERR_COUNT, fmt::format("{} elements of {} bytes are more than any memory holds", count_, l.size()));
    layout::stream const s(l, count_);
    if (s.is_block())
        buffer_ = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(buffer_) + static_cast<std::uintptr_t>(s.displacement()));
    else
        type_ = &type;
}

payload payload::of_nobody(MPI_Count count, MPI_Datatype handle, payload_names const& names)
{
    check_count(count, names.count);
    if (handle != MPI_DATATYPE_NULL)
        (void)get_committed(handle, names.datatype);
    return {};
}

layout::placed payload::tree() const
{
    return in_a_row() ? layout::make_block(layout::kind::byte, bytes_) : layout::elements_of(type_->layout(), count_);
}

std::shared_ptr<matching::shown_layout const> payload::show() const
{
    auto const design = matching::wished_design();
    return design == matching::layout_design::pack || design == matching::layout_design::pipelined ? nullptr : type_->shown(count_);
}

matching::laid_source payload::source(matching::shown_layout const* shown) const noexcept
{
    return {&type_->layout(), count_, buffer_, static_cast<std::uint64_t>(bytes_), shown};
}

bool payload::lay(void* self, std::uint64_t bytes, matching::laid_sink& where)
{
    auto const& p = *static_cast<payload const*>(self);
    where = {&p.type_->layout(), p.count_, p.buffer_, [](void* owner) { return static_cast<payload const*>(owner)->shown(); }, self};
    return p.holds_whole_elements(bytes);
}

void payload::pack(void* to) const
{
    if (bytes_ == 0)
        return;
    if (in_a_row())
        std::memcpy(to, buffer_, static_cast<std::size_t>(bytes_));
    else if (is_brief())
        type_->briefly().pack(buffer_, to);
    else
        layout::stream(type_->layout(), count_).pack(buffer_, 0, bytes_, to);
}

std::unique_ptr<std::byte[]> payload::packed() const
{
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes_));
    pack(bytes.get());
    return bytes;
}

void payload::unpack(std::span<std::byte const> from) const noexcept
{
    if (from.empty())
        return;
    if (in_a_row())
        std::memcpy(buffer_, from.data(), from.size());
    else if (is_brief() && static_cast<std::int64_t>(from.size()) == bytes_)
        type_->briefly().unpack(buffer_, from.data());
    else
        layout::stream(type_->layout(), count_).unpack(buffer_, 0, static_cast<std::int64_t>(from.size()), from.data());
}

void payload::unpack_part(std::int64_t first, std::span<std::byte const> from) const noexcept
{
    auto const bytes = static_cast<std::int64_t>(from.size());
    if (bytes == bytes_)
        return unpack(from);
    layout::stream(type_->layout(), count_).unpack(buffer_, first, first + bytes, from.data());
}

bool payload::holds_whole_elements(std::uint64_t bytes) const noexcept
{
    auto const n = static_cast<std::int64_t>(bytes);
    return n == bytes_ || type_->layout().elements_in(n).has_value();
}

} // namespace towline::mpi
