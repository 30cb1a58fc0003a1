#include "transport/datagram/bundle.hpp"

#include "base/unique_fd.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/epoll.h>

namespace towline::transport::datagram {

namespace {

/// The link that had something last is looked at again and again; the others after so many looks that found something, or of which a vain
/// one counts for some.
constexpr unsigned most_looks = 8;
constexpr unsigned vain_look = 3;

class several_links final : public link {
public:
    explicit several_links(std::vector<std::unique_ptr<link>> links) : links_(std::move(links))
    {
        if (std::ranges::any_of(links_, [](auto const& l) { return l->wait_descriptor() < 0; }))
            return;
        wait_ = base::unique_fd(::epoll_create1(EPOLL_CLOEXEC));
        if (!wait_)
            throw system_error("cannot wait for several sockets together", errno);
        for (auto const& l : links_) {
            epoll_event e{.events = EPOLLIN, .data = {}};
            if (::epoll_ctl(wait_.get(), EPOLL_CTL_ADD, l->wait_descriptor(), &e) != 0)
                throw system_error("cannot wait for several sockets together", errno);
        }
    }

    std::string_view name() const noexcept override { return links_[0]->name(); }
    unsigned paths() const noexcept override { return static_cast<unsigned>(links_.size()); }

    /// The bytes of each link's address, with their number before them.
    std::vector<std::byte> own_address() const override
    {
        std::vector<std::byte> all;
        for (auto const& l : links_) {
            auto const one = l->own_address();
            all.push_back(static_cast<std::byte>(one.size()));
            all.insert(all.end(), one.begin(), one.end());
        }
        return all;
    }

    std::optional<link_address> resolve(std::span<std::byte const> blob, unsigned path) const override
    {
        if (path >= links_.size())
            return std::nullopt;
        for (unsigned i = 0; !blob.empty(); ++i) {
            auto const bytes = static_cast<std::size_t>(blob[0]);
            if (blob.size() <= bytes)
                return std::nullopt;
            if (i == path) {
                auto a = links_[path]->resolve(blob.subspan(1, bytes), 0);
                if (a)
                    a->path = static_cast<std::uint8_t>(path);
                return a;
            }
            blob = blob.subspan(1 + bytes);
        }
        return std::nullopt;
    }

    std::size_t max_datagram() const noexcept override
    {
        return least([](link const& l) { return l.max_datagram(); });
    }
    std::size_t max_datagram(link_address const& to) override { return links_[to.path]->max_datagram(to); }
    train_limits trains() const noexcept override { return trains_; }
    std::size_t receive_room() const noexcept override
    {
        return least([](link const& l) { return l.receive_room(); });
    }

    std::size_t send(link_address const& to, std::span<iovec const> pieces, std::size_t each, std::size_t count) noexcept override
    {
        return links_[to.path]->send(to, pieces, each, count);
    }

    std::span<received> receive() noexcept override
    {
        if (looks_ < most_looks) {
            auto const caught = look_at(last_);
            looks_ += caught.empty() ? vain_look : 1;
            return caught;
        }
        looks_ = 0;
        for (std::size_t i = 1; i <= links_.size(); ++i) {
            std::size_t const at = (last_ + i) % links_.size();
            if (auto const caught = look_at(at); !caught.empty()) {
                last_ = at;
                return caught;
            }
        }
        return {};
    }

    std::optional<link_address> take_refusal() noexcept override
    {
        for (std::size_t i = 0; i < links_.size(); ++i) {
            if (auto a = links_[i]->take_refusal()) {
                a->path = static_cast<std::uint8_t>(i);
                return a;
            }
        }
        return std::nullopt;
    }
    bool readable() const noexcept override
    {
        return std::ranges::any_of(links_, [](auto const& l) { return l->readable(); });
    }
    int wait_descriptor() const noexcept override { return wait_ ? wait_.get() : -1; }
    std::int64_t sleep_limit_ns() const noexcept override
    {
        std::int64_t first = -1;
        for (auto const& l : links_) {
            if (std::int64_t const limit = l->sleep_limit_ns(); limit >= 0 && (first < 0 || limit < first))
                first = limit;
        }
        return first;
    }

private:
    template <class Question> [[nodiscard]] std::size_t least(Question&& ask) const
    {
        std::size_t found = ask(*links_[0]);
        for (auto const& l : links_)
            found = std::min(found, ask(*l));
        return found;
    }

    std::span<received> look_at(std::size_t i) noexcept
    {
        auto const caught = links_[i]->receive();
        for (received& r : caught)
            r.from.path = static_cast<std::uint8_t>(i);
        return caught;
    }

    std::vector<std::unique_ptr<link>> links_;
    train_limits trains_{least([](link const& l) { return l.trains().datagrams; }), least([](link const& l) { return l.trains().bytes; })};
    base::unique_fd wait_;
    std::size_t last_ = 0;   ///< that had something
    unsigned looks_ = 0;     ///< at it
};

} // namespace

std::unique_ptr<link> bundle(std::vector<std::unique_ptr<link>> links)
{
    if (links.size() == 1)
        return std::move(links[0]);
    return std::make_unique<several_links>(std::move(links));
}

} // namespace towline::transport::datagram
