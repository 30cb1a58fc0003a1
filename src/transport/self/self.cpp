// The transport from a rank to itself.

#include "transport/self/self.hpp"

#include "transport/handlers.hpp"
#include "transport/shm/ring.hpp"

#include <fmt/format.h>
#include <mutex>
#include <new>

namespace towline::transport::self {

namespace {

using shm::ring_reader;
using shm::ring_writer;

class self_component final : public component {
public:
    self_component(peer rank, base::event_count* event, base::fence_side fences) : rank_(rank), event_(event), fences_(fences) {}

    std::string_view name() const noexcept override { return "self"; }
    capabilities const& caps() const noexcept override
    {
        static constexpr capabilities caps{.max_inline = shm::inline_bytes, .max_eager = shm::max_eager, .can_get = false, .can_map = true,
                                           .reliable = true, .ordered = true, .latency_ns = 20, .bandwidth = 6};
        return caps;
    }
    std::string why_not(peer p) const override
    {
        return p == rank_ ? std::string{} : fmt::format("rank {} is another one than this, {}", p, rank_);
    }
    void set_handler(handler_id id, handler function, void* context) override { handlers_.set(id, function, context); }

    send_status try_send(peer to, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body) override
    {
        check_eager(*this, shm::max_eager, head.size(), body.size());
        if (to != rank_)
            return send_status::unreachable;
        {
            std::scoped_lock const lock(mutex_);
            if (!writer_.open())
                begin();
            // The reader is this component, so nothing can be corrupt.
            auto const length = [](std::span<std::byte const> part) { return static_cast<std::uint8_t>(part.size()); };
            bool const one = head.size() + body.size() <= shm::inline_bytes &&
                             writer_.write_one({id, length(head), length(body)}, head.data(), body.data());
            if (!one && writer_.write(id, head, body) != ring_writer::outcome::written)
                return send_status::busy;
        }
        if (event_ != nullptr)
            event_->notify(fences_);
        return send_status::sent;
    }

    int poll(int budget) override
    {
        if (!open_.load(std::memory_order_acquire))
            return 0;
        int run = 0;
        ring_reader::view view;
        while (run < budget && reader_.look(view) == ring_reader::found::message) {
            if (handlers_.run(view.handler, rank_, view.payload))
                ++run;
            else
                report_failure(rank_,
                               fmt::format("rank {} sent itself a message for handler {}, which is not installed", rank_, view.handler));
            reader_.pass(view);
        }
        return run;
    }

    bool pending() const noexcept override { return open_.load(std::memory_order_acquire) && reader_.ready(); }
    void peer_died(peer) override {}

private:
    struct line {
        alignas(shm::cell_bytes) std::byte bytes[shm::cell_bytes];
    };

    void begin()
    {
        memory_ = std::make_unique_for_overwrite<line[]>(shm::ring_bytes(shm::most_cells) / sizeof(line));
        writer_ = ring_writer(memory_.get(), shm::most_cells, rank_, rank_);
        reader_ = ring_reader(writer_.header(), shm::most_cells);
        open_.store(true, std::memory_order_release);
    }

    peer const rank_;
    base::event_count* const event_;
    base::fence_side const fences_;
    handler_table handlers_;
    std::mutex mutex_;  ///< of those who send
    std::atomic<bool> open_{false};
    std::unique_ptr<line[]> memory_;
    ring_writer writer_;
    alignas(64) ring_reader reader_;
};

} // namespace

std::unique_ptr<component> make(peer rank, base::event_count* event, base::fence_side fences)
{
    return std::make_unique<self_component>(rank, event, fences);
}

} // namespace towline::transport::self
