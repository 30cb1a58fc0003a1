#include "transport/datagram/component.hpp"

#include "base/clock.hpp"
#include "base/settings.hpp"
#include "towline/error.hpp"
#include "transport/datagram/bundle.hpp"
#include "transport/datagram/faulty_link.hpp"
#include "transport/datagram/udp_link.hpp"
#include "transport/handlers.hpp"

#include <fmt/format.h>

namespace towline::transport::datagram {

namespace {

class datagram_component final : public component, private receiver {
public:
    datagram_component(std::unique_ptr<link> l, environment& env, config const& c, time_source time)
        : time_(time), env_(env), rank_(env.rank()), size_(env.size()), link_(std::move(l)), end_(c, *link_, env, random_number())
    {
        caps_ = {.max_inline = 192, .max_eager = end_.max_eager(), .can_get = false, .can_map = false, .reliable = true, .ordered = true,
                 .latency_ns = 4000, .bandwidth = 3};
        env.publish_address(end_.own_address());
    }

    std::string_view name() const noexcept override { return "datagram"; }
    capabilities const& caps() const noexcept override { return caps_; }

    std::string why_not(peer p) const override
    {
        if (p >= size_)
            return fmt::format("rank {} is not one of the {} ranks of the job", p, size_);
        if (p == rank_)
            return "the own rank is reached by the self transport";
        if (env_.is_dead(p))
            return fmt::format("rank {} is gone", p);
        return end_.is_gone(p) ? fmt::format("rank {} was given up", p) : std::string{};
    }

    void set_handler(handler_id id, handler function, void* context) override { handlers_.set(id, function, context); }
    void set_part_handler(handler_id id, std::size_t beginning, part_handler function, void* context) override
    {
        part_handlers_[id] = {function, context};
        end_.set_parts(id, beginning);
    }
    std::size_t max_eager_to(peer p) const override { return p < size_ ? end_.max_eager_to(p) : caps_.max_eager; }
    void one_thread() noexcept override { end_.one_thread(); }

    send_status try_send(peer to, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body) override
    {
        check_eager(*this, caps_.max_eager, head.size(), body.size());
        return end_.send(to, id, head, body, now());
    }

    send_status try_send_lent(peer to, handler_id id, std::span<std::byte const> head, std::span<std::byte const> body, completion done,
                              void* context) override
    {
        check_eager(*this, caps_.max_eager, head.size(), body.size());
        return end_.lend(to, id, head, body, done, context, now());
    }

    bool try_send_inline(peer to, inline_shape s, std::byte const* head, std::byte const* body) override
    {
        return end_.send(to, s.id, {head, s.head}, {body, s.body}, now()) == send_status::sent;
    }

    int poll(int budget) override { return end_.poll(budget, *this, now()); }
    bool pending() const noexcept override { return end_.pending(); }
    std::int64_t sleep_limit_ns() const noexcept override { return end_.sleep_limit(now()); }
    int wait_descriptor() const noexcept override { return link_->wait_descriptor(); }
    bool drained() const noexcept override { return end_.drained(); }
    void ask_around() override { end_.ask_around(now()); }
    void peer_died(peer p) override { end_.peer_died(p); }

    [[nodiscard]] endpoint_counts counts() const { return end_.counts(); }

private:
    [[nodiscard]] std::int64_t now() const noexcept { return time_.now(time_.context); }

    bool message(peer source, handler_id id, std::span<std::byte const> payload) override { return handlers_.run(id, source, payload); }
    void part(peer source, handler_id id, std::span<std::byte const> beginning, std::size_t at, std::span<std::byte const> bytes) override
    {
        part_handlers_[id].function(part_handlers_[id].context, source, beginning, at, bytes);
    }
    void lost(peer who, std::string const& why, bool link_only) override
    {
        if (link_only)
            report_link_lost(who, why);
        else
            report_failure(who, why);
    }

    time_source time_;
    environment& env_;
    peer rank_;
    peer size_;
    std::unique_ptr<link> link_;
    capabilities caps_;
    handler_table handlers_;
    struct {
        part_handler function = nullptr;
        void* context = nullptr;
    } part_handlers_[256];
    endpoint end_;
};

} // namespace

time_source monotonic_time() noexcept
{
    return {[](void*) { return base::monotonic_ns(); }};
}

std::unique_ptr<component> make(std::unique_ptr<link> l, environment& env, config const& c, time_source time)
{
    begin_sealing();
    return std::make_unique<datagram_component>(std::move(l), env, c, time);
}

endpoint_counts counts_of(component const& c)
{
    return dynamic_cast<datagram_component const&>(c).counts();
}

std::unique_ptr<component> open(environment& env, options o)
{
    config c;
    c.sealed = o.encrypt;
    c.patience = o.patience_ns;
    if (o.oversubscribed)
        c.least_timeout = 4'000'000;
    if (o.interface_addresses.empty() || o.interface_addresses.size() > most_paths)
        throw usage_error(fmt::format("a rank has 1 to {} addresses for datagrams, not {}", most_paths, o.interface_addresses.size()));
    std::vector<std::unique_ptr<link>> links;
    for (auto const& address : o.interface_addresses)
        links.push_back(open_udp_link({.address = address}));
    auto l = bundle(std::move(links));
    constexpr char const* hook = "TOWLINE_TEST_DATAGRAM_FAULTS";
    if (auto const text = base::setting(hook)) {
        auto f = parse_faults(*text);
        if (!f)
            throw usage_error(fmt::format("{}={} is not like loss=0.01,reorder=0.1,seed=7", hook, *text));
        c.summed = f->corrupt > 0 && !c.sealed;
        f->seed += env.rank();
        l = make_faulty(std::move(l), *f);
    }
    return make(std::move(l), env, c);
}

} // namespace towline::transport::datagram
