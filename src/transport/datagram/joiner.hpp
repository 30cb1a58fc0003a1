#pragma once
// Messages of one peer out of the records of its packets, which come in their order. A message that lies in one packet is shown where it
// is; one in several is joined in a buffer, or shown in parts, then also those that come early.

#include "transport/datagram/wire.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>

namespace towline::transport::datagram {

/// By handler: the length of the beginning that is shown with each part; 0: messages are shown whole.
using part_beginnings = std::array<std::uint8_t, 256>;

class joiner {
public:
    struct step {
        enum class found {
            message,  ///< id and bytes, valid until the next step
            part,     ///< id, beginning, `at` and bytes, as for transport::part_handler
            nothing,  ///< a piece was taken; look on
            broken,   ///< not the format, or a message of more than the limit
        } what = found::nothing;
        handler_id id = 0;
        std::span<std::byte const> bytes;
        std::size_t next = 0;  ///< where to look on; at least the payload's size at its end
        std::size_t at = 0;
        std::span<std::byte const> beginning{};
    };

    /// Looks at the record at `at` of a packet's payload. `limit`: of a message. Throws std::bad_alloc.
    [[nodiscard]] step read(std::span<std::byte const> payload, std::size_t at, std::size_t limit, part_beginnings const& beginnings)
    {
        auto const r = wire::read_record(payload, at);
        if (!r)
            return broken();
        if (r->head.part == wire::whole)
            return wanted_ != 0 || r->head.place != 0 ? broken()
                                                      : step{step::found::message, r->head.handler, r->bytes, r->next};
        if (r->head.part == wire::first) {
            if (wanted_ != 0 || r->head.place > limit || r->head.place <= r->bytes.size())
                return broken();
            std::size_t const beginning = beginnings[r->head.handler];
            beginning_ = beginning != 0 && r->bytes.size() > beginning ? beginning : 0;
            full_ = payload.size() - sizeof r->head;
            if (beginning_ == 0 && r->head.place > room_) {
                buffer_.reset(static_cast<std::byte*>(::operator new[](r->head.place, std::align_val_t{64})));
                room_ = r->head.place;
            }
            wanted_ = r->head.place;
            have_ = 0;
            id_ = r->head.handler;
        } else if (wanted_ == 0 || r->head.place != have_ || r->head.handler != id_ || r->bytes.size() > wanted_ - have_ ||
                   r->bytes.empty()) {
            return broken();
        }
        if (beginning_ != 0)
            return part(*r);
        if (!r->bytes.empty())
            std::memcpy(buffer_.get() + have_, r->bytes.data(), r->bytes.size());
        have_ += r->bytes.size();
        if (have_ != wanted_)
            return {step::found::nothing, 0, {}, r->next};
        wanted_ = 0;
        return {step::found::message, id_, {buffer_.get(), have_}, r->next};
    }

    /// Looks at the payload of a packet that comes `ahead` packets before its turn. Shows its part, if it is one of the middle of the
    /// message that has begun: then all packets between are full of that message, too. One that is not full may be the last of a later
    /// message. `found::nothing`: look again in its turn.
    [[nodiscard]] step read_early(std::uint32_t ahead, std::span<std::byte const> payload) const noexcept
    {
        step s;
        if (wanted_ == 0 || beginning_ == 0 || payload.empty())
            return s;
        auto const r = wire::read_record(payload, 0);
        if (!r || r->head.part != wire::more || r->head.handler != id_ || r->bytes.size() != full_ || r->next < payload.size())
            return s;
        std::uint64_t const place = have_ + std::uint64_t{ahead} * full_;
        if (r->head.place != place || place + full_ > wanted_)
            return s;
        return show(*r, place);
    }
    /// It is the turn of a packet whose part was shown early.
    void pass(std::size_t bytes) noexcept
    {
        have_ += bytes;
        if (have_ >= wanted_)
            wanted_ = 0;
    }

    /// A message has begun and is not complete.
    [[nodiscard]] bool in_message() const noexcept { return wanted_ != 0; }
    void drop() noexcept { wanted_ = 0; }

private:
    [[nodiscard]] static step broken() noexcept { return {.what = step::found::broken, .id = 0, .bytes = {}}; }
    [[nodiscard]] step show(wire::record const& r, std::size_t at) const noexcept
    {
        return {step::found::part, id_, r.bytes, r.next, at, {shown_.data(), beginning_}};
    }
    [[nodiscard]] step part(wire::record r) noexcept
    {
        std::size_t at = have_;
        pass(r.bytes.size());
        if (at == 0) {
            std::copy_n(r.bytes.begin(), beginning_, shown_.begin());
            r.bytes = r.bytes.subspan(at = beginning_);
        }
        return show(r, at);
    }

    struct free_aligned {
        void operator()(std::byte* p) const noexcept { ::operator delete[](p, std::align_val_t{64}); }
    };
    std::unique_ptr<std::byte[], free_aligned> buffer_;
    std::size_t room_ = 0;
    std::size_t wanted_ = 0;  ///< bytes of the message that has begun; 0: none has
    std::size_t have_ = 0;
    handler_id id_ = 0;
    std::size_t beginning_ = 0;  ///< bytes of `shown_`; 0: the message is joined
    std::array<std::byte, component::most_beginning> shown_{};
    std::size_t full_ = 0;       ///< bytes of a record that fills a packet: the one with a message's beginning is filled
};

} // namespace towline::transport::datagram
