#pragma once
// Several links as one, in as many networks: each is a path.

#include "transport/datagram/link.hpp"

#include <memory>
#include <vector>

namespace towline::transport::datagram {

/// Path number i goes over the link number i here and at the peer. From 1 to most_paths links; one is returned as it is. Throws
/// system_error where the system gives no descriptor.
[[nodiscard]] std::unique_ptr<link> bundle(std::vector<std::unique_ptr<link>>);

} // namespace towline::transport::datagram
