#pragma once
// A call's arguments, or its result, on the way out: index bytes, blocks, and the objects that the blocks lie in. Internal.

#include <towline/archive_writer.hpp>
#include <towline/detail/pool.hpp>
#include <towline/detail/state.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace towline::detail {

/// An object that stays until the message was sent.
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

/// Vectors whose capacity is used again.
struct parcel_room {
    parcel_room* next = nullptr;
    std::vector<std::byte> bytes;
    std::vector<std::uint8_t> captured;  ///< per chunk: the engine copies it before send returns
};

class parcel {
public:
    /// `shares`: nothing may be given away, the message goes to several ranks.
    explicit parcel(bool shares = false);
    ~parcel();  ///< frees blocks that were given and not sent
    parcel(parcel const&) = delete;
    parcel& operator=(parcel const&) = delete;

    [[nodiscard]] archive_writer& writer() noexcept { return writer_; }
    [[nodiscard]] bool shares() const noexcept { return shares_; }

    /// Keeps what make() returns until the message was sent.
    template <class Make>
    auto& hold(Make&& make)
    {
        auto* h = new held_value<decltype(make())>(std::forward<Make>(make));
        h->next = std::exchange(held_, h);
        return h->value;
    }
    /// Ends an argument: its blocks are lent, or captured when `send` is called because the caller may change them afterwards.
    void end_argument(bool captured)
    {
        room_->captured.resize(writer_.chunks().size(), captured);
    }

    // For the runtime:
    [[nodiscard]] bool captured(std::size_t chunk) const { return room_->captured[chunk] != 0; }
    /// Index bytes with `extra` more behind them, to be filled.
    [[nodiscard]] std::span<std::byte> close(std::size_t extra);
    [[nodiscard]] held* release_held() noexcept { return std::exchange(held_, nullptr); }
    /// Given blocks have become the engine's.
    void given_away() noexcept { sent_ = true; }

private:
    parcel_room* room_;
    archive_writer writer_;
    held* held_ = nullptr;
    bool shares_;
    bool sent_ = false;
};

} // namespace towline::detail
