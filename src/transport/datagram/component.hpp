#pragma once
// The transport's component over any link and clock, for tests and benchmarks. Programs use `open` (environment.hpp).

#include "transport/datagram/config.hpp"
#include "transport/datagram/endpoint.hpp"
#include "transport/datagram/environment.hpp"
#include "transport/datagram/link.hpp"

#include <memory>

namespace towline::transport::datagram {

/// Nanoseconds that never go back.
struct time_source {
    std::int64_t (*now)(void* context);
    void* context = nullptr;
};
[[nodiscard]] time_source monotonic_time() noexcept;

/// Publishes its address. The environment must outlive it.
[[nodiscard]] std::unique_ptr<component> make(std::unique_ptr<link>, environment&, config const&, time_source = monotonic_time());

/// What a component that `make` or `open` made has counted.
[[nodiscard]] endpoint_counts counts_of(component const&);

} // namespace towline::transport::datagram
