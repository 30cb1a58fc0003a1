#pragma once
// The datagram transport in a job: addresses stand on the ranks' cards, the key in the job file.

#include "transport/datagram/environment.hpp"

namespace towline::transport::datagram {

/// The transport of this process's rank, at its node's address. Joins the job. Throws as `open`.
[[nodiscard]] std::unique_ptr<component> open_in_job();

} // namespace towline::transport::datagram
