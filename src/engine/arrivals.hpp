#pragma once
// Arrival: from a transport's handler to the program's. Nothing here trusts what it reads before checking it.
//
// Owns the table of handlers (it grows only while no thread polls) and the messages that come in fragments. The poller only.

#include "engine/message_state.hpp"
#include "engine/sender.hpp"

#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace towline::engine {

class arrivals {
public:
    arrivals(common& c, sender& out) : common_(c), out_(out) {}
    void install(transport::component&);
    /// engine::add_handler, while no thread polls.
    handler_id add(handler, void* context);
    /// Drops what a dead peer sent of messages in fragments.
    void forget(peer);

private:
    struct handler_entry {
        handler function = nullptr;
        void* context = nullptr;
        engine* owner = nullptr;
    };
    struct stream {
        std::vector<std::byte> bytes;
        std::uint64_t total = 0;
    };

    static void on_small(void* entry, peer source, std::span<std::byte const> payload);
    void on_unknown(peer source, std::span<std::byte const> payload);
    void on_message(peer source, std::span<std::byte const> payload);
    void on_fragment(peer source, std::span<std::byte const> payload);
    void on_failure(peer source, std::string_view why);

    common& common_;
    sender& out_;
    std::deque<handler_entry> handlers_;  ///< addresses are contexts of the transports' handlers
    std::map<std::pair<peer, std::uint64_t>, stream> streams_;
};

} // namespace towline::engine
