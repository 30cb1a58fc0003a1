// Starts, waits for and finishes a team's operations.

#include "remote/team_core.hpp"

#include "collective/lanes/introduction.hpp"
#include "collective/operations.hpp"
#include "job/job.hpp"
#include "remote/runtime.hpp"
#include "remote/team_ground.hpp"
#include "remote/team_views.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

namespace towline::detail {

using collective::ending;

namespace {

[[nodiscard]] int cores_of_job()
{
    job::control_header const& all = job::membership::instance().header();
    return all.nodes == 1 ? static_cast<int>(all.cores) : 0;
}

[[nodiscard]] collective::members members_of(std::vector<int> const& ranks)
{
    return {static_cast<int>(ranks.size()),
            [](void const* all, int rank) {
                return static_cast<matching::peer>((*static_cast<std::vector<int> const*>(all))[static_cast<std::size_t>(rank)]);
            },
            &ranks, cores_of_job(), collective::wished_in_order()};
}

} // namespace

char const* name_of(team_operation what) noexcept
{
    static constexpr std::array names{"team::barrier", "team::broadcast", "team::gather", "team::scatter", "team::all_gather",
                                      "team::all_to_all", "team::reduce", "team::all_reduce", "team::reduce_scatter",
                                      "team::inclusive_scan", "team::exclusive_scan", "team::exchange"};
    return names[static_cast<std::size_t>(what)];
}

team_core::team_core(remoting::team_ground& ground, std::uint32_t number, int rank, std::vector<int> ranks)
    : ground_(ground), ranks_(std::move(ranks)), team_(number, rank, members_of(ranks_)),
      blocking_(std::make_unique<collective::collective_request>())
{
}

team_core::~team_core()
{
    ground_.matcher().forget(team_.context());
    if (!blocking_->done())  // an exception ended the wait: messages still refer to the operation
        (void)blocking_.release();
}

std::optional<int> team_core::first_dead() const
{
    auto const dead = std::ranges::find_if(ranks_, [this](int r) { return !ground_.owner().alive(r); });
    return dead == ranks_.end() ? std::nullopt : std::optional(*dead);
}

std::exception_ptr team_core::error_of(ending how, char const* name) const
{
    switch (how) {
    case ending::ok: return nullptr;
    case ending::mismatch:
        if (auto const different = team_.take_difference())
            return std::make_exception_ptr(usage_error(fmt::format("{}: {}", name, text_of(*different))));
        return std::make_exception_ptr(
            usage_error(fmt::format("{}: the ranks of the team gave rows whose sizes do not fit together", name)));
    case ending::peer_died:
        if (auto const dead = first_dead())
            return ground_.owner().death(*dead, name);
        return std::make_exception_ptr(peer_error(fmt::format("{}: the world ended before this rank learned which rank died", name), -1));
    case ending::lost: break;
    }
    return std::make_exception_ptr(error(fmt::format("{}: what a rank of the team has could not be brought here: its memory is gone, or "
                                                     "there is none left for it", name)));
}

void team_core::complete(collective::collective_request& r, std::uint32_t sequence, char const* name)
{
    r.start(ground_.matcher(), team_, sequence);
    if (r.is_over_lanes() ? !r.poll_briefly() : !r.done()) {
        remoting::waiting about;
        if (!r.is_over_lanes())
            about.context = team_.context();
        auto const ended = [&] {
            if (!r.is_over_lanes())
                return r.done();
            if (r.poll())
                return true;
            int const whom = r.waits_for();
            about.rank = whom < 0 ? -1 : ranks_[static_cast<std::size_t>(whom)];
            return false;
        };
        ground_.owner().wait_until(ended, name, &about);
    }
}

std::exception_ptr team_core::wait_for_error(ending how, char const* name)
{
    if (how == ending::peer_died)
        ground_.owner().wait_until([this] { return first_dead().has_value(); }, name);
    return error_of(how, name);
}

void team_core::run(collective::collective_request& r, char const* name)
{
    complete(r, team_.next_sequence(), name);
    if (std::exception_ptr const e = wait_for_error(r.result(), name)) [[unlikely]]
        std::rethrow_exception(e);
}

void team_core::build(collective::schedule& s, team_call const& c, bool over_lanes)
{
    s.allow(over_lanes ? team_.lanes() : nullptr, over_lanes ? team_.levels() : nullptr);
    std::vector<std::uint64_t> lists;
    collective::build(s, team_, call_of(c, lists));
}

void team_core::run(team_call const& c)
{
    check(c);
    ground_.owner().check_may_wait(name_of(c.what));
    if (!remoting::staged_rows::wanted(c)) [[likely]] {
        if (auto const why = find_unfit(c)) [[unlikely]]
            run_unfit(c, *why);
        return run_fit(c);
    }
    remoting::staged_rows const rows(c, rank());
    if (auto const why = rows.unfit() ? rows.unfit() : find_unfit(rows.call()))
        run_unfit(rows.call(), *why);
    run_fit(rows.call());
    rows.unpack();
}

void team_core::run_fit(team_call const& c)
{
    if (run_now(c))
        return;
    blocking_->schedule().clear();
    build(blocking_->schedule(), c);
    if (collective::checks_calls()) [[unlikely]]
        return run_checked(c);
    run(*blocking_, name_of(c.what));
}

void team_core::run_checked(team_call const& c)
{
    std::uint32_t const sequence = team_.next_sequence();
    collective::call_check check(team_, card_of(c));
    collective::collective_request exchange;
    check.build(exchange.schedule());
    complete(exchange, collective::team::check_sequence(sequence), name_of(c.what));
    if (std::exception_ptr const e = wait_for_error(exchange.result(), name_of(c.what)))
        std::rethrow_exception(e);
    if (auto const found = check.find())
        throw usage_error(fmt::format("{}: {}", name_of(c.what), found->text));
    complete(*blocking_, sequence, name_of(c.what));
    if (std::exception_ptr const e = wait_for_error(blocking_->result(), name_of(c.what)))
        std::rethrow_exception(e);
}

void team_core::introduce()
{
    if (size() == 1 || collective::wished_lanes() == collective::lane_use::never)
        return;
    collective::introduction i(team_, ground_.memory(), job::membership::instance().is_oversubscribed());
    blocking_->schedule().clear();
    i.build(blocking_->schedule());
    char const* const what = "a new team";
    complete(*blocking_, collective::team::introduction_sequence, what);
    if (std::exception_ptr const e = wait_for_error(blocking_->result(), what)) {
        i.fail(blocking_->result());
        std::rethrow_exception(e);
    }
    try {
        i.finish();
    } catch (...) {
        i.fail(ending::lost);
        throw;
    }
}

std::shared_ptr<team_core> team_core::split(int color, int key)
{
    ground_.owner().check_may_wait("team::split");
    struct card {
        std::int32_t color, key;
        std::uint64_t number;
    };
    static_assert(sizeof(card) == 16);
    std::vector<card> cards(static_cast<std::size_t>(size()));
    remoting::team_ground::making const alone(ground_);
    card const mine{color, key, ground_.next_number()};
    run({.what = team_operation::all_gather, .element = sizeof(card), .send = &mine, .send_size = 1, .receive = cards.data(),
         .receive_size = cards.size()});
    auto const number = static_cast<std::uint32_t>(std::ranges::max(cards, {}, &card::number).number);
    ground_.take_number(number);
    if (color < 0)
        return nullptr;
    std::vector<int> members;
    for (int r = 0; r < size(); ++r)
        if (cards[static_cast<std::size_t>(r)].color == color)
            members.push_back(r);
    std::ranges::stable_sort(members, {}, [&](int r) { return cards[static_cast<std::size_t>(r)].key; });
    auto const here = static_cast<int>(std::ranges::find(members, rank()) - members.begin());
    for (int& r : members)
        r = ranks_[static_cast<std::size_t>(r)];
    auto made = std::make_shared<team_core>(ground_, number, here, std::move(members));
    made->introduce();
    return made;
}

/// A nonblocking operation; also the state of its future.
struct team_core::operation final : state<void> {
    operation(std::shared_ptr<team_core> t, char const* what, std::shared_ptr<void> k)
        : state<void>(2), team(std::move(t)), called(what), kept(std::move(k))
    {
        name = what;
        request.user = this;
        request.then = [](collective::collective_request& r) { static_cast<operation*>(r.user)->end(); };
        unpacking.of = this;
        unpacking.run = [](task* own) noexcept {
            operation* const self = static_cast<unpacker*>(own)->of;
            self->rows->unpack();
            self->finish(nullptr);
        };
    }
    void end() noexcept { end(request.result()); }
    void end(ending how) noexcept
    {
        auto const now = [this, how] { end(team->error_of(how, called)); };
        if (how != ending::peer_died || !team->ground_.leave_until_death(*team, now))
            now();
    }
    void end(std::exception_ptr why) noexcept
    {
        if (rows && why == nullptr) {
            // Handlers end operations: a worker does long copies.
            if (rows->unpacks_long())
                return detail::schedule(unpacking);
            rows->unpack();
        }
        finish(std::move(why));
    }
    void finish(std::exception_ptr why) noexcept
    {
        // A waiter may release the last reference to the team, and the program owns the memory behind `kept`.
        auto const of = std::move(team);
        kept.reset();
        if (why == nullptr) [[likely]]
            complete();
        else
            set_error(std::move(why));
        release();
    }
    /// Starts the check of calls; the operation begins after it.
    void start_check(collective::call_card const& card)
    {
        sequence = team->team_.next_sequence();
        check.emplace(team->team_, card);
        check->build(exchange.schedule());
        exchange.user = this;
        exchange.then = [](collective::collective_request& r) { static_cast<operation*>(r.user)->end_check(); };
        exchange.start(team->ground_.matcher(), team->team_, collective::team::check_sequence(sequence));
    }
    void end_check() noexcept
    {
        try {
            if (exchange.result() != ending::ok)
                return end(exchange.result());
            if (auto const found = check->find())
                return end(std::make_exception_ptr(usage_error(fmt::format("{}: {}", called, found->text))));
            request.start(team->ground_.matcher(), team->team_, sequence);
        } catch (...) {
            end(std::current_exception());
        }
    }

