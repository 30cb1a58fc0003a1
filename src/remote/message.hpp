#pragma once
// Arrived messages as the decoding templates see them.

#include "remote/runtime.hpp"

#include <towline/archive_chunk.hpp>

#include <boost/container/small_vector.hpp>

namespace towline::remoting {

/// Whether decoding a message may wait for its blocks; if not, all of them are in reach.
enum class patience : std::uint8_t { may_wait, none };

/// Blocks `first` to `first + count` of a message. If decoding may wait, `start` begins the fetches after everything is decoded, because an
/// error before that destroys the destinations.
class message_source final : public chunk_source {
public:
    message_source() = default;
    message_source(engine::incoming& m, std::size_t first, std::size_t count, patience p, bool may_take = true) noexcept
        : message_(&m), first_(first), count_(count), patience_(p), may_take_(may_take)
    {
    }
    [[nodiscard]] std::size_t count() const override { return count_; }
    [[nodiscard]] std::uint64_t size(std::size_t i) const override { return message_->block_size(first_ + i); }
    [[nodiscard]] void const* view(std::size_t i) override { return message_->view(first_ + i); }
    [[nodiscard]] void* take(std::size_t i) override { return may_take_ ? message_->take(first_ + i) : nullptr; }
    [[nodiscard]] void* take_for_delete(std::size_t i, std::size_t alignment) override;
    void fetch(std::size_t i, void* destination) override
    {
        if (patience_ == patience::none)
            message_->fetch(first_ + i, destination, engine::incoming::pace::now);
        else
            wanted_.push_back({first_ + i, destination});
    }
    /// Once.
    void start()
    {
        for (wanted const& w : wanted_)
            message_->fetch(w.block, w.destination);
    }

private:
    engine::incoming* message_ = nullptr;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    patience patience_ = patience::may_wait;
    bool may_take_ = true;
    struct wanted {
        std::size_t block;
        void* destination;
    };
    boost::container::small_vector<wanted, 4> wanted_;
};

/// Suspends the caller until all fetches of the message have ended. If decoding may not wait, none is in flight. Throws peer_error if the
/// sender died first.
void wait_for_blocks(runtime&, engine::incoming&);

/// True if every block can be viewed, or copied, without waiting.
[[nodiscard]] bool blocks_in_reach(engine::incoming&);

/// Type and text of the current exception, and its status on the wire. `running`: the called function threw it.
struct caught {
    wire::status outcome;
    int where;
    std::string type, text;
};
[[nodiscard]] caught describe_current_exception(runtime&, bool running);
/// The bytes of an error, without a footer.
[[nodiscard]] std::vector<std::byte> encode_error(int where, std::string_view type, std::string_view text);
/// The exception that an error reply describes. `bytes` come from a peer and may be invalid.
[[nodiscard]] std::exception_ptr decode_error(runtime&, wire::status, std::span<std::byte const> bytes, int source, char const* action);

/// A reply with its message.
class reply_message final : public detail::message_view {
public:
    reply_message(runtime& r, engine::incoming& m, std::size_t footer_bytes, bool is_packed, patience p) noexcept
        : runtime_(r), message(m), source_(m, 0, m.blocks(), p)
    {
        bytes = m.head().first(m.head().size() - footer_bytes);
        packed = is_packed;
        chunks = &source_;
        max_bytes = r.max_message();
    }
    void wait_for_blocks() override
    {
        source_.start();
        remoting::wait_for_blocks(runtime_, message);
    }
    [[nodiscard]] void* claim(std::uint64_t where, std::size_t size) override { return runtime_.engine().claim(where, size); }

private:
    runtime& runtime_;

public:
    engine::incoming& message;

private:
    message_source source_;
};

/// A call with its message. Refers to the message, which the caller keeps until `run` has returned.
class incoming_call final : public detail::invocation {
public:
    incoming_call(runtime&, engine::incoming&, wire::request_footer const&, patience) noexcept;
    /// Decodes, calls and answers; answers with the error if anything throws.
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
