#pragma once
// Datatypes (5): a layout in memory, with its constructor call, committed state, name and attributes.

#include "layout/datatype.hpp"
#include "layout/short_plan.hpp"
#include "matching/laid.hpp"
#include "mpi/abi.hpp"
#include "mpi/attributes.hpp"
#include "mpi/handles.hpp"
#include "mpi/object.hpp"

#include <array>
#include <atomic>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace towline::mpi {

/// The call that constructed a datatype, for MPI_Type_get_contents (5.1.13). Arguments of type MPI_Count are in `counts`.
struct construction {
    int combiner = MPI_COMBINER_NAMED;
    boost::container::small_vector<int, 4> integers;
    boost::container::small_vector<MPI_Aint, 2> addresses;
    boost::container::small_vector<MPI_Count, 3> counts;
    boost::container::small_vector<ref<datatype>, 3> types;
};

class datatype final : public object {
public:
    /// A derived datatype, not committed.
    datatype(layout::datatype layout, construction made) noexcept : layout_(std::move(layout)), made_(std::move(made)) {}
    /// A duplicate of `other`, without its name and attributes.
    explicit datatype(datatype const& other) : object(), layout_(other.layout_), made_(other.made_)
    {
        if (other.is_committed())
            commit();
    }
    /// A predefined datatype.
    datatype(layout::datatype layout, std::string_view name, MPI_Datatype handle);
    ~datatype() override;

    [[nodiscard]] layout::datatype const& layout() const noexcept { return layout_; }
    [[nodiscard]] construction const& made() const noexcept { return made_; }

    [[nodiscard]] bool is_committed() const noexcept { return committed_.load(std::memory_order_relaxed); }
    void commit() noexcept
    {
        if (is_committed())
            return;
        short_.make(layout_);
        committed_.store(true, std::memory_order_relaxed);
    }
    /// The short plan of one element; empty before MPI_Type_commit.
    [[nodiscard]] layout::short_plan const& briefly() const noexcept { return short_; }

    /// The layout of `count` elements in memory that peers can read (matching/laid.hpp); null if there is none. The second request for the
    /// same count builds it (in the basic design the first), so that data sent once do not pay for it; those of the last few counts are kept.
    [[nodiscard]] std::shared_ptr<matching::shown_layout const> shown(std::int64_t count);

    /// The handle of a datatype that cannot be freed, because the standard or the library keeps it; else null.
    [[nodiscard]] MPI_Datatype lasting_handle() const noexcept { return handle_; }
    /// Gives it a handle that cannot be freed. Called before any other thread knows it.
    void make_lasting();

    [[nodiscard]] attribute_set& attributes() noexcept { return attributes_; }
    [[nodiscard]] std::string name() const
    {
        std::scoped_lock const lock(mutex_);
        return name_;
    }
    void set_name(std::string_view name)
    {
        std::scoped_lock const lock(mutex_);
        name_ = name;
    }

private:
    layout::datatype const layout_;
    construction made_;
    std::atomic<bool> committed_{false};
    layout::short_plan short_;
    MPI_Datatype handle_ = MPI_DATATYPE_NULL;
    attribute_set attributes_;
    mutable std::mutex mutex_;
    std::string name_;
    struct shown_count {
        std::int64_t count = 0;  ///< 0: none
        bool is_made = false;    ///< `layout` is the answer
        std::shared_ptr<matching::shown_layout const> layout;
    };
    struct shown_counts {
        std::array<shown_count, 4> all;  ///< the one that was asked for last is the first
    };
    std::unique_ptr<shown_counts> shown_;  ///< null: shown() was not asked for
};

[[noreturn, gnu::cold]] void throw_not_committed(char const* parameter);
[[noreturn, gnu::cold]] void throw_negative_count(std::int64_t count, char const* parameter);
[[noreturn, gnu::cold]] void throw_no_buffer(void const* buffer, std::int64_t count, char const* parameter);

/// The datatype of a message; throws if it is not committed.
[[nodiscard, gnu::always_inline]] inline datatype& get_committed(MPI_Datatype handle, char const* parameter)
{
    datatype& type = get(handle, parameter);
    if (!type.is_committed()) [[unlikely]]
        throw_not_committed(parameter);
    return type;
}

inline void check_count(std::int64_t count, char const* parameter)
{
    if (count < 0) [[unlikely]]
        throw_negative_count(count, parameter);
}

/// Throws if data would lie in the zero page: a null pointer with displacements that are not addresses, or MPI_IN_PLACE where it has no
/// meaning.
inline void check_buffer(void const* buffer, std::int64_t count, datatype const& type, char const* parameter)
{
    layout::datatype const& l = type.layout();
    if (reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(l.true_lb()) < 4096 && count > 0 && l.size() > 0) [[unlikely]]
        throw_no_buffer(buffer, count, parameter);
}

} // namespace towline::mpi
