#pragma once
// Threads that the system refuses: what to say of it.

#include <towline/error.hpp>

#include <string>
#include <string_view>

namespace towline::base {

/// What a person does about a thread that could not be started: names `ulimit -u` and the pids limit of the cgroup, with their values.
[[nodiscard]] std::string thread_limits();

/// For a thread that std::thread or pthread_create refused with this errno: "cannot start WHICH: the system allows no more threads: ...".
[[nodiscard]] system_error no_thread(std::string_view which, int error);

} // namespace towline::base
