#pragma once
// How long the parts of a job on several hosts wait for each other.

#include <chrono>

namespace towline::tools::timing {

/// From the start of ssh to the first word of the agent. Longer than a slow login, shorter than a person's patience.
inline constexpr std::chrono::seconds hello{30};
/// From the agent's first word to the job: the other hosts may take as long as `hello`, and as long again where other hosts start them.
inline constexpr std::chrono::seconds job_to_agent{90};
/// Each side says at least so often that it is there.
inline constexpr std::chrono::milliseconds alive{250};
/// Who was silent for so long is gone: its host is down, or no packet comes through.
inline constexpr std::chrono::seconds silence{10};
/// What the ranks of other nodes wait for is known after this, or their nodes are told not to answer.
inline constexpr std::chrono::seconds answers{3};

} // namespace towline::tools::timing
