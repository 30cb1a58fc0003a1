// Combines elements of any datatype.

#include "mpi/reduction.hpp"

#include "base/checking.hpp"
#include "base/log.hpp"
#include "layout/stream.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <limits>
#include <type_traits>
#include <utility>

namespace towline::mpi {
namespace {

/// Bytes of elements that are unpacked for one call of the program's function, unless one element is larger.
constexpr std::int64_t image_bytes = 64 << 10;
constexpr std::int64_t line = 64;

/// Indexed by the distance from MPI_OP_NULL; no_op: not a reduction.
constexpr std::array<collective::operation, 32> operations = [] {
    using enum collective::operation;
    std::array<collective::operation, 32> all{};
    all.fill(no_op);
    for (auto const& [place, what] : {std::pair{0x01, sum}, {0x02, min}, {0x03, max}, {0x04, prod}, {0x08, band}, {0x09, bor}, {0x0a, bxor},
                                     {0x10, land}, {0x11, lor}, {0x12, lxor}, {0x18, minloc}, {0x19, maxloc}})
        all[static_cast<std::size_t>(place)] = what;
    return all;
}();

[[noreturn, gnu::cold]] void throw_not_for(MPI_Op op, datatype const& type)
{
    std::string const name = predefined_name(bits_of(op));
    if (op == MPI_REPLACE || op == MPI_NO_OP)
        throw failure(MPI_ERR_OP, fmt::format("op is {}, which is for one-sided communication only", name));
    if (!type.layout().predefined())
        throw failure(MPI_ERR_OP, fmt::format("{} works on predefined datatypes; MPI_Op_create makes an operation for others", name));
    throw failure(MPI_ERR_OP, fmt::format("{} is not defined for {}", name, layout::info(*type.layout().predefined()).name));
}

constexpr layout::kind char_as_number = std::is_signed_v<char> ? layout::kind::signed_char_c : layout::kind::unsigned_char_c;

/// Warns that a predefined operation is applied to MPI_CHAR.
[[gnu::cold, gnu::noinline]] void warn_of_char(std::size_t operation) noexcept
{
    static std::atomic<bool> told{false};
    try {
        if (base::checking(base::check::types) && !told.exchange(true))
            base::log_line(fmt::format("{} is used on MPI_CHAR, for which the MPI standard does not define it: it is done as on {} here. "
                                       "Portable programs say MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR or MPI_INT8_T (said once)",
                                       predefined_name(handle_traits<MPI_Op>::first + operation),
                                       std::is_signed_v<char> ? "MPI_SIGNED_CHAR" : "MPI_UNSIGNED_CHAR"));
    } catch (...) {  // MPI_Init reports a wrong TOWLINE_CHECK
    }
}

/// The loop of the operation at that distance from MPI_OP_NULL; null if it is not defined for the kind.
[[nodiscard]] collective::reduction loop_of(std::size_t place, layout::kind kind) noexcept
{
    collective::operation const what = operations[place];
    if (what == collective::operation::no_op)
        return nullptr;
    if (kind != layout::kind::character_c) [[likely]]
        return collective::find_reduction(what, kind);
    collective::reduction const loop = collective::find_reduction(what, char_as_number);
    if (loop != nullptr)
        warn_of_char(place);
    return loop;
}

[[nodiscard]] void* moved(void* at, std::int64_t by) noexcept
{
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(at) + static_cast<std::uintptr_t>(by));
}

} // namespace

collective::reduction reduction::of_predefined(MPI_Op op, MPI_Datatype type) noexcept
{
    std::uint64_t const place = bits_of(op) - handle_traits<MPI_Op>::first;
    datatype const* const t = is_predefined(type) ? find(type) : nullptr;
    return place < operations.size() && t != nullptr && t->layout().predefined() ? loop_of(place, *t->layout().predefined()) : nullptr;
}

void reduction::set(MPI_Op op, MPI_Datatype type)
{
    operation& o = get(op, "op");
    datatype& t = get_committed(type, "datatype");
    layout::datatype const& l = t.layout();
    auto const kind = l.predefined();
    has_padding_ = kind && !l.is_contiguous();
    first_ = l.true_lb();
    handle_ = type;
    how_.context = this;
    how_.commutative = o.commutes();
    how_.element = static_cast<std::uint64_t>(has_padding_ ? l.extent() : l.size());
    if (o.predefined() != MPI_OP_NULL) {
        loop_ = kind ? loop_of(bits_of(o.predefined()) - handle_traits<MPI_Op>::first, *kind) : nullptr;
        if (loop_ == nullptr) [[unlikely]]
            throw_not_for(o.predefined(), t);
        how_.apply = &apply_predefined;
        how_.join = &join_predefined;
        return;
    }
    loop_ = nullptr;
    how_.join = nullptr;
    op_ = ref<operation>(o);
    type_ = ref<datatype>(t);
    bool const in_rows = has_padding_ || l.is_contiguous();
    how_.apply = in_rows ? &apply_rows : &apply_packed;
    if (!in_rows)
        make_images();
}

