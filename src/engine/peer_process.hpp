#pragma once
// How a rank is sure that a process whose memory it reads with process_vm_readv is the peer that it means.
//
// A pid is a number in one PID namespace: in another one it names no process, or another one. It is also reused after its process has
// ended. So each rank tells its peers, with its pid, where a random word lies in its memory. A peer reads that word before anything else.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace towline::engine {

/// What a rank tells of its process.
struct process_card {
    std::int32_t pid = 0;
    std::uint64_t pid_namespace = 0;  ///< in which `pid` counts (inode of the namespace); 0: not known
    std::uint64_t address = 0;        ///< of the word, in that process
    std::uint64_t word = 0;
};

/// Of this process; `pid_namespace` is 0. The word is made at the first call and stays.
[[nodiscard]] process_card own_process() noexcept;

/// 0 if the memory of the process can be read from here, and the word is there; else errno: ESRCH where the process is not in
/// `own_namespace`, or is another one. One system call.
[[nodiscard]] int prove(process_card const&, std::uint64_t own_namespace) noexcept;

/// Address and word as they stand on a rank's card: "ADDRESS:WORD", both in hexadecimal.
[[nodiscard]] std::string text_of_word(process_card const&);
/// The other way round, into address and word; false for a text that is not of this form.
[[nodiscard]] bool read_word(std::string_view text, process_card&) noexcept;

} // namespace towline::engine