    std::shared_ptr<team_core> team;
    char const* called;
    std::shared_ptr<void> kept;
    std::unique_ptr<remoting::staged_rows> rows;  ///< rows that are not contiguous
    struct unpacker : task {
        operation* of = nullptr;
    } unpacking;
    collective::collective_request request;
    std::optional<collective::call_check> check;  ///< if calls are checked
    collective::collective_request exchange;
    std::uint32_t sequence = 0;
};

state_ref<state<void>> team_core::start(std::shared_ptr<team_core> const& self, team_call const& given, std::shared_ptr<void> kept)
{
    self->check(given);
    std::unique_ptr<remoting::staged_rows> rows;
    if (remoting::staged_rows::wanted(given)) [[unlikely]]
        rows = std::make_unique<remoting::staged_rows>(given, self->rank());
    team_call const c = rows ? rows->call() : given;
    auto const why = rows && rows->unfit() ? rows->unfit() : self->find_unfit(c);
    if (why && self->size() == 1)
        throw usage_error(*why);
    state_ref<operation> o(new operation(self, name_of(c.what), std::move(kept)));
    o->rows = why ? nullptr : std::move(rows);
    try {
        bool const checks = collective::checks_calls();  // then by messages: it begins at different moments on different ranks
        std::optional<team_call> instead;
        if (why) [[unlikely]]
            instead = self->build_unfit(o->request.schedule(), c, !checks);
        else
            self->build(o->request.schedule(), c, !checks);
        if (checks) [[unlikely]]
            o->start_check(self->card_of(instead ? *instead : c));
        else
            o->request.start(self->ground_.matcher(), self->team_, self->team_.next_sequence());
        if (!checks && o->request.is_over_lanes() && !o->request.done())
            self->ground_.queue().leave(o->request);
    } catch (...) {
        o->release();  // nothing was started
        throw;
    }
    if (why) [[unlikely]]
        throw usage_error(*why);  // the operation continues in its own memory
    return o;
}

void run(team_core& t, team_call const& c)
{
    t.run(c);
}
state_ref<state<void>> start(std::shared_ptr<team_core> const& t, team_call const& c, std::shared_ptr<void> kept)
{
    return team_core::start(t, c, std::move(kept));
}

} // namespace towline::detail