void reduction::clear() noexcept
{
    if (!op_)
        return;
    if (lent_ != MPI_DATATYPE_NULL)
        (void)take(std::exchange(lent_, MPI_DATATYPE_NULL), "datatype");
    op_ = {};
    type_ = {};
    memory_.reset();
}

reduction::elements reduction::of(void const* buffer, std::int64_t count, payload_names const& names) const
{
    elements e;
    e.data = payload(buffer, count, handle_, names);
    e.at = e.data.data();
    e.bytes = static_cast<std::uint64_t>(e.data.bytes());
    if (e.data.in_a_row()) [[likely]]
        return e;
    e.packed = !has_padding_;
    if (has_padding_ && __builtin_mul_overflow(static_cast<std::uint64_t>(count), how_.element, &e.bytes))
        throw failure(MPI_ERR_COUNT, fmt::format("{} elements of {} bytes are more than any memory holds", count, how_.element));
    return e;
}

void reduction::make_images()
{
    layout::datatype const& l = type_->layout();
    std::int64_t const span = l.true_extent();
    std::int64_t const step = std::abs(l.extent());
    // Elements that overlap are unpacked one at a time.
    per_image_ = step < span ? 1 : std::max<std::int64_t>(1, image_bytes / std::max<std::int64_t>(step, 1));
    std::int64_t const last = (per_image_ - 1) * l.extent();
    std::int64_t const low = l.true_lb() + std::min<std::int64_t>(last, 0);
    std::int64_t const high = l.true_ub() + std::max<std::int64_t>(last, 0);
    std::int64_t const room = (high - low + 2 * line) & -line;
    memory_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(2 * room + line));
    // Displacement 0 is aligned at least as memory from malloc.
    std::uintptr_t at = reinterpret_cast<std::uintptr_t>(memory_.get());
    for (std::byte*& image : images_) {
        image = reinterpret_cast<std::byte*>((at - static_cast<std::uintptr_t>(low) + line - 1) & -static_cast<std::uintptr_t>(line));
        at += static_cast<std::uintptr_t>(room);
    }
}

MPI_Datatype reduction::handle() noexcept
{
    if (find(handle_) == type_.get()) [[likely]]
        return handle_;
    if (lent_ == MPI_DATATYPE_NULL)
        lent_ = give<MPI_Datatype>(type_);
    return lent_;
}

void reduction::call(void* in, void* inout, std::int64_t count) noexcept
{
    MPI_Datatype type = handle();
    if (op_->large_function() != nullptr) {
        MPI_Count n = count;
        op_->large_function()(in, inout, &n, &type);
        return;
    }
    std::int64_t const step = type_->layout().extent();
    while (count > 0) {
        int n = static_cast<int>(std::min<std::int64_t>(count, std::numeric_limits<int>::max()));
        std::int64_t const now = n;
        op_->function()(in, inout, &n, &type);
        in = moved(in, now * step);
        inout = moved(inout, now * step);
        count -= now;
    }
}

void reduction::apply_predefined(void const* in, void* inout, std::uint64_t count, void* self)
{
    static_cast<reduction*>(self)->loop_(in, inout, inout, count);
}

void reduction::join_predefined(void const* in, void const* other, void* out, std::uint64_t count, void* self)
{
    static_cast<reduction*>(self)->loop_(in, other, out, count);
}

void reduction::apply_rows(void const* in, void* inout, std::uint64_t count, void* self)
{
    auto& r = *static_cast<reduction*>(self);
    r.call(moved(const_cast<void*>(in), -r.first_), moved(inout, -r.first_), static_cast<std::int64_t>(count));
}

void reduction::apply_packed(void const* in, void* inout, std::uint64_t count, void* self)
{
    auto& r = *static_cast<reduction*>(self);
    layout::datatype const& l = r.type_->layout();
    for (auto left = static_cast<std::int64_t>(count); left > 0;) {
        std::int64_t const n = std::min(left, r.per_image_);
        layout::stream const s(l, n);
        s.unpack(r.images_[0], 0, s.size(), in);
        s.unpack(r.images_[1], 0, s.size(), inout);
        r.call(r.images_[0], r.images_[1], n);
        s.pack(r.images_[1], 0, s.size(), inout);
        in = moved(const_cast<void*>(in), s.size());
        inout = moved(inout, s.size());
        left -= n;
    }
}

void reduction::apply_here(void const* in, void* inout, std::int64_t count)
{
    if (count == 0)
        return;
    if (loop_ != nullptr)
        return loop_(in, inout, inout, static_cast<std::size_t>(count));
    call(const_cast<void*>(in), inout, count);
}

} // namespace towline::mpi
