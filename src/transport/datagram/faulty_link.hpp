#pragma once
// A link that treats what another link sends and receives as a bad network would.

#include "transport/datagram/faults.hpp"
#include "transport/datagram/link.hpp"

#include <memory>

namespace towline::transport::datagram {

/// `sending` and `receiving`: what happens to datagrams on their way out, and in.
[[nodiscard]] std::unique_ptr<link> make_faulty(std::unique_ptr<link>, faults const& sending, faults const& receiving = {});

} // namespace towline::transport::datagram
