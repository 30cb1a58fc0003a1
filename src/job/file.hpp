#pragma once
// Making the job file (docs/wire.md, "The job file"): one sealed, nameless, sparse memfd per job and node.

#include "base/unique_fd.hpp"
#include "job/control.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace towline::job {

inline constexpr std::uint32_t max_ranks = 16384;
inline constexpr std::uint64_t min_segment_bytes = std::uint64_t{16} << 20;

struct job_options {
    std::uint64_t segment_bytes = 0;  ///< a power of two; 0: TOWLINE_SEGMENT, else default_segment_bytes
    std::uint32_t cores = 0;          ///< 0: base::usable_cores()
    std::uint32_t beside = 0;         ///< control_header::beside
    bool keep_going = false;
    bool bound = false;
    std::span<std::uint64_t const> tuning{};  ///< for control_header::tuning; empty: nobody has looked
    /// Of a job of several nodes; empty: there is one.
    std::span<std::uint32_t const> node_of{};  ///< each rank's node
    std::uint32_t node = 0;                    ///< whose file this is
    std::string id{};                          ///< of the job, at most 31 bytes; empty: a new one
    std::array<std::byte, 32> const* key = nullptr;  ///< of the job; null: a new one
    std::string addresses{};                   ///< control_header::addresses
    std::string hosts{};                       ///< control_header::hosts
};

/// The secret, and the name on its machine, of a new job.
[[nodiscard]] std::array<std::byte, 32> new_key();
[[nodiscard]] std::string new_id();

/// Address space for each rank's arena: 64 GiB or four times the memory, whichever is more (a power of two), so that nobody ever runs
/// out of it; less where all segments would pass 32 TiB together (1 TiB with sanitizers, 8 GiB each), RLIMIT_FSIZE, or half of RLIMIT_AS.
/// Throws limit_error where less than min_segment_bytes is left.
[[nodiscard]] std::uint64_t default_segment_bytes(std::uint32_t size);

/// The job file for `size` ranks, filled in and sealed; its descriptor is close-on-exec (whoever starts ranks lets them inherit it).
/// Throws usage_error, limit_error (a setting or a bound), system_error (the kernel refused).
[[nodiscard]] base::unique_fd create_job_file(std::uint32_t size, job_options const& options = {});

/// The launcher's view of a job: the control block mapped for as long as the object lives, without being a rank.
class control_view {
public:
    explicit control_view(int job_fd);  ///< of a file that create_job_file made
    control_view(control_view const&) = delete;
    control_view& operator=(control_view const&) = delete;
    ~control_view();

    /// Ranks may write anything here.
    [[nodiscard]] control_header& header() const noexcept { return *header_; }
    [[nodiscard]] std::span<rank_slot> slots() const noexcept { return {reinterpret_cast<rank_slot*>(header_ + 1), size_}; }
    /// Of every rank, the ways that its messages took. Zeros for ranks of other nodes.
    [[nodiscard]] std::span<way_board const> boards() const noexcept { return {boards_behind(slots().data(), size_), size_}; }
    /// The job's name, as it was when this view was made.
    [[nodiscard]] std::string const& id() const noexcept { return id_; }

    /// Marks a rank dead with its wait(2) status and wakes everybody who may wait for it. Once per rank; false if it was dead already.
    bool mark_dead(int rank, int status) noexcept;
    /// What is told about a rank has changed: wakes those who wait at a fence.
    void wake_fences() noexcept;

private:
    control_header* header_;
    std::uint32_t size_;  ///< read once: what the header says later may be anything
    std::string id_;
};

/// The constant fields of a header, read once and checked.
struct checked_header {
    std::uint32_t size = 0;
    std::string id;  ///< printable
    std::uint32_t node = 0;  ///< whose file it is
    std::uint32_t nodes = 1; ///< of the job
    std::vector<std::string> hosts{};  ///< names of the nodes' hosts, printable; empty, or shorter than `nodes`: not known
};
/// Reads the header of a file that another process made, and that may be hostile. Throws error: it is no job file that this version knows,
/// or one that could shrink under its readers.
[[nodiscard]] checked_header read_header(int job_fd);


/// Identifies the namespace in which this process's pids count; 0 where /proc does not tell. Does not allocate.
[[nodiscard]] std::uint64_t pid_namespace() noexcept;

/// Bytes of the control block of a job of `size`, rounded so that segments begin at a huge page.
[[nodiscard]] constexpr std::uint64_t control_bytes(std::uint32_t size) noexcept
{
    constexpr std::uint64_t huge = std::uint64_t{2} << 20;
    return (mapped_bytes(size) + huge - 1) / huge * huge;
}

/// What is wrong with a control block for a file of `file_bytes`; null if nothing. Does not allocate.
[[nodiscard]] char const* check_control(control_header const& header, std::uint64_t file_bytes) noexcept;

} // namespace towline::job
