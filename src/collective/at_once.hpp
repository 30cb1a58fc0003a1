#pragma once
// Blocking operations over lanes whose contributions are equally long and shown (over_lanes.hpp), at once.

#include "collective/at_once_steps.hpp"

#include <cstdint>

namespace towline::collective {

class at_once : at_once_steps {
public:
    using at_once_steps::state;

    /// Begins; then one of the operations, once.
    template <class Wait>
    at_once(lanes& l, bool crowded, Wait const& wait) noexcept : at_once_steps(l, crowded, wait)
    {
    }

    [[nodiscard]] state barrier()
    {
        return run_quietly([this] {
            if (meets_all_) {
                lanes_.publish(number_, 1, all_ranks);
                meet_all();
            } else if (lanes_.rank() == 0) {
                meet_all();
                lanes_.publish(number_, 2, all_ranks);
            } else {
                lanes_.publish(number_, 1, 0);
                stay(0);  // who finds somebody dead has reached every stage, too
            }
        });
    }

    // As in over_lanes.hpp, but for `in_place`: there `send` is where the contribution is. `Combine` does one step of a reduction, of all
    // bytes that this rank combines: combine(in, other, out), as collective::reduction.

    [[nodiscard]] state bcast(void* data, std::uint64_t bytes, int root)
    {
        return run_quietly([=, this] {
            one_way_ = true;
            if (lanes_.rank() == root) {
                show(data, bytes, bytes);
                return stays();
            }
            meet(root, 1);
            bring(root, data, 0, bytes, bytes);
            has_read(bytes, root);
        });
    }

    /// `receive` is looked at by the root only.
    [[nodiscard]] state gather(void const* send, void* receive, std::uint64_t bytes, int root)
    {
        return run_quietly([=, this] {
            one_way_ = true;
            if (lanes_.rank() != root) {
                show(send, bytes, bytes, root);
                return stays(root);
            }
            copy(block(receive, root, bytes), send, bytes);
            from_others(receive, bytes, 0, bytes);
            has_read(bytes);
        });
    }

    /// `send` is looked at by the root only, whose `receive` may be its own block of it.
    [[nodiscard]] state scatter(void const* send, void* receive, std::uint64_t bytes, int root)
    {
        return run_quietly([=, this] {
            one_way_ = true;
            std::uint64_t const all = bytes * static_cast<std::uint64_t>(lanes_.size());
            std::uint64_t const mine = bytes * static_cast<std::uint64_t>(lanes_.rank());
            if (lanes_.rank() == root) {
                show(send, all, all);
                copy(receive, static_cast<std::byte const*>(send) + mine, bytes);
                return stays();
            }
            meet(root, 1);
            bring(root, receive, mine, bytes, all);
            has_read(all, root);
        });
    }

    [[nodiscard]] state allgather(void const* send, void* receive, std::uint64_t bytes)
    {
        return run_quietly([=, this] {
            show(send, bytes, bytes);
            copy(block(receive, lanes_.rank(), bytes), send, bytes);
            from_others(receive, bytes, 0, bytes);
            has_read(bytes);
            stays();
        });
    }

    /// Not in place.
    [[nodiscard]] state alltoall(void const* send, void* receive, std::uint64_t bytes)
    {
        return run_quietly([=, this] {
            std::uint64_t const all = bytes * static_cast<std::uint64_t>(lanes_.size());
            std::uint64_t const mine = bytes * static_cast<std::uint64_t>(lanes_.rank());
            show(send, all, all);
            copy(block(receive, lanes_.rank(), bytes), static_cast<std::byte const*>(send) + mine, bytes);
            from_others(receive, bytes, mine, all);
            has_read(all);
            stays();
        });
    }

    /// `receive` may be `own`, and is looked at by the root only.
    template <class Combine>
    [[nodiscard]] state reduce(void const* own, void* receive, std::uint64_t bytes, Combine&& combine, int root)
    {
        return run_quietly([=, this, &combine] {
            one_way_ = true;
            if (lanes_.rank() != root) {
                show(own, bytes, bytes, root);
                return stays(root);
            }
            if (own == receive)
                post(own, bytes, root, 1);
            meet_all();
            fold(lanes_.size() - 1, own, receive, 0, bytes, bytes, combine);
            has_read(bytes);
        });
    }

    /// `receive` may be `own`.
    template <class Combine>
    [[nodiscard]] state allreduce(void const* own, void* receive, std::uint64_t bytes, Combine&& combine)
    {
        return run_quietly([=, this, &combine] {
            if (meets_all_) {
                show(own, bytes, bytes, all_ranks, own != receive);
                meet_all();
                fold(lanes_.size() - 1, own, receive, 0, bytes, bytes, combine);
                has_read(bytes);
                stays();
            } else if (lanes_.rank() == 0) {
                post(own, bytes, 0, 1);
                meet_all();
                fold(lanes_.size() - 1, own, receive, 0, bytes, bytes, combine);
                post(receive, bytes, all_ranks, 2);
            } else {
                post(own, bytes, 0, 1);
                meet(0, 2);
                bring(0, receive, 0, bytes, bytes);
            }
        });
    }

    /// Blocks of `bytes`; not in place.
    template <class Combine>
    [[nodiscard]] state reduce_scatter(void const* own, void* receive, std::uint64_t bytes, Combine&& combine)
    {
        return run_quietly([=, this, &combine] {
            std::uint64_t const all = bytes * static_cast<std::uint64_t>(lanes_.size());
            std::uint64_t const mine = bytes * static_cast<std::uint64_t>(lanes_.rank());
            show(own, all, all);
            meet_all();
            fold(lanes_.size() - 1, static_cast<std::byte const*>(own) + mine, receive, mine, bytes, all, combine);
            has_read(all);
            stays();
        });
    }

    /// `receive` may be `own`.
    template <class Combine>
    [[nodiscard]] state scan(void const* own, void* receive, std::uint64_t bytes, Combine&& combine)
    {
        return run_quietly([=, this, &combine] {
            one_way_ = true;
            show(own, bytes, bytes, all_ranks, own != receive);
            for (int r = 0; r < lanes_.rank(); ++r)
                meet(r, 1);
            fold(lanes_.rank(), own, receive, 0, bytes, bytes, combine);
            has_read(bytes);
            if (lanes_.rank() + 1 != lanes_.size())
                stays();
        });
    }
};

} // namespace towline::collective
