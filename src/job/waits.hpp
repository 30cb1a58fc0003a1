#pragma once
// What the ranks of a job wait for, and which calls they run, for people: each rank reports waits that last in its slot. A process that
// maps the control block reads the reports of all, and finds ranks that wait for each other. Nothing here is on the path of a message.

#include "job/process_state.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace towline::job {

struct rank_slot;

/// One thing that has to happen before a wait ends (or some of them); and behind these, the remote calls that the process runs.
struct waited_operation {
    enum class kind : std::uint32_t {
        receive,
        send,
        part,   ///< a message of an operation in which all ranks take part; its tag says nothing
        call,   ///< the answer of a remote call at `process`
        runs,   ///< a remote call of `process` runs here
        held,   ///< one waits here; what for stands next: a `call`, or `other`
        other,  ///< something that has only a name
    };
    static constexpr std::int32_t any = -1;            ///< rank, tag
    static constexpr std::uint32_t nobody = ~std::uint32_t{0};

    kind what = kind::receive;
    std::int32_t rank = any;               ///< within the communicator
    std::int32_t tag = any;
    std::uint32_t process = nobody;        ///< the same rank as the job numbers it; nobody: any, or not known
    std::uint64_t bytes = 0;               ///< of a send its size, of a receive its room
    std::array<char, 40> communicator{};   ///< its name, cut; of calls the function's, of `other` the thing's; NUL-terminated
};

struct wait_report {
    static constexpr std::size_t most = 20;

    std::int64_t since_ns = 0;      ///< CLOCK_MONOTONIC
    std::int64_t quiet_ns = 0;      ///< since when nothing has come to the waiting process
    std::uint64_t unexpected = 0;   ///< messages here that no receive has asked for
    std::uint32_t operations = 0;   ///< of `list`
    std::uint32_t more = 0;         ///< operations that found no room in it
    std::uint32_t threads = 1;      ///< of the process that wait; what follows is about the first
    std::uint16_t computing = 0;    ///< 1: other threads of the process are at work, and may communicate
    std::uint16_t idle = 0;         ///< 1: it waits for nothing of its own; it is there to run calls
    std::array<char, 40> call{};    ///< "MPI_Recv"; NUL-terminated; empty: no thread waits, calls run
    std::array<char, 40> communicator{};  ///< of all operations; empty: of none, or of several
    std::array<waited_operation, most> list{};

    void add(waited_operation const&) noexcept;  ///< to the list, or to `more`
    /// What the threads wait for, and the calls behind it.
    [[nodiscard]] std::span<waited_operation const> waited() const noexcept;
    [[nodiscard]] std::span<waited_operation const> calls() const noexcept;
};

/// Without the NUL.
[[nodiscard]] std::string_view text_of(std::span<char const> text) noexcept;
/// Cuts the text to what fits, with a NUL behind it.
void set_text(std::span<char> to, std::string_view text) noexcept;

/// Where a rank reports. One writer at a time; readers in any process see a whole report or none. All zeros: none.
struct wait_board {
    void publish(wait_report const&) noexcept;
    void clear() noexcept;
    [[nodiscard]] std::optional<wait_report> read() const noexcept;

    /// When the process was last seen at work in the library; CLOCK_MONOTONIC, 0: never. A store, from time to time.
    std::atomic<std::int64_t> active_ns;

    // Touched by the functions above alone.
    static constexpr std::size_t words = 176;
    std::atomic<std::uint32_t> sequence;  ///< odd while the report changes
    std::atomic<std::uint32_t> filled;    ///< 1: there is one
    std::array<std::atomic<std::uint64_t>, 4> answer;  ///< of a rank on another node: what its keeper told last (questions.hpp)
    std::array<std::atomic<std::uint64_t>, words> report;
};
static_assert(sizeof(wait_report) <= wait_board::words * 8 && sizeof(wait_board) == 1456);

/// A rank as its slot shows it at one moment.
struct rank_view {
    enum class state { absent, running, left, dead };
    state is = state::absent;
    bool unfinished = false;              ///< has begun MPI, and not ended it
    std::int64_t active_ns = 0;
    std::optional<wait_report> wait;
    std::string note{};                   ///< what it sleeps for, where it says that in words
    process_state process{};              ///< as look_at_processes finds it
};
[[nodiscard]] rank_view view_of(rank_slot const&);

/// "waits in MPI_Recv for rank 1, tag 7"; with a plural verb for several ranks: "wait in ...". Nothing of the calls that run.
[[nodiscard]] std::string describe(wait_report const&, std::size_t self, bool plural = false);
/// "a receive from rank 1, tag 7", "step at rank 2".
[[nodiscard]] std::string describe(waited_operation const&, std::size_t self);

/// "rank 0", "ranks 0 to 3", "ranks 0, 2 and 5"; of very many, the first.
[[nodiscard]] std::string numbers_of(std::vector<std::size_t> const& ranks);

struct situation {
    /// "rank 0 waits in MPI_Recv for rank 1, tag 7 (MPI_COMM_WORLD), for 61 s"; those that do the same in one.
    std::vector<std::string> ranks;
    std::vector<std::string> cycles;  ///< "rank 0 waits in MPI_Recv for rank 1, tag 7; rank 1 waits in MPI_Recv for rank 0, tag 9"
};
[[nodiscard]] situation explain(std::span<rank_view const>, std::int64_t now_ns);

/// situation::cycles (cycles.cpp).
[[nodiscard]] std::vector<std::string> find_cycles(std::span<rank_view const>);

/// Whether every rank that runs has waited without anything coming to it for `quiet_ns`, and at least one for something of its own.
[[nodiscard]] bool all_are_stuck(std::span<rank_view const>, std::int64_t now_ns, std::int64_t quiet_ns) noexcept;

} // namespace towline::job
