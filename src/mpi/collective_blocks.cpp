// Builds lists of blocks from the arrays of a call.

#include "mpi/collective_blocks.hpp"

#include "mpi/collective_checks.hpp"

namespace towline::mpi {
namespace {

void add(collective_operation& o, collective_operation::blocks& to, bool nobody, payload const& p, use u, bool is_own = false)
{
    if (nobody)
        return to.add(0);
    if (is_own)
        return to.add(static_cast<std::uint64_t>(p.bytes()), p.data());
    void* const at = u == use::sent ? const_cast<void*>(o.input(p)) : u == use::received ? o.output(p) : o.inout(p);
    to.add(static_cast<std::uint64_t>(p.bytes()), at);
}

[[nodiscard]] bool keep(own_block* own, int i, payload const& p) noexcept
{
    if (own == nullptr || own->rank != i)
        return false;
    own->data = p;
    return true;
}

} // namespace

void add_blocks(collective_operation& o, collective_operation::blocks& to, partners with, void const* buffer, MPI_Count count,
                MPI_Datatype type, use u, payload_names const& names)
{
    check_count(count, names.count);
    std::int64_t const extent = get_committed(type, names.datatype).layout().extent();
    for (int i = 0; i < with.size(); ++i)
        add(o, to, with.is_nobody(i), payload(moved(buffer, times(count, i), extent), count, type, names), u);
}

void add_blocks(collective_operation& o, collective_operation::blocks& to, partners with, void const* buffer, wide_array counts,
                wide_array displs, MPI_Datatype type, use u, block_names const& names, own_block* own)
{
    std::int64_t const extent = get_committed(type, names.each.datatype).layout().extent();
    check_array(counts.is_null(), with.size(), names.each.count);
    check_array(displs.is_null(), with.size(), names.displs);
    for (int i = 0; i < with.size(); ++i) {
        void* const at = moved(buffer, displs[static_cast<std::size_t>(i)], extent);
        payload const p(at, count_at(counts, i, names.each.count), type, names.each);
        add(o, to, with.is_nobody(i), p, u, keep(own, i, p));
    }
}

void add_blocks(collective_operation& o, collective_operation::blocks& to, partners with, void const* buffer, wide_array counts,
                wide_array displs, MPI_Datatype const* types, use u, block_names const& names, own_block* own)
{
    check_array(counts.is_null(), with.size(), names.each.count);
    check_array(displs.is_null(), with.size(), names.displs);
    check_array(types == nullptr, with.size(), names.each.datatype);
    for (int i = 0; i < with.size(); ++i) {
        void* const at = moved(buffer, displs[static_cast<std::size_t>(i)]);
        payload const p(at, count_at(counts, i, names.each.count), types[i], names.each);
        add(o, to, with.is_nobody(i), p, u, keep(own, i, p));
    }
}

} // namespace towline::mpi
