#pragma once
// A call's outgoing arguments or result: index bytes, blocks, and the objects that own the blocks. Internal.

#include <towline/archive_writer.hpp>
#include <towline/detail/pool.hpp>
#include <towline/detail/state.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace towline::detail {

/// An object that lives until the message is sent.
struct held : pooled {
    held* next = nullptr;
    virtual ~held() = default;
};
template <class T>
struct held_value final : held {
    template <class Make>
    explicit held_value(Make&& make) : value(std::forward<Make>(make)())
    {
    }
    T value;
};

/// Vectors whose capacity is reused.
struct parcel_room {
    parcel_room* next = nullptr;
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> captured;  ///< per chunk: the engine copies it before send returns
};

class parcel {
public:
    /// `shares`: nothing changes owner, because the message goes to several ranks.
    explicit parcel(bool shares = false);
    ~parcel();  ///< frees given blocks that were not sent
    parcel(parcel const&) = delete;
    parcel& operator=(parcel const&) = delete;

    [[nodiscard]] archive_writer& writer() noexcept { return writer_; }
    [[nodiscard]] bool shares() const noexcept { return shares_; }

    /// Keeps the result of make() until the message is sent.
    template <class Make>
    auto& hold(Make&& make)
    {
        auto* h = new held_value<decltype(make())>(std::forward<Make>(make));
        h->next = std::exchange(held_, h);
        return h->value;
    }
    /// Ends an argument: its blocks are lent; or, if the caller may change them after `send`, captured there.
    void end_argument(bool captured)
    {
        room_->captured.resize(writer_.chunks().size(), captured);
    }

    // For the runtime:
    [[nodiscard]] bool captured(std::size_t chunk) const { return room_->captured[chunk] != 0; }
    /// The index bytes, followed by `extra` bytes for the caller to fill.
    [[nodiscard]] std::span<std::byte> close(std::size_t extra);
    [[nodiscard]] held* release_held() noexcept { return std::exchange(held_, nullptr); }
    /// The engine owns the given blocks now.
    void given_away() noexcept { sent_ = true; }

private:
    parcel_room* room_;
    archive_writer writer_;
    held* held_ = nullptr;
    bool shares_;
    bool sent_ = false;
};

} // namespace towline::detail
