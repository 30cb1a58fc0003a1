#pragma once
// How the bytes of a matched message reach its receive, whichever way they come; and the receives whose bytes are still on their way.
//
// A handler leaves long unpacking to engine::defer, so that other threads make progress meanwhile.
//
// Any thread, no lock held. common::lock guards the chain of landings.

#include "matching/contexts.hpp"
#include "matching/laid_cooperation.hpp"
#include "matching/relay.hpp"
#include "matching/unexpected.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace towline::matching {

class deliveries;

/// A matched message whose bytes are on their way, or wait for their unpacking.
struct landing {
    deliveries* owner = nullptr;
    request* target = nullptr;  ///< null: nobody is told
    chain_link<landing> link{};
    peer from = 0;
    envelope letter;
    std::uint64_t bytes = 0;
    std::unique_ptr<std::byte[]> temporary{};  ///< until it is unpacked
    // Of unpacking that was deferred.
    std::uint64_t token = 0;                   ///< to be acknowledged after it; 0: none
    std::variant<std::monostate, here_block, relayed, engine::incoming> elsewhere{};  ///< the bytes, if they are not in `temporary`

    struct links {
        [[nodiscard]] static chain_link<landing>& of(landing& l) noexcept { return l.link; }
    };
};

class deliveries {
public:
    deliveries(common& c, requests& r, contexts const& x, relays& l, unexpected_messages& u, laid_cooperation& t) noexcept
        : common_(c), requests_(r), contexts_(x), relays_(l), early_(u), together_(t)
    {
    }

    /// Copies or unpacks bytes that are in reach.
    static void place(sink const& to, envelope const& e, std::span<std::byte const> bytes, status& result) noexcept
    {
        result = {e.source, e.tag, bytes.size(), outcome::ok, false};
        if (bytes.size() > to.capacity) [[unlikely]] {
            result.error = outcome::truncated;
            bytes = bytes.first(to.capacity);
        }
        if (to.unpack != nullptr)
            to.take(bytes, result);
        else if (bytes.size() == 8)  // inline, as it shares a line with its envelope
            std::memcpy(to.data, bytes.data(), 8);
        else if (!bytes.empty())
            std::memcpy(to.data, bytes.data(), bytes.size());
    }
    /// Copies the bytes of a *here* message, which is to be acknowledged then. `token`: of its send, which may help; 0: it may not.
    void bring(sink const&, envelope const&, peer from, std::uint64_t bytes, here_block const&, std::uint64_t token, status&) noexcept;
    /// Fetches the lent bytes, and finishes the request, here or when they have come.
    void deliver(request&, peer from, envelope const&, engine::incoming& message) noexcept;
    /// The bytes of a message are long to unpack, and this thread polls.
    [[nodiscard]] bool is_to_be_deferred(sink const& to, std::uint64_t bytes, bool has_gaps) const noexcept
    {
        return bytes >= thresholds::long_unpacking && (has_gaps || to.unpack != nullptr) && common_.engine_.in_handler();
    }
    /// Unpacks the bytes later, then acknowledges the token if there is one, and finishes the request.
    void defer(request&, landing&&);
    /// Delivers an early message to the request that starts, acknowledges the message and gives its node back.
    void deliver(request&, unexpected_message&) noexcept;
    /// The end of an early message that no receive takes.
    void discard(unexpected_message&) noexcept;

    // Lock held.

    [[nodiscard]] bool any() const noexcept { return landings_.first != nullptr; }
    template <class F>
    void for_each(F&& function) const
    {
        for (auto const* l = landings_.first; l != nullptr; l = l->link.after)
            function(*l);
    }

private:
    void bring_laid(sink const&, peer from, std::uint64_t bytes, here_block const&, std::uint64_t token, status&) const;
    /// Adds it to those that are under way.
    [[nodiscard]] landing* begin(request&, landing&&);
    static void on_landed(void* landing, bool ok, engine::incoming& message);
    static void unpack_deferred(void* landing);
    void unpack(landing&, sink const&, status&);
    /// The request that waits for the landing, which has ended. Null: none.
    [[nodiscard]] request* end(landing&, status const*) noexcept;

    common& common_;
    requests& requests_;
    contexts const& contexts_;
    relays& relays_;
    unexpected_messages& early_;
    laid_cooperation& together_;
    chain<landing, landing::links> landings_;
};

} // namespace towline::matching
