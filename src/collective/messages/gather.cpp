// Gather and scatter by messages.

#include "collective/messages/algorithms.hpp"
#include "collective/messages/tree.hpp"

#include <algorithm>

namespace towline::collective::algorithms {
namespace {

/// The blocks of `count` numbers of the tree from `first` on, as they lie in a buffer in the order of ranks: two pieces where they go
/// around the end.
struct pieces {
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t around;  ///< the rest lies at the buffer's begin
};

pieces pieces_of(binomial_tree const& tree, int first, int count, std::uint64_t bytes)
{
    int const rank = tree.rank_of(first);
    int const straight = std::min(count, tree.size - rank);
    return {static_cast<std::uint64_t>(rank) * bytes, static_cast<std::uint64_t>(straight) * bytes,
            static_cast<std::uint64_t>(count - straight) * bytes};
}

} // namespace

void gather_binomial(schedule& s, position here, void const* send, std::uint64_t bytes, void* receive, int root)
{
    if (bytes == 0)
        return;
    binomial_tree const tree(here, root);
    auto const size_of = [&](int blocks) { return static_cast<std::uint64_t>(blocks) * bytes; };
    if (!tree.is_root()) {
        std::byte const* whole = static_cast<std::byte const*>(send);
        if (tree.subtree > 1) {
            std::byte* const all = s.scratch(size_of(tree.subtree));
            s.copy(all, send, bytes);
            for (int bit = 1; bit < tree.span; bit *= 2) {
                if (tree.has_child(bit))
                    s.receive(tree.child(bit), all + size_of(bit), size_of(tree.below(bit)));
            }
            s.wait();
            whole = all;
        }
        s.send(tree.parent(), whole, size_of(tree.subtree));
        s.wait();
        return;
    }
    auto* const all = static_cast<std::byte*>(receive);
    if (send != in_place)
        s.copy(all + size_of(root), send, bytes);
    std::byte* aside = nullptr;
    pieces split{};
    for (int bit = 1; bit < tree.span; bit *= 2) {
        if (!tree.has_child(bit))
            continue;
        pieces const to = pieces_of(tree, bit, tree.below(bit), bytes);
        std::byte* landing = all + to.offset;
        if (to.around != 0) {  // one child at most
            split = to;
            landing = aside = s.scratch(to.size + to.around);
        }
        s.receive(tree.child(bit), landing, to.size + to.around);
    }
    s.wait();
    if (aside != nullptr) {
        s.copy(all + split.offset, aside, split.size);
        s.copy(all, aside + split.size, split.around);
    }
}

void scatter_binomial(schedule& s, position here, void const* send, void* receive, std::uint64_t bytes, int root)
{
    if (bytes == 0)
        return;
    binomial_tree const tree(here, root);
    auto const size_of = [&](int blocks) { return static_cast<std::uint64_t>(blocks) * bytes; };
    if (tree.is_root()) {
        auto const* const all = static_cast<std::byte const*>(send);
        for (int bit = tree.span / 2; bit > 0; bit /= 2) {
            if (!tree.has_child(bit))
                continue;
            pieces const from = pieces_of(tree, bit, tree.below(bit), bytes);
            std::byte const* theirs = all + from.offset;
            if (from.around != 0) {
                std::byte* const aside = s.scratch(from.size + from.around);
                s.copy(aside, theirs, from.size);
                s.copy(aside + from.size, all, from.around);
                theirs = aside;
            }
            s.send(tree.child(bit), theirs, from.size + from.around);
        }
        if (receive != in_place)
            s.copy(receive, all + size_of(root), bytes);
        s.wait();
        return;
    }
    auto* const mine = tree.subtree > 1 ? s.scratch(size_of(tree.subtree)) : static_cast<std::byte*>(receive);
    s.receive(tree.parent(), mine, size_of(tree.subtree));
    s.wait();
    for (int bit = tree.span / 2; bit > 0; bit /= 2) {
        if (tree.has_child(bit))
            s.send(tree.child(bit), mine + size_of(bit), size_of(tree.below(bit)));
    }
    s.copy(receive, mine, bytes);
    s.wait();
}

void gather_linear(schedule& s, position here, void const* send, std::uint64_t bytes, void* receive, layout_of_blocks const& blocks,
                   int root)
{
    if (here.rank != root) {
        s.send_any(root, send, bytes);
        s.wait();
        return;
    }
    for (int i = 1; i < here.size; ++i) {
        int const from = here.around(i);
        s.receive_any(from, blocks.at(receive, from), blocks.size(from));
    }
    if (send != in_place)
        s.copy(blocks.at(receive, root), send, std::min(bytes, blocks.size(root)));
    s.wait();
}

void scatter_linear(schedule& s, position here, void const* send, layout_of_blocks const& blocks, void* receive, std::uint64_t bytes,
                    int root)
{
    if (here.rank != root) {
        s.receive_any(root, receive, bytes);
        s.wait();
        return;
    }
    for (int i = 1; i < here.size; ++i) {
        int const to = here.around(i);
        s.send_any(to, blocks.at(send, to), blocks.size(to));
    }
    if (receive != in_place)
        s.copy(receive, blocks.at(send, root), std::min(bytes, blocks.size(root)));
    s.wait();
}

} // namespace towline::collective::algorithms
