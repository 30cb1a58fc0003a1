#pragma once
// Messages between the front of a job on several hosts, the agents that it starts there, and their keepers: a stream of bytes each way (pipes
// of ssh, a socket), cut into frames of u32 length, u8 kind and the payload. Both ends are of one version; `hello` says which.

#include "base/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace towline::tools {

enum class frame : unsigned char {
    hello = 1,  ///< agent: who it is (CBOR)
    job,        ///< front: what to run (CBOR)
    news,       ///< both ways, from and to the keeper: what happened to ranks (CBOR, hub.hpp)
    signal,     ///< front: u8 number, for the ranks
    input,      ///< front: bytes for the rank that reads standard input; empty: the end
    output,     ///< agent: bytes of standard output
    errors,     ///< agent: bytes of standard error
    taken,      ///< both ways: u32 bytes of input or output that were passed on, so that the sender may send as many more
    exit,       ///< agent: u8 exit code; the last one
    alive,      ///< both ways, from time to time
    start,      ///< front: other hosts on which the agent starts agents (CBOR)
    relay,      ///< both ways: u32 number of such a host, u8 kind, payload: a frame from or to its agent
    gone,       ///< in a relay alone: the stream to that agent has ended, and why (text); from the front: it is to be ended
};

struct message {
    frame kind{};
    std::string payload;
};

/// One end. Not thread-safe. Never blocks.
class channel {
public:
    channel(base::unique_fd in, base::unique_fd out);

    [[nodiscard]] int in() const noexcept { return in_.get(); }
    [[nodiscard]] int out() const noexcept { return out_.get(); }
    /// Bytes that wait until the other side takes them.
    [[nodiscard]] std::size_t waiting() const noexcept { return sending_.size() - sent_; }
    /// When something was received last; CLOCK_MONOTONIC, ns.
    [[nodiscard]] std::int64_t heard_ns() const noexcept { return heard_ns_; }

    /// Queues a frame, and writes what can be written.
    void send(frame, std::string_view payload);
    /// Writes what the other side takes now. False once it is gone; then everything is dropped.
    bool flush();
    /// Reads what is there. False at the end of the stream, or where it is no stream of frames.
    bool receive();
    /// The next whole frame of what was read.
    [[nodiscard]] std::optional<message> next();

private:
    base::unique_fd in_;
    base::unique_fd out_;
    std::string sending_;
    std::size_t sent_ = 0;
    std::string received_;
    std::size_t used_ = 0;
    std::int64_t heard_ns_;
    bool gone_ = false;
};

/// A frame holds at most this much; longer data go in several.
inline constexpr std::size_t most_frame_bytes = std::size_t{64} << 20;
/// Bytes of output, or of input, under way before the sender waits for `taken`.
inline constexpr std::size_t stream_credit = std::size_t{1} << 20;

[[nodiscard]] std::string text_of(std::uint32_t);
[[nodiscard]] std::uint32_t number_in(std::string_view) noexcept;

} // namespace towline::tools
