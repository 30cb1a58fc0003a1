#pragma once
// A call that arrived, as the decoding templates see it.

#include "remote/message.hpp"

namespace towline::remoting {

/// Looks at its message, which stays with the caller until the run ended.
class incoming_call final : public detail::invocation {
public:
    incoming_call(runtime&, engine::incoming&, wire::request_footer const&, patience) noexcept;
    /// Decodes, calls, answers; with the error if anything throws.
    void run(action_entry const&) noexcept;

    void wait_for_blocks() override;
    [[nodiscard]] void* claim(std::uint64_t where, std::size_t size) override;
    bool reply_packed(std::byte* values, std::size_t size) override;
    void reply(detail::parcel&) override;
    [[nodiscard]] std::uint64_t share(void const* data, std::size_t size) override;

private:
    runtime& runtime_;
    engine::incoming& message_;
    call_id id_;
    message_source source_;
    bool replied_ = false;
};

} // namespace towline::remoting
