// Passes frames between the front and agents further away.

#include "branches.hpp"

#include "towline/error.hpp"

#include <nlohmann/json.hpp>

#include <csignal>

namespace towline::tools {

using nlohmann::json;

branches::~branches()
{
    for (auto& [number, one] : all_)
        one.link.reset();  // all at once
    for (auto& [number, one] : all_)
        leave_host(one);
}

void branches::start(std::string const& payload)
{
    json const j = json::from_cbor(payload);
    auto const shell = j.at("shell").get<std::string>();
    auto const command = j.at("command").get<std::string>();
    for (auto const& host : j.at("hosts"))
        all_[host.at(0).get<std::uint32_t>()] = reach(host.at(1).get<std::string>(), shell, false, command);
}

void branches::pass_down(std::string_view payload)
{
    auto const f = relayed_in(payload);
    auto const at = all_.find(f.host);
    if (at == all_.end())
        return;  // it has ended; the front will learn of it
    if (f.kind == frame::gone)
        end(f.host);
    else
        at->second.link->send(f.kind, f.payload);
}

void branches::look()
{
    std::vector<std::uint32_t> ended;
    for (auto& [number, one] : all_) {
        one.link->flush();
        bool more = true;
        std::string why;
        try {
            more = one.link->receive();
            while (auto const m = one.link->next())
                front_.send(frame::relay, relayed(number, m->kind, m->payload));
        } catch (error const& e) {
            more = false;
            why = e.what();
        }
        if (!more) {
            front_.send(frame::relay, relayed(number, frame::gone, why));
            ended.push_back(number);
        }
    }
    for (auto const number : ended)
        end(number);
}

void branches::end(std::uint32_t number)
{
    auto const at = all_.find(number);
    at->second.link.reset();
    // The process ends with its stream, and is reaped with the other children. One that hangs in the network does not see that end.
    if (at->second.pid > 0)
        kill(-at->second.pid, SIGTERM);
    all_.erase(at);
}

void branches::reaped(pid_t pid) noexcept
{
    for (auto& [number, one] : all_)
        if (one.pid == pid)
            one.pid = -1;
}

std::vector<pid_t> branches::leads() const
{
    std::vector<pid_t> pids;
    for (auto const& [number, one] : all_)
        pids.push_back(one.pid);
    return pids;
}

void branches::watch(std::vector<pollfd>& watched) const
{
    for (auto const& [number, one] : all_) {
        watched.push_back({one.link->in(), POLLIN, 0});
        if (one.link->waiting() > 0)
            watched.push_back({one.link->out(), POLLOUT, 0});
    }
}

std::string relayed(std::uint32_t host, frame kind, std::string_view payload)
{
    return text_of(host) + static_cast<char>(kind) + std::string(payload);
}

relayed_frame relayed_in(std::string_view text)
{
    constexpr std::size_t head = 5;
    if (text.size() < head)
        throw error("what came by way of another host is no message");
    auto const kind = static_cast<frame>(text[4]);
    if (kind < frame::hello || kind > frame::gone || kind == frame::relay)
        throw error("what came by way of another host is no message");
    return {number_in(text), kind, text.substr(head)};
}

} // namespace towline::tools
