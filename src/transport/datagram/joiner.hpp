#pragma once
// Messages of one peer out of the records of its packets, which come in their order. A message that lies in one packet is shown where it
// is; one in several is joined in a buffer.

#include "transport/datagram/wire.hpp"

#include <memory>
#include <new>

namespace towline::transport::datagram {

class joiner {
public:
    struct step {
        enum class found {
            message,  ///< id and bytes, valid until the next step
            nothing,  ///< a piece was taken; look on
            broken,   ///< not the format, or a message of more than the limit
        } what = found::nothing;
        handler_id id = 0;
        std::span<std::byte const> bytes;
        std::size_t next = 0;  ///< where to look on; at least the payload's size at its end
    };

    /// Looks at the record at `at` of a packet's payload. `limit`: of a message. Throws std::bad_alloc.
    [[nodiscard]] step read(std::span<std::byte const> payload, std::size_t at, std::size_t limit)
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
            if (r->head.place > room_) {
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
        if (!r->bytes.empty())
            std::memcpy(buffer_.get() + have_, r->bytes.data(), r->bytes.size());
        have_ += r->bytes.size();
        if (have_ != wanted_)
            return {step::found::nothing, 0, {}, r->next};
        wanted_ = 0;
        return {step::found::message, id_, {buffer_.get(), have_}, r->next};
    }

    /// A message has begun and is not complete.
    [[nodiscard]] bool in_message() const noexcept { return wanted_ != 0; }
    void drop() noexcept { wanted_ = 0; }

private:
    [[nodiscard]] static step broken() noexcept { return {.what = step::found::broken, .id = 0, .bytes = {}}; }

    struct free_aligned {
        void operator()(std::byte* p) const noexcept { ::operator delete[](p, std::align_val_t{64}); }
    };
    std::unique_ptr<std::byte[], free_aligned> buffer_;
    std::size_t room_ = 0;
    std::size_t wanted_ = 0;  ///< bytes of the message that has begun; 0: none has
    std::size_t have_ = 0;
    handler_id id_ = 0;
};

} // namespace towline::transport::datagram
