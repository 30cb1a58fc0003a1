#pragma once
// A transport that a test plays by hand: what the engine sends is recorded, what the test says arrives.

#include "engine/engine.hpp"
#include "transport/handlers.hpp"

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace scripted {

namespace transport = towline::transport;
using transport::peer;

struct message {
    peer who;  ///< to, or from
    transport::handler_id id;
    std::vector<std::byte> bytes;
};

/// Outlives the component, which the engine owns. For one thread, or under the mutex.
struct script {
    std::mutex mutex;
    std::deque<message> sent;
    std::deque<message> arriving;
    std::size_t max_eager = 512;
    bool maps = true;
    bool busy = false;
    bool unreachable = false;
    bool reliable = true;
    std::vector<peer> died;
    std::function<void(message const&)> on_send;  ///< sees each message as it leaves

    void arrive(peer from, unsigned id, std::vector<std::byte> bytes)
    {
        std::lock_guard const lock(mutex);
        arriving.push_back({from, static_cast<transport::handler_id>(id), std::move(bytes)});
    }
};

class component final : public transport::component {
public:
    explicit component(script& s) : script_(s)
    {
        caps_ = {.max_inline = 56, .max_eager = s.max_eager, .can_get = false, .can_map = s.maps, .reliable = s.reliable, .ordered = true};
    }
    std::string_view name() const noexcept override { return "scripted"; }
    transport::capabilities const& caps() const noexcept override { return caps_; }
    std::string why_not(peer p) const override { return p == 3 ? "three is far away" : ""; }
    void set_handler(transport::handler_id id, transport::handler f, void* context) override { handlers_.set(id, f, context); }
    transport::send_status try_send(peer to, transport::handler_id id, std::span<std::byte const> head,
                                    std::span<std::byte const> body) override
    {
        transport::check_eager(*this, caps().max_eager, head.size(), body.size());
        std::lock_guard const lock(script_.mutex);
        if (script_.unreachable)
            return transport::send_status::unreachable;
        if (script_.busy)
            return transport::send_status::busy;
        std::vector<std::byte> all(head.begin(), head.end());
        all.insert(all.end(), body.begin(), body.end());
        script_.sent.push_back({to, id, std::move(all)});
        if (script_.on_send)
            script_.on_send(script_.sent.back());
        return transport::send_status::sent;
    }
    int poll(int budget) override
    {
        int n = 0;
        while (n < budget) {
            message m;
            {
                std::lock_guard const lock(script_.mutex);
                if (script_.arriving.empty())
                    break;
                m = std::move(script_.arriving.front());
                script_.arriving.pop_front();
            }
            // In memory of exactly the message's size, so that a sanitizer sees a look beyond it.
            auto const words = std::make_unique<std::byte[]>(m.bytes.size());
            std::copy(m.bytes.begin(), m.bytes.end(), words.get());
            handlers_.run(m.id, m.who, {words.get(), m.bytes.size()});
            ++n;
        }
        return n;
    }
    bool pending() const noexcept override
    {
        std::lock_guard const lock(script_.mutex);
        return !script_.arriving.empty();
    }
    void peer_died(peer p) override { script_.died.push_back(p); }

private:
    script& script_;
    transport::capabilities caps_;
    transport::handler_table handlers_;
};

template <class... Parts>
std::vector<std::byte> bytes(Parts const&... parts)
{
    std::vector<std::byte> all;
    auto const add = [&](auto const& part) {
        auto const* at = reinterpret_cast<std::byte const*>(&part);
        all.insert(all.end(), at, at + sizeof part);
    };
    (add(parts), ...);
    return all;
}

} // namespace scripted
