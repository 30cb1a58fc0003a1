// How the blocks of one message travel, and who owns what until they are on their way.

#include "engine/plan.hpp"

#include "base/copy.hpp"
#include "heap/heap.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <cstring>
#include <new>

namespace towline::engine {

message_plan::message_plan(common& c, attachments& a, peer to, std::span<block const> given)
    : common_(c), attachments_(a), given_(given), to_(to)
{
}

message_plan::~message_plan()
{
    if (chosen_) {
        taken(outcome::failed);
        return;
    }
    // The message was refused before anything was chosen: given blocks are freed all the same.
    for (auto const& b : given_) {
        if (b.how == lending::give && heap::contains(b.data))
            heap::deallocate(const_cast<void*>(b.data));
    }
}

bool message_plan::inside_the_message(block const& b, peer_state const& p, std::uint64_t size_so_far) const
{
    thresholds::sizes const& from = common_.config.sizes;
    std::uint64_t const total = wire::padded(size_so_far) + b.size;
    if (b.size == 0)
        return true;
    if (total > p.max_eager || total > from.inline_block)
        return false;
    bool const maps = p.maps || to_ == common_.config.rank;
    if (b.how == lending::give)
        return !maps || b.size < from.hand_over;
    if (b.how == lending::lend && maps && b.size >= from.map_lent && heap::reaches(b.data))
        return false;
    return true;
}

void message_plan::put_inside(planned& to, block const& b)
{
    to.wire = wire::descriptor::make(wire::how::inside, b.size, 0);
    to.inside = b.data;
    to.inside_size = b.size;
    if (b.how == lending::give)
        to.owned = const_cast<void*>(b.data);
    inside += b.size;
}

bool message_plan::tell_where(planned& to, wire::how how, void const* data, std::size_t size)
{
    bool const own = to_ == common_.config.rank;
    std::uint64_t const where = own ? reinterpret_cast<std::uintptr_t>(data) : heap::find_packed(data, size);
    to.wire = wire::descriptor::make(own ? wire::within_a_rank(how) : how, size, where);
    return where != 0;
}

bool message_plan::hand_over(planned& to, void* data, std::size_t size, wire::how how)
{
    if (!tell_where(to, how, data, size))
        return false;
    to.owned = data;
    to.leaves = true;
    return true;
}

bool message_plan::stage(planned& to, block const& b)
{
    void* const copy = heap::try_allocate(b.size);
    if (copy == nullptr)
        return false;
    base::copy_block(copy, b.data, b.size);
    if (hand_over(to, copy, b.size, wire::how::staged))
        return true;
    heap::deallocate(copy);
    return false;
}

bool message_plan::map(planned& to, block const& b)
{
    to.kept = tell_where(to, wire::how::mapped, b.data, b.size);
    return to.kept;
}

bool message_plan::attach(planned& to, block const& b)
{
    if (!attachments_.may_attach(to_))
        return false;
    to.wire = wire::descriptor::make(wire::how::attached, b.size, reinterpret_cast<std::uintptr_t>(b.data));
    to.kept = true;
    return true;
}

void message_plan::capture(planned& to, block const& b)
{
    to.owned = heap::allocate(b.size);  // throws std::bad_alloc
    base::copy_block(to.owned, b.data, b.size);
}

void message_plan::from_afar(planned& to, block const& b, peer_state& p)
{
    void* data = const_cast<void*>(b.data);
    if (b.how == lending::copy) {
        capture(to, b);
        data = to.owned;
    } else if (b.how == lending::give) {
        to.owned = data;
    }
    to.kept = true;
    to.wire = wire::descriptor::make(wire::how::pulled, b.size, 0);
    if (p.gets) {
        to.region = p.via->expose(data, b.size);
        to.exposed = true;
        to.wire = wire::descriptor::make(wire::how::exposed, b.size, 0);
        to.inside = &to.region;
        to.inside_size = sizeof to.region;
    }
}

void message_plan::choose(peer_state& p, std::size_t head)
{
    blocks.resize(given_.size());
    chosen_ = true;
    for (std::size_t i = 0; i < given_.size(); ++i) {
        // Until something is chosen for it, the plan owns a given block.
        if (given_[i].how == lending::give)
            blocks[i].owned = const_cast<void*>(given_[i].data);
    }
    std::uint64_t size = sizeof(wire::message_header) + given_.size() * sizeof(wire::descriptor) + wire::padded(head);
    bool const maps = p.maps || to_ == common_.config.rank;
    for (std::size_t i = 0; i < given_.size(); ++i) {
        block const& b = given_[i];
        planned& to = blocks[i];
        if (b.size > wire::max_block || (b.data == nullptr && b.size != 0))
            throw usage_error(fmt::format("block {} of a message: {} bytes at {}", i, b.size, b.data));
        if (b.how == lending::give && b.data != nullptr && !heap::contains(b.data)) {
            to.owned = nullptr;
            throw usage_error(fmt::format("block {} of a message is given away, but {} is no heap block", i, b.data));
        }
        if (inside_the_message(b, p, size)) {
            put_inside(to, b);
        } else if (maps) {
            bool done = false;
            switch (b.how) {
            case lending::give: done = hand_over(to, const_cast<void*>(b.data), b.size, wire::how::given); break;
            case lending::copy: done = stage(to, b); break;
            case lending::lend: {
                bool const copied_out = !b.viewed && b.size >= common_.config.sizes.attach_lent;
                done = map(to, b) || (copied_out && attach(to, b)) || stage(to, b) || (!copied_out && attach(to, b));
                break;
            }
            }
            // No room in the arena, or an address outside of it: the receiver asks for the bytes piece by piece.
            if (!done)
                from_afar(to, b, p);
        } else {
            from_afar(to, b, p);
        }
        released = released || to.kept;
        size = wire::padded(size) + to.inside_size;
    }
}

std::vector<kept_block> message_plan::keep()
{
    std::vector<kept_block> kept;
    if (!released)
        return kept;
    kept.resize(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        planned& b = blocks[i];
        if (!b.kept)
            continue;
        kept[i].data = b.owned != nullptr ? b.owned : given_[i].data;
        kept[i].size = given_[i].size;
        kept[i].owned = b.owned != nullptr;
        kept[i].region = b.region;
        kept[i].exposed_by = b.exposed ? common_.peers[to_].via : nullptr;
        b.owned = nullptr;
        b.exposed = false;
    }
    return kept;
}

void message_plan::taken(outcome how)
{
    for (auto& b : blocks) {
        if (b.owned != nullptr && (how == outcome::failed || !b.leaves))
            heap::deallocate(b.owned);
        b.owned = nullptr;
        if (b.exposed && how == outcome::failed)
            common_.peers[to_].via->conceal(b.region);
        b.exposed = false;
    }
}

} // namespace towline::engine
