#include "layout/copy_plan.hpp"

#include "layout/copy_blocks.hpp"
#include "layout/copy_steps.hpp"
#include "layout/description.hpp"
#include "layout/identity.hpp"
#include "layout/merge.hpp"

#include <towline/error.hpp>

#include <algorithm>

namespace towline::layout {

placed elements_of(datatype const& type, std::int64_t count)
{
    if (count < 0)
        throw usage_error("a message of " + std::to_string(count) + " elements; the count must be 0 or more");
    std::int64_t size = 0;
    if (__builtin_mul_overflow(type.size(), count, &size))
        throw limit_error("a message of " + std::to_string(count) + " elements of " + std::to_string(type.size()) +
                          " bytes is longer than 2^63 - 1 bytes");
    return repeat(type.describes().bytes, count, type.extent());
}

namespace {

using step = copy_plan::step;

std::byte* written(place_t at) noexcept
{
    return reinterpret_cast<std::byte*>(at);
}
std::byte const* read(place_t at) noexcept
{
    return reinterpret_cast<std::byte const*>(at);
}

/// Copies what a walk finds to the same place `by` bytes further.
class mirror_copier {
public:
    explicit mirror_copier(place_t by) noexcept : by_(by) {}
    void block(place_t at, std::int64_t bytes, kind) noexcept { copy_any(written(at + by_), read(at), bytes); }
    void strided(place_t at, std::int64_t stride, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        rows_.of[size_class(bytes)].stepped(written(at + by_), stride, read(at), stride, n, bytes);
    }
    void nested(place_t at, std::int64_t outer, std::int64_t m, std::int64_t stride, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        copy_nest(written(at + by_), read(at), {m, n, bytes, outer, stride, outer, stride});
    }
    void listed(place_t at, std::int64_t const* displacements, std::int64_t n, std::int64_t bytes, kind) noexcept
    {
        rows_.of[size_class(bytes)].listed(written(at + by_), displacements, read(at), displacements, n, bytes);
    }
    void records(place_t at, places there, std::int64_t n, node const& pieces) noexcept
    {
        copy_records(written(at + by_), there, read(at), there, fields_of(pieces), n);
    }

private:
    place_t by_;
    row_tables const& rows_ = best_rows();
};

void run_part(step const& s, place_t to, place_t from, std::int64_t first, std::int64_t last) noexcept;

void run_list(step const& s, place_t to, place_t from, std::int64_t first, std::int64_t n) noexcept
{
    std::int64_t const* const to_at = s.to ? s.to->displacements.data() + first : nullptr;
    std::int64_t const* const from_at = s.from ? s.from->displacements.data() + first : nullptr;
    if (to_at == nullptr)
        to = moved(to, first, s.to_stride);
    if (from_at == nullptr)
        from = moved(from, first, s.from_stride);
    step const& child = *s.child;
    if (child.what != motion::block) {
        for (std::int64_t i = 0; i < n; ++i)
            run_part(child, to_at != nullptr ? moved(to, to_at[i]) : moved(to, i, s.to_stride),
                     from_at != nullptr ? moved(from, from_at[i]) : moved(from, i, s.from_stride), 0, child.size);
        return;
    }
    row_kernels const& rows = best_rows().of[size_class(child.size)];
    if (to_at != nullptr && from_at != nullptr)
        rows.listed(written(to), to_at, read(from), from_at, n, child.size);
    else if (to_at != nullptr)
        rows.scattering(written(to), to_at, read(from), s.from_stride, n, child.size);
    else if (from_at != nullptr)
        rows.gathering(written(to), s.to_stride, read(from), from_at, n, child.size);
    else
        rows.stepped(written(to), s.to_stride, read(from), s.from_stride, n, child.size);
}

/// `n` whole children of a loop or list, from the first on.
void run_children(step const& s, place_t to, place_t from, std::int64_t first, std::int64_t n) noexcept
{
    step const& child = *s.child;
    if (s.what == motion::loop && child.what == motion::loop && child.child->what == motion::block) {
        copy_nest(written(moved(to, first, s.to_stride)), read(moved(from, first, s.from_stride)),
                  {n, child.count, child.child->size, s.to_stride, child.to_stride, s.from_stride, child.from_stride});
        return;
    }
    run_list(s, to, from, first, n);
}

/// stream[first, last) of a step; first < last.
void run_part(step const& s, place_t to, place_t from, std::int64_t first, std::int64_t last) noexcept
{
    switch (s.what) {
    case motion::block: copy_any(written(moved(to, first)), read(moved(from, first)), last - first); break;
    case motion::loop:
    case motion::list: {
        auto const one = [&](std::int64_t i, std::int64_t begin, std::int64_t end) {
            auto const at = static_cast<std::size_t>(i);
            run_part(*s.child, s.to ? moved(to, s.to->displacements[at]) : moved(to, i, s.to_stride),
                     s.from ? moved(from, s.from->displacements[at]) : moved(from, i, s.from_stride), begin, end);
        };
        std::int64_t const size = s.child->size;
        std::int64_t i = first / size;
        if (std::int64_t const begin = first - i * size; begin != 0) {
            one(i, begin, std::min(size, last - i * size));
            ++i;
        }
        std::int64_t const end = last / size;
        if (end > i)
            run_children(s, to, from, i, end - i);
        if (end >= i && last != end * size)
            one(end, 0, last - end * size);
        break;
    }
    case motion::pieces: {
        auto i = static_cast<std::size_t>(std::upper_bound(s.starts.begin(), s.starts.end(), first) - s.starts.begin() - 1);
        for (; first < last; first = s.starts[++i]) {
            std::int64_t const skipped = first - s.starts[i];
            copy_any(written(moved(to, s.to_at[i] + skipped)), read(moved(from, s.from_at[i] + skipped)),
                     std::min(last, s.starts[i + 1]) - first);
        }
        break;
    }
    case motion::pack: {
        block_copier<direction::pack> copier(written(moved(to, first)));
        walk_part(*s.from, from, first, last, copier);
        break;
    }
    case motion::unpack: {
        block_copier<direction::unpack> copier(read(moved(from, first)));
        walk_part(*s.to, to, first, last, copier);
        break;
    }
    case motion::mirror: {
        mirror_copier copier(to - from);
        walk_part(*s.from, from, first, last, copier);
        break;
    }
    case motion::merge:
        if (s.to_is_outer) {
            outer_walk<true> outer(*s.from, from, first);
            walk_part(*s.to, to, first, last, outer);
        } else {
            outer_walk<false> outer(*s.to, to, first);
            walk_part(*s.from, from, first, last, outer);
        }
        break;
    }
}

std::size_t weight_of(step const& s) noexcept
{
    return sizeof(step) + (s.to_at.size() + s.from_at.size() + s.starts.size()) * sizeof(std::int64_t) +
           (s.child ? weight_of(*s.child) : 0);
}

std::string words(step const& s)
{
    auto const strides = [&] { return std::to_string(s.to_stride) + " and " + std::to_string(s.from_stride) + " apart"; };
    switch (s.what) {
    case motion::block: return "block " + std::to_string(s.size);
    case motion::loop: return "loop " + std::to_string(s.count) + ", " + strides() + ", of " + words(*s.child);
    case motion::list: return "list " + std::to_string(s.count) + " of " + words(*s.child);
    case motion::pieces: return "pieces " + std::to_string(s.count);
    case motion::pack: return "pack " + layout::describe({0, s.from});
    case motion::unpack: return "unpack " + layout::describe({0, s.to});
    case motion::mirror: return "alike " + layout::describe({0, s.from});
    case motion::merge: return "merge " + layout::describe({0, s.to}) + " and " + layout::describe({0, s.from});
    }
    return {};
}

} // namespace

copy_plan::copy_plan(placed const& to, placed const& from) : size_(std::min(to.size(), from.size()))
{
    if (size_ == 0)
        return;
    placed const t = first_bytes(to, size_), f = first_bytes(from, size_);
    to_ = t.displacement;
    from_ = f.displacement;
    steps_ = join(t.tree, f.tree);
    weight_ = sizeof *this + weight_of(*steps_);
}

void copy_plan::copy(void* to, void const* from, std::int64_t first, std::int64_t last) const noexcept
{
    if (first < last)
        run_part(*steps_, moved(reinterpret_cast<place_t>(to), to_), moved(reinterpret_cast<place_t>(from), from_), first, last);
}

std::string copy_plan::describe() const
{
    return steps_ ? words(*steps_) : "nothing";
}

} // namespace towline::layout
