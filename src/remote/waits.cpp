// Reports the waits of this process in remote calls and teams to the watchdog.

#include "remote/waits.hpp"

#include "remote/runtime.hpp"
#include "remote/team_ground.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <vector>

namespace towline::remoting {
namespace {

using job::waited_operation;
using kind = waited_operation::kind;

constexpr std::string_view a_future = "a future", end_of_world = "the end of the world", serve = "world::serve";

void write_note(engine::wait_detail const& about, char const* what, std::span<char> text) noexcept
{
    int const rank = static_cast<waiting const&>(about).rank;
    auto const end = rank < 0 ? fmt::format_to_n(text.data(), text.size() - 1, "{}", what)
                              : fmt::format_to_n(text.data(), text.size() - 1, "{}: rank {}", what, rank);
    *end.out = '\0';
}

waited_operation operation(kind what, int process, std::string_view name)
{
    waited_operation o;
    o.what = what;
    o.process = process < 0 ? waited_operation::nobody : static_cast<std::uint32_t>(process);
    job::set_text(o.communicator, name);
    return o;
}

struct call_under_way {
    detail::state_base const* state;
    waited_operation about;
};

std::vector<call_under_way> calls_of(runtime& r)
{
    std::vector<call_under_way> all;
    r.calls().look([&](detail::state_base const* state, action_entry const* e, std::uint32_t peer) {
        std::string const name = e != nullptr && e->name != nullptr ? short_name(e->name) : "a call";
        if (all.size() < 4096)
            all.push_back({state, operation(kind::call, static_cast<int>(peer), name)});
    });
    return all;
}

/// The call of an awaited future; null if it belongs to no call.
waited_operation const* find(std::vector<call_under_way> const& calls, detail::state_base const* state)
{
    auto const at = std::find_if(calls.begin(), calls.end(), [&](auto const& c) { return c.state == state; });
    return at == calls.end() ? nullptr : &at->about;
}

void add_some(job::wait_report& report, std::vector<call_under_way> const& calls, std::size_t most)
{
    for (std::size_t i = 0; i < calls.size() && i < most; ++i)
        report.add(calls[i].about);
    if (calls.size() > most)
        report.more += static_cast<std::uint32_t>(calls.size() - most);
}

} // namespace

waiting::waiting(detail::state_base const* state) noexcept : engine::wait_detail{&write_note}, future(state) {}

wait_watch::wait_watch(runtime& r, job::membership& members) : runtime_(r), dog_(members, r.engine(), *this, true) {}

bool wait_watch::has_calls() noexcept
{
    return runtime_.tasks() != 0;
}

std::uint64_t wait_watch::moved()
{
    return runtime_.moved();
}

void wait_watch::tell(std::span<engine::long_wait const> waits, job::wait_report& report)
{
    auto const calls = calls_of(runtime_);
    bool is_idle = !waits.empty();
    for (engine::long_wait const& w : waits) {
        std::string_view const what = w.what;
        if (&w == &waits.front())
            job::set_text(report.call, what);
        bool const serves = what == end_of_world || what == serve;
        is_idle = is_idle && serves && calls.empty();
        auto const* const about = w.detail != nullptr && w.detail->write == &write_note ? static_cast<waiting const*>(w.detail) : nullptr;
        if (serves) {
            add_some(report, calls, 8);
        } else if (about == nullptr) {
            continue;
        } else if (about->future != nullptr) {
            if (auto const* const call = find(calls, about->future)) {
                if (&w == &waits.front())
                    job::set_text(report.call, a_future);  // instead of the function's name
                report.add(*call);
            } else if (what == a_future) {
                add_some(report, calls, 8);  // it combines other futures
            }
        } else if (about->context) {
            for (auto const& o : runtime_.teams().matcher().pending(200))
                if (o.about.context == *about->context && o.with != matching::no_peer)
                    report.add(operation(kind::part, static_cast<int>(o.with), ""));
        } else if (about->rank >= 0) {
            report.add(operation(kind::part, about->rank, ""));
        }
    }
    bool runs = false, polls = false;
    runtime_.for_each_fiber([&](fiber const& f) {
        auto const [name, caller] = f.running();
        if (name == nullptr)
            return;
        is_idle = false;
        char const* const what = f.waits_for();
        if (what == nullptr) {
            runs = true;
            return report.add(operation(kind::runs, caller, short_name(name)));
        }
        polls = polls || f.waits_on() == nullptr;
        if (report.operations + 2 > job::wait_report::most) {
            ++report.more;
            return;
        }
        report.add(operation(kind::held, caller, short_name(name)));
        auto const* const call = f.waits_on() != nullptr ? find(calls, f.waits_on()) : nullptr;
        report.add(call != nullptr ? *call : operation(kind::other, -1, what));
    });
    report.idle = is_idle ? 1 : 0;
    // A call that polls in a loop keeps a core busy and does nothing else.
    if (runs)
        report.computing = 1;
    else if (polls && !waits.empty())
        report.computing = 0;
}

std::string short_name(std::string_view readable)
{
    constexpr std::string_view anonymous = "(anonymous namespace)::";
    if (readable.starts_with(anonymous))
        readable.remove_prefix(anonymous.size());
    int depth = 0;
    for (std::size_t i = 0; i < readable.size(); ++i) {
        char const c = readable[i];
        depth += c == '<' || c == '{' ? 1 : c == '>' || c == '}' ? -1 : 0;
        if (c == '(' && depth == 0 && i > 0 && !readable.substr(i).starts_with(anonymous))
            return std::string(readable.substr(0, i));
    }
    return std::string(readable);
}

std::uint64_t runtime::tasks() const noexcept
{
    workers const* const p = pool_.load(std::memory_order_acquire);
    return p != nullptr ? p->unfinished() : 0;
}

std::uint64_t runtime::moved() const noexcept
{
    std::uint64_t n = calls_.answered();
    for (int r = 0; r < size(); ++r)
        n += peers_[static_cast<std::size_t>(r)].handled.load(std::memory_order_relaxed);
    return n;
}

} // namespace towline::remoting
