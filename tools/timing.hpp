#pragma once
// How long the parts of a job on several hosts wait for each other.

#include <chrono>

namespace towline::tools::timing {

/// From the start of ssh to the first word of the agent. Longer than a slow login, shorter than a person's patience.
inline constexpr std::chrono::seconds hello{30};
/// From the agent's first word to the job: the other hosts may take as long as `hello`.
inline constexpr std::chrono::seconds job_to_agent{60};
/// Each side says at least so often that it is there.
inline constexpr std::chrono::milliseconds alive{250};
/// Who was silent for so long is gone: its host is down, or no packet comes through.
inline constexpr std::chrono::seconds silence{10};

} // namespace towline::tools::timing
