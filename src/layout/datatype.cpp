#include "layout/listed_rows.hpp"
#include "layout/parts.hpp"

#include <algorithm>

namespace towline::layout {

datatype datatype::of(kind k)
{
    kind_info const& i = info(k);
    checked const in(i.name.data());
    part p;
    auto basic = [](kind unit) {
        kind_info const& b = info(unit);
        part one;
        one.bytes = one.typed = make_block(unit, b.size);
        one.limits = {true, false, 0, b.size, 0, 0, b.alignment};
        one.size = b.size;
        one.external_size = b.external_size;
        one.elements = 1;
        one.uniform = unit;
        return one;
    };
    if (i.form == number::pair) {
        pair_layout const halves = pair_parts(k);
        assembly both(in);
        both.add(0, basic(halves.value));
        both.add(halves.index_offset, basic(halves.index));
        p = both.finish();
        p.uniform = k;
    } else {
        p = basic(k);
    }
    auto made = std::make_shared<description>(finished(std::move(p), in).describes());
    made->predefined = k;
    return datatype(std::move(made));
}

std::int64_t datatype::size() const noexcept { return description_->size; }
std::int64_t datatype::external_size() const noexcept { return description_->external_size; }
std::int64_t datatype::elements() const noexcept { return description_->elements; }
std::int64_t datatype::lb() const noexcept { return description_->lb; }
std::int64_t datatype::ub() const noexcept { return description_->ub; }
std::int64_t datatype::extent() const noexcept { return description_->ub - description_->lb; }
std::int64_t datatype::true_lb() const noexcept { return description_->limits.true_lb; }
std::int64_t datatype::true_ub() const noexcept { return description_->limits.true_ub; }
std::int64_t datatype::true_extent() const noexcept { return true_ub() - true_lb(); }
std::optional<kind> datatype::predefined() const noexcept { return description_->predefined; }
std::optional<kind> datatype::uniform() const noexcept { return description_->uniform; }

bool datatype::is_block() const noexcept
{
    return !description_->bytes.tree || description_->bytes.tree->what == form::block;
}

bool datatype::is_contiguous() const noexcept
{
    return is_block() && (size() == 0 || size() == extent());
}

std::optional<std::int64_t> datatype::elements_in(std::int64_t bytes) const noexcept
{
    if (bytes == 0)
        return 0;
    if (size() == 0 || bytes < 0)
        return std::nullopt;
    bool cut = false;
    std::int64_t const rest = elements_before(*description_->typed.tree, bytes % size(), cut);
    return cut ? std::nullopt : std::optional(bytes / size() * elements() + rest);
}

std::optional<std::int64_t> datatype::bytes_of(std::int64_t n) const noexcept
{
    if (n == 0)
        return 0;
    if (size() == 0 || n < 0)
        return std::nullopt;
    std::int64_t whole = 0;
    if (__builtin_mul_overflow(n / elements(), size(), &whole) ||
        __builtin_add_overflow(whole, bytes_before(*description_->typed.tree, n % elements()), &whole))
        return std::nullopt;
    return whole;
}

std::string datatype::describe() const
{
    return layout::describe(description_->bytes);
}

namespace {

void equally_long(checked const& in, std::size_t a, std::size_t b)
{
    if (a != b)
        in.refuse("the lists are " + std::to_string(a) + " and " + std::to_string(b) + " long; give one entry per block in each");
}

/// Blocks of `old` at displacements that are multiples of `unit`; lengths[i] elements in the i-th, or `length` where there is no list.
datatype blocks(checked const& in, std::span<std::int64_t const> lengths, std::int64_t length, std::span<std::int64_t const> displacements,
                std::int64_t unit, datatype const& old)
{
    part const& one = part_of(old);
    if (is_row(one, old.extent()))
        if (auto made = listed_rows(one, lengths, length, displacements, unit))
            return finished(*std::move(made), in);
    assembly all(in);
    all.reserve(displacements.size());
    part block;
    std::int64_t last = -1;  // the length of `block`: one node serves a run of equal ones
    for (std::size_t i = 0; i < displacements.size(); ++i) {
        std::int64_t const n = lengths.empty() ? length : lengths[i];
        in.not_negative(n, "blocklengths", static_cast<std::int64_t>(i));
        if (n == 0)
            continue;
        if (n != last)
            block = copies(one, last = n, old.extent(), in);
        all.add(in.mul(displacements[i], unit, "displacement"), block);
    }
    return finished(all.finish(), in);
}

datatype strided(checked const& in, std::int64_t count, std::int64_t blocklength, std::int64_t stride, datatype const& old)
{
    in.not_negative(blocklength, "blocklength");
    in.not_negative(count, "count");
    if (count == 0 || blocklength == 0)
        return finished({}, in);
    if (blocklength == 1)
        return finished(copies(part_of(old), count, stride, in), in);
    return finished(copies(copies(part_of(old), blocklength, old.extent(), in), count, stride, in), in);
}

} // namespace

datatype contiguous(std::int64_t count, datatype const& old)
{
    checked const in("contiguous");
    in.not_negative(count, "count");
    return finished(copies(part_of(old), count, old.extent(), in), in);
}

datatype vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, datatype const& old)
{
    checked const in("vector");
    // With one block or none the stride does not count.
    return strided(in, count, blocklength, count > 1 ? in.mul(stride, old.extent(), "stride") : 0, old);
}

datatype hvector(std::int64_t count, std::int64_t blocklength, std::int64_t stride, datatype const& old)
{
    return strided(checked("hvector"), count, blocklength, count > 1 ? stride : 0, old);
}

datatype indexed(std::span<std::int64_t const> blocklengths, std::span<std::int64_t const> displacements, datatype const& old)
{
    checked const in("indexed");
    equally_long(in, blocklengths.size(), displacements.size());
    return blocks(in, blocklengths, 0, displacements, old.extent(), old);
}

datatype hindexed(std::span<std::int64_t const> blocklengths, std::span<std::int64_t const> displacements, datatype const& old)
{
    checked const in("hindexed");
    equally_long(in, blocklengths.size(), displacements.size());
    return blocks(in, blocklengths, 0, displacements, 1, old);
}

datatype indexed_block(std::int64_t blocklength, std::span<std::int64_t const> displacements, datatype const& old)
{
    checked const in("indexed_block");
    in.not_negative(blocklength, "blocklength");
    return blocks(in, {}, blocklength, displacements, old.extent(), old);
}

datatype hindexed_block(std::int64_t blocklength, std::span<std::int64_t const> displacements, datatype const& old)
{
    checked const in("hindexed_block");
    in.not_negative(blocklength, "blocklength");
    return blocks(in, {}, blocklength, displacements, 1, old);
}

datatype structure(std::span<std::int64_t const> blocklengths, std::span<std::int64_t const> displacements, std::span<datatype const> types)
{
    checked const in("struct");
    equally_long(in, blocklengths.size(), displacements.size());
    equally_long(in, blocklengths.size(), types.size());
    assembly all(in);
    all.reserve(types.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
        in.not_negative(blocklengths[i], "blocklengths", static_cast<std::int64_t>(i));
        if (blocklengths[i] != 0)
            all.add(displacements[i], copies(part_of(types[i]), blocklengths[i], types[i].extent(), in));
    }
    return finished(all.finish(), in);
}

datatype resized(datatype const& old, std::int64_t lb, std::int64_t extent)
{
    checked const in("resized");
    part p = part_of(old);
    p.limits.mark(lb, in.add(lb, extent, "upper bound"));
    return finished(std::move(p), in);
}

} // namespace towline::layout
