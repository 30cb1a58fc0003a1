#pragma once
// Sizes that were measured on this machine: the file that `towline tune` writes, and how it comes to the engines of a job.
//
// The file is TOML: [machine] says where it was measured (processor, cores, kernel, when), [thresholds] holds sizes by the names of
// thresholds::sizes, as bytes (4096) or text ("4K"); what is missing keeps its shipped value. It lies where TOWLINE_TUNING says (a path;
// "off": nowhere), else in $XDG_CONFIG_HOME/towline/machine.toml, else in ~/.config/towline/machine.toml. The launcher reads it once and
// writes the sizes into the job file, so that all ranks have the same; a process without a launcher reads it itself.

#include "engine/thresholds.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace towline::engine::tuning {

/// One of thresholds::sizes, for people.
struct threshold {
    char const* name;  ///< the member's, and the key in the file
    std::size_t thresholds::sizes::*value;
    std::size_t least;  ///< what the file may say
    std::size_t most;
    char const* meaning;  ///< in words, for `towline info`
};
/// All of them. The place in this list is the place in the job file: new ones go to its end.
[[nodiscard]] std::span<threshold const> table() noexcept;

/// What a file's figures hold for. A new kernel does not make another machine.
struct machine {
    std::string processor;
    unsigned cores = 0;  ///< hardware threads that are online
    std::string kernel;
    [[nodiscard]] bool same(machine const& other) const noexcept { return processor == other.processor && cores == other.cores; }
};
/// Costs about 50 us in a virtual machine, where the processor's name is asked of the hypervisor.
[[nodiscard]] machine this_machine();

enum class source : std::uint8_t {
    none,   ///< there is no file
    off,    ///< TOWLINE_TUNING=off
    file,
    other,  ///< the file was measured on another machine: ignored
    broken, ///< the file cannot be read, or is no TOML: ignored
};

/// What came of looking for the file.
struct reading {
    source from = source::none;
    std::string path;  ///< of the file, or where one would be; empty where nothing says so (no HOME)
    machine measured;  ///< as the file says
    std::string when;
    thresholds::sizes sizes{};
    std::vector<bool> given;               ///< by table(): the file says so
    std::vector<std::string> complaints;   ///< a line each: what is wrong with the file, with its name, line, key and what may stand there
};

/// What the file's text says; never throws for what stands in it. `path` is for complaints.
[[nodiscard]] reading parse(std::string_view text, std::string path, machine const& here);
/// Where the file lies; nothing where TOWLINE_TUNING is off or no folder is known.
[[nodiscard]] std::optional<std::string> file_path();
/// Finds and reads the file. Without one this costs a failed open. Throws usage_error where TOWLINE_TUNING names a file that cannot be
/// read.
[[nodiscard]] reading read();
/// The same, and tells on standard error what is wrong with it (warnings), or that it is another machine's (info).
[[nodiscard]] thresholds::sizes read_and_tell();

/// Sizes as the job file holds them, and back: a word each, the size + 1; 0, or what may not be, is the shipped one.
inline constexpr std::size_t most_words = 31;
using words = std::array<std::uint64_t, most_words>;
[[nodiscard]] words to_words(thresholds::sizes const&) noexcept;
[[nodiscard]] thresholds::sizes from_words(std::span<std::uint64_t const>) noexcept;

} // namespace towline::engine::tuning
