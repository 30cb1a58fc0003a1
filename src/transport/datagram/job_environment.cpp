#include "transport/datagram/job_environment.hpp"

#include "base/settings.hpp"
#include "base/settings_table.hpp"
#include "job/job.hpp"
#include "job/launch/host_facts.hpp"
#include "transport/datagram/link.hpp"

#include <fmt/format.h>

#include <charconv>

namespace towline::transport::datagram {

namespace {

constexpr char const* card_key = "datagram";
static_assert(job::launch::most_networks == most_paths);

/// Cards hold text.
std::string as_text(std::span<std::byte const> bytes)
{
    std::string text;
    for (std::byte const b : bytes)
        text += fmt::format("{:02x}", static_cast<unsigned>(b));
    return text;
}

std::optional<address_blob> as_bytes(std::string const& text)
{
    address_blob bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        unsigned value = 0;
        char const* const digits = text.data() + 2 * i;
        if (std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2)
            return std::nullopt;
        bytes[i] = static_cast<std::byte>(value);
    }
    return bytes;
}

class of_job final : public environment {
public:
    peer rank() const noexcept override { return static_cast<peer>(job_.rank()); }
    peer size() const noexcept override { return static_cast<peer>(job_.size()); }
    job_key const& key() const noexcept override { return job_.header().key; }
    void publish_address(std::span<std::byte const> address) override { job_.put(card_key, as_text(address)); }
    std::optional<address_blob> address_of(peer p) override
    {
        auto const text = job_.get(static_cast<int>(p), card_key);
        return text ? as_bytes(*text) : std::nullopt;
    }
    bool is_dead(peer p) const noexcept override
    {
        auto const state = static_cast<job::rank_state>(job_.slot(static_cast<int>(p)).state.load(std::memory_order_acquire));
        return state == job::rank_state::left || state == job::rank_state::dead;
    }
    void tell_counts(endpoint_counts const& c) noexcept override
    {
        auto& counters = job_.self().counters;
        auto const tell = [&](job::counter which, std::uint64_t n) {
            counters[static_cast<std::size_t>(which)].store(n, std::memory_order_relaxed);
        };
        tell(job::counter::packets_sent, c.packets_sent + c.acks_sent + c.probes_sent + c.hellos_sent);
        tell(job::counter::packets_resent, c.packets_resent);
        tell(job::counter::packets_received, c.packets_received);
    }
    bool dies_silently(peer p) const noexcept override
    {
        return job_.is_foreign() && !job_.is_here(static_cast<int>(p)) && !is_dead(p);
    }

private:
    job::membership& job_ = job::membership::instance();
};

} // namespace

std::unique_ptr<component> open_in_job()
{
    static of_job environment;
    auto const& header = job::membership::instance().header();
    options o;
    if (header.addresses[0] != '\0')
        o.interface_addresses = base::parse_list(header.addresses.data());
    o.encrypt = base::setting_choice("TOWLINE_SECURITY", {"authenticate", "encrypt"}, 0) == 1;
    constexpr char const* patience = "TOWLINE_LINK_TIMEOUT";
    base::check_setting(patience);
    if (auto const wish = base::setting(patience))
        o.patience_ns = base::parse_time_or_off(*wish).value_or(std::chrono::nanoseconds(o.patience_ns)).count();
    o.oversubscribed = job::membership::instance().is_oversubscribed();
    return open(environment, o);
}

} // namespace towline::transport::datagram
