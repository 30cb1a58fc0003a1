#include "transport/datagram/faulty_link.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <mutex>
#include <queue>

namespace towline::transport::datagram {

namespace {

struct late_datagram {
    std::int64_t due = 0;
    std::uint64_t order = 0;
    link_address to;
    std::vector<std::byte> bytes{};
    bool operator<(late_datagram const& other) const noexcept { return due != other.due ? due > other.due : order > other.order; }
};

void flip(std::span<std::byte> bytes, std::uint64_t bit) noexcept
{
    if (!bytes.empty())
        bytes[bit / 8 % bytes.size()] ^= static_cast<std::byte>(1U << bit % 8);
}

class faulty_link final : public link {
public:
    faulty_link(std::unique_ptr<link> inner, faults const& sending, faults const& receiving)
        : inner_(std::move(inner)), faults_in_(receiving), out_(sending), in_(receiving)
    {
    }

    std::string_view name() const noexcept override { return inner_->name(); }
    std::vector<std::byte> own_address() const override { return inner_->own_address(); }
    unsigned paths() const noexcept override { return inner_->paths(); }
    std::optional<link_address> resolve(std::span<std::byte const> b, unsigned path) const override { return inner_->resolve(b, path); }
    std::size_t max_datagram() const noexcept override { return inner_->max_datagram(); }
    std::size_t max_datagram(link_address const& to) override { return inner_->max_datagram(to); }
    train_limits trains() const noexcept override { return inner_->trains(); }
    std::size_t receive_room() const noexcept override { return inner_->receive_room(); }
    int wait_descriptor() const noexcept override { return inner_->wait_descriptor(); }

    std::size_t send(link_address const& to, std::span<iovec const> pieces, std::size_t each, std::size_t count) noexcept override
    {
        std::scoped_lock const lock(mutex_);
        std::int64_t const now = base::monotonic_ns();
        release(now);
        std::size_t piece = 0, run_piece = 0, run_count = 0;
        // What nothing happens to goes on in trains, which end where something does.
        auto const end_run = [&](std::size_t next_piece) {
            if (run_count != 0)
                static_cast<void>(inner_->send(to, pieces.subspan(run_piece, piece - run_piece), each, run_count));  // no room: lost
            run_count = 0;
            run_piece = next_piece;
        };
        for (std::size_t i = 0; i < count; ++i) {
            auto const f = out_.next();
            std::size_t next = piece, size = 0;
            while (next < pieces.size() && size < each)
                size += pieces[next++].iov_len;
            if (f.copies == 1 && !f.corrupt && f.delay_ns == 0) {
                ++run_count;
            } else {
                end_run(next);
                std::vector<std::byte> bytes;
                for (std::size_t k = piece; f.copies != 0 && k < next; ++k) {
                    auto const* const from = static_cast<std::byte const*>(pieces[k].iov_base);
                    bytes.insert(bytes.end(), from, from + pieces[k].iov_len);
                }
                if (f.corrupt)
                    flip(bytes, f.bit);
                for (int c = 0; c < f.copies; ++c)
                    late_.push({now + f.delay_ns, order_++, to, bytes});
            }
            piece = next;
        }
        end_run(piece);
        release(now);
        return count;
    }

    std::span<received> receive() noexcept override
    {
        {
            std::scoped_lock const lock(mutex_);
            release(base::monotonic_ns());
        }
        auto const caught = inner_->receive();
        if (!faults_in_.any())
            return caught;
        kept_.clear();
        for (received const& r : caught) {
            for (std::uint32_t at = 0; at < r.size; at += r.each) {
                received one = r;
                one.data = r.data + at;
                one.size = one.each = std::min(r.each, r.size - at);
                auto const f = in_.next();
                if (f.corrupt)
                    flip({one.data, one.size}, f.bit);
                if (f.copies == 1)  // what is sent twice is the sender's fault
                    kept_.push_back(one);
            }
        }
        return kept_;
    }

    std::optional<link_address> take_refusal() noexcept override { return inner_->take_refusal(); }
    bool readable() const noexcept override { return inner_->readable(); }

    std::int64_t sleep_limit_ns() const noexcept override
    {
        std::scoped_lock const lock(mutex_);
        return late_.empty() ? -1 : std::max<std::int64_t>(0, late_.top().due - base::monotonic_ns());
    }

private:
    void release(std::int64_t now) noexcept
    {
        while (!late_.empty() && late_.top().due <= now) {
            late_datagram const& d = late_.top();
            iovec const piece{const_cast<std::byte*>(d.bytes.data()), d.bytes.size()};
            if (inner_->send(d.to, {&piece, 1}, d.bytes.size(), 1) == 0)
                return;  // no room: later still
            late_.pop();
        }
    }

    std::unique_ptr<link> inner_;
    faults faults_in_;
    std::mutex mutable mutex_;
    fate_of_datagrams out_;
    fate_of_datagrams in_;
    std::uint64_t order_ = 0;
    std::priority_queue<late_datagram> late_;
    std::vector<received> kept_;
};

} // namespace

std::unique_ptr<link> make_faulty(std::unique_ptr<link> inner, faults const& sending, faults const& receiving)
{
    return std::make_unique<faulty_link>(std::move(inner), sending, receiving);
}

} // namespace towline::transport::datagram
