#pragma once
// A collective operation of the program while it is built and runs: its schedule, its packing and unpacking, and the objects that it holds.
// Blocking, nonblocking and persistent calls share this class. An operation is reusable and keeps its memory.

#include "collective/call.hpp"
#include "collective/call_check.hpp"
#include "collective/request.hpp"
#include "layout/copy_plan.hpp"
#include "mpi/communicator.hpp"
#include "mpi/payload.hpp"
#include "mpi/reduction.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace towline::mpi {

/// The MPI error class of an ending, or MPI_SUCCESS.
[[nodiscard]] int code_of(collective::ending) noexcept;
[[nodiscard]] int code_of(collective::different_calls const&) noexcept;

class collective_operation {
public:
    collective_operation() = default;
    collective_operation(collective_operation const&) = delete;
    collective_operation& operator=(collective_operation const&) = delete;

    // Building. Errors are thrown, and the operation is cleared.

    [[nodiscard]] collective::schedule& schedule() noexcept { return request_.schedule(); }
    [[nodiscard]] mpi::reduction& reduction() noexcept { return reduction_; }

    /// The contiguous bytes of a buffer, in place or packed: to be sent, to be received, or both.
    [[nodiscard]] void const* input(payload const& p) { return p.in_a_row() ? p.data() : staged(p, true, false); }
    [[nodiscard]] void* output(payload const& p) { return p.in_a_row() ? p.data() : staged(p, false, true); }
    [[nodiscard]] void* inout(payload const& p) { return p.in_a_row() ? p.data() : staged(p, true, true); }

    /// The same for the elements of a reduction.
    [[nodiscard]] void const* input(mpi::reduction::elements const& e) { return e.packed ? staged(e.data, true, false) : e.at; }
    [[nodiscard]] void* output(mpi::reduction::elements const& e) { return e.packed ? staged(e.data, false, true) : e.at; }
    [[nodiscard]] void* inout(mpi::reduction::elements const& e) { return e.packed ? staged(e.data, true, true) : e.at; }

    /// Memory that lives until the operation is cleared.
    [[nodiscard]] std::byte* staging(std::uint64_t bytes) { return schedule().scratch(bytes); }
    void pack_before(payload const& from, std::byte* to) { stages_.push_back({from, from.type(), to, true, false}); }
    void unpack_after(payload const& to, std::byte* from) { stages_.push_back({to, to.type(), from, false, true}); }

    /// Copies this rank's block to itself from layout to layout when the operation starts. False, and nothing is done, if both sides are
    /// contiguous, differ in size, or are nested too deep for a plan.
    [[nodiscard]] bool move_own(payload const& to, payload const& from);

    /// What is called, for the check of calls (collective/call_check.hpp). `count` and `type` describe the elements on which this rank and
    /// others must agree; negative and null: none.
    struct description {
        char const* name = "";
        int root = -1;
        MPI_Count count = -1;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Op op = MPI_OP_NULL;
    };
    void describe(description const& d) noexcept { about_ = d; }
    /// Sets this rank's part. Without it the rank has no part.
    void calls(collective::call const& c) noexcept { call_ = c; }
    [[nodiscard]] collective::call const& call() const noexcept { return call_; }
    [[nodiscard]] collective::call_card card() const;

    /// Marks the operation as failed because this rank's own arguments do not fit together, as `what` says. The rank still takes part.
    void spoil(std::string what)
    {
        schedule().spoil();
        spoiled_by_ = std::move(what);
    }

    /// Where the blocks of ranks are: addresses, sizes in bytes (of reductions: in elements).
    struct blocks {
        std::vector<std::uint64_t> sizes;
        std::vector<std::uint64_t> addresses;
        void clear() noexcept
        {
            sizes.clear();
            addresses.clear();
        }
        void add(std::uint64_t size, void const* at = nullptr)
        {
            sizes.push_back(size);
            addresses.push_back(reinterpret_cast<std::uintptr_t>(at));
        }
        [[nodiscard]] void* at(std::size_t rank) const noexcept { return reinterpret_cast<void*>(addresses[rank]); }
    };
    [[nodiscard]] blocks& sending() noexcept { return sending_; }
    [[nodiscard]] blocks& receiving() noexcept { return receiving_; }

    // Running: packs and begins. Errors of peers are in the ending.

    /// Packs before, and unpacks after, data that are not contiguous.
    void pack() const;
    void unpack() const noexcept;
    void start(communicator& c, std::uint32_t sequence);
    [[nodiscard]] bool done() const noexcept { return request_.done(); }
    /// Blocks until it is done.
    void wait(communicator& c, char const* call);
    /// Starts it; polls advance it.
    void leave();
    /// Once it is done: its ending.
    [[nodiscard]] collective::ending result() const noexcept { return request_.result(); }
    /// Called once after each start, when it is done: unpacks, and returns the error code or MPI_SUCCESS.
    int finish() noexcept;
    /// The text for that code; null if there is none.
    [[nodiscard]] char const* explain(int code) const noexcept
    {
        return !spoiled_by_.empty() ? spoiled_by_.c_str() : !different_.empty() ? different_.c_str() : meaning_of(code);
    }
    [[nodiscard]] static char const* meaning_of(int code) noexcept;

    /// Resets it for the next use. Nothing is under way.
    void clear() noexcept;

private:
    struct stage {
        payload data;
        ref<datatype> type;
        std::byte* bytes;
        bool before, after;
        [[nodiscard]] bool is_result() const noexcept { return after && !before; }
    };
    struct own_move {
        payload to, from;
        ref<datatype> to_type, from_type;
        layout::copy_plan plan;
    };
    void lay_rows();
    void unpack_rows();
    [[nodiscard]] std::byte* staged(payload const& p, bool before, bool after)
    {
        std::byte* const bytes = staging(static_cast<std::uint64_t>(p.bytes()));
        stages_.push_back({p, p.type(), bytes, before, after});
        return bytes;
    }

    collective::collective_request request_;
    collective::call call_;
    mpi::reduction reduction_;
    std::vector<stage> stages_;
    std::vector<own_move> moves_;
    blocks sending_, receiving_;
    description about_;
    std::string spoiled_by_;  ///< empty: by nothing
    std::string different_;   ///< empty: all ranks called the same operation
};

/// An operation from a small pool, or a new one. Its destructor returns it to the pool.
class pooled_operation {
public:
    pooled_operation() : o_(take()) {}
    pooled_operation(pooled_operation&& other) noexcept : o_(std::exchange(other.o_, nullptr)) {}
    pooled_operation& operator=(pooled_operation&&) = delete;
    ~pooled_operation()
    {
        if (o_ != nullptr)
            give_back(o_);
    }
    collective_operation& operator*() const noexcept { return *o_; }
    collective_operation* operator->() const noexcept { return o_; }

private:
    [[nodiscard]] static collective_operation* take();
    static void give_back(collective_operation*) noexcept;
    collective_operation* o_;
};

} // namespace towline::mpi
