#pragma once
// Which transports there are, best first. A new one adds its line to table.cpp.

#include "transport/transport.hpp"

namespace towline::transport {

struct table_entry {
    std::string_view name;
    std::string_view summary;               ///< a few words, for `towline info`
    std::unique_ptr<component> (*open)();   ///< for this process's rank of its job; throws error where it cannot be used
};

[[nodiscard]] std::span<table_entry const> table() noexcept;

/// Whether TOWLINE_TRANSPORT lets this one be used. Joins nothing.
[[nodiscard]] bool is_wished(std::string_view name);
/// Whether this process uses a transport that needs attention while the program computes: packets are to be acknowledged, and sent again. Joins
/// the job.
[[nodiscard]] bool uses_network();

} // namespace towline::transport
