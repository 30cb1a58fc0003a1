#pragma once
// Runs schedules over a matcher. A template, so that the tests can run all ranks over a simulated one in one thread.
//
// Nothing here polls: the end of a message (its `then`) begins the next steps, on the thread that polls. A count has the messages under
// way, plus one for the thread that begins them; the thread that brings it to zero runs the next steps, so that one thread at a time is in
// them. Steps never recurse: a message that ends within its start leaves the count above zero.

#include "collective/ending.hpp"
#include "collective/lanes/lane_queue.hpp"
#include "collective/schedule.hpp"
#include "collective/team.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace towline::collective {

/// A schedule under way; used again as often as wanted. `Matcher` and `Request` are as matching::matcher and matching::request.
///
/// Threads: `done` from any thread. Everything else by its owner, while nothing is under way.
template <class Matcher, class Request>
class basic_request final : public lane_task {
public:
    basic_request() = default;
    basic_request(basic_request const&) = delete;
    basic_request& operator=(basic_request const&) = delete;

    /// To be filled by the functions of operations.hpp (after clear) before the first start. Its scratch memory is ours.
    [[nodiscard]] collective::schedule& schedule() noexcept { return schedule_; }

    /// Starts. All ranks of the team start the same operation with the same sequence (team::next_sequence); a schedule that runs again may
    /// keep it. Never blocks. The team and the buffers must stay until the end. What goes wrong with a
    /// peer is the ending; throws usage_error while the last operation is under way, std::bad_alloc (nothing was started).
    void start(Matcher& matcher, team const& t, std::uint32_t sequence)
    {
        if (!done())
            throw usage_error("collective: an operation is started while its last is under way");
        prepare();
        matcher_ = &matcher;
        team_ = &t;
        sequence_ = sequence;
        at_ = 0;
        ending_.store(schedule_.is_spoiled() ? ending::mismatch : ending::ok, std::memory_order_relaxed);
        state_.store(state::pending, std::memory_order_relaxed);
        goes_by_messages_ = false;
        steps_ = &schedule_.steps();
        if (!schedule_.parts().empty()) {
            // All numbers are taken now: operations that begin later have later ones on every rank.
            for (schedule::part const& p : schedule_.parts())
                if (p.is_over_lanes())
                    number_ = schedule_.lanes()->begin();
            for (schedule::part const& p : schedule_.parts())
                number_ -= p.is_over_lanes() ? 1 : 0;
            begin_part(0);
            (void)poll();
            return;
        }
        if (is_over_lanes()) {
            run_.start(*schedule_.lanes(), schedule_.lane_operation(), schedule_.is_spoiled(),
                       schedule_.rows().empty() ? nullptr : &schedule_.rows());
            (void)poll();
            return;
        }
        under_way_.store(1, std::memory_order_relaxed);
        begun_ = 0;
        advance();
    }

    /// It goes over lanes, or has parts: nothing but `poll` drives it, by the one thread that waits for it, or the queue to which it is left;
    /// also where it turns out that it goes by messages. A schedule that runs again does so only where all ranks start the operations of its lanes in
    /// one order.
    [[nodiscard]] bool is_over_lanes() const noexcept { return has_rows() || !schedule_.parts().empty(); }
    /// It went to the end over lanes: what was taken into rows (schedule::rows) is where it belongs. When it is done.
    [[nodiscard]] bool has_used_rows() const noexcept { return has_rows() && !goes_by_messages_; }
    /// Does what can be done now; true if it has ended.
    bool poll() override
    {
        if (done())
            return true;
        if (!schedule_.parts().empty())
            return poll_parts();
        if (goes_by_messages_)
            return end_messages();
        lane_run::state const s = run_.advance(schedule_.lane_steps(), schedule_.operation());
        if (s == lane_run::state::waits)
            return false;
        if (s == lane_run::state::retreats && begin_messages()) [[unlikely]]
            return end_messages();
        if (s != lane_run::state::ended) [[unlikely]]
            fail(lane_run::ending_of(s));
        end();
        return true;
    }

    /// Polls until it has ended, but not for long: the others mostly come within this time.
    bool poll_briefly()
    {
        constexpr int looks = 40;
        for (int i = 0; i < looks; ++i)
            if (poll())
                return true;
        return false;
    }

    /// Over lanes: the rank for which it waits, or all_ranks.
    [[nodiscard]] int waits_for() const noexcept
    {
        if (schedule_.parts().empty())
            return run_.waits_for(schedule_.lane_steps());
        schedule::part const& p = schedule_.parts()[part_];
        return goes_by_messages_ ? all_ranks : schedule_.lanes()->name_of(run_.waits_for(p.lane_steps));
    }

    /// Nothing is under way. True acquires the operation's effects.
    [[nodiscard]] bool done() const noexcept { return state_.load(std::memory_order_acquire) != state::pending; }
    /// After `done()` only.
    [[nodiscard]] ending result() const noexcept { return ending_.load(std::memory_order_relaxed); }

    /// Called when the operation has ended, after `done()` is true, on a thread that polls or inside `start`. A request with a `then` may
    /// be used again or destroyed by it or after it was called only. Must not wait or throw. Set before the start.
    void (*then)(basic_request&) = nullptr;
    /// The owner's.
    void* user = nullptr;

private:
    enum class state : std::uint8_t { idle, pending, ended };

    struct transfer {
        Request request;
        basic_request* owner = nullptr;
        std::byte const* landing = nullptr;  ///< null: a send
        std::uint64_t expected = 0;
    };

    [[nodiscard]] bool has_rows() const noexcept { return !schedule_.lane_steps().empty(); }

    void prepare()
    {
        std::size_t const width = schedule_.width();
        if (width <= room_)
            return;
        transfers_ = std::make_unique<transfer[]>(width);
        room_ = width;
        for (std::size_t i = 0; i < width; ++i) {
            transfers_[i].owner = this;
            transfers_[i].request.user = &transfers_[i];
            transfers_[i].request.then = &ended;
        }
    }

    void fail(ending why) noexcept
    {
        ending none = ending::ok;
        ending_.compare_exchange_strong(none, why, std::memory_order_relaxed);
    }
    [[nodiscard]] bool failed() const noexcept { return ending_.load(std::memory_order_relaxed) != ending::ok; }

    static void ended(Request& r)
    {
        auto& t = *static_cast<transfer*>(r.user);
        basic_request& self = *t.owner;
        matching::status const& s = r.result();
        if (s.error == matching::outcome::peer_died)
            self.fail(ending::peer_died);
        else if (s.error == matching::outcome::lost)
            self.fail(ending::lost);
        else if (t.landing != nullptr && s.bytes != t.expected)
            self.fail(word_of_failure::read({t.landing, std::min(s.bytes, t.expected)}, s.bytes, t.expected));
        self.one_less();
    }

    /// A message has ended. This object may be gone afterwards.
    void one_less() noexcept
    {
        if (under_way_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            under_way_.store(1, std::memory_order_relaxed);
            advance();
        }
    }

    /// Takes this thread's one out of the count. True: all messages have ended. False: this object may be gone.
    [[nodiscard]] bool all_ended() noexcept
    {
        begun_ = 0;
        if (under_way_.load(std::memory_order_acquire) == 1)
            return true;
        if (under_way_.fetch_sub(1, std::memory_order_acq_rel) != 1)
            return false;
        under_way_.store(1, std::memory_order_relaxed);
        return true;
    }

    void advance() noexcept
    {
        auto const& steps = *steps_;
        while (at_ < steps.size()) {
            step const& s = steps[at_++];
            switch (s.what) {
            case step::kind::send:
            case step::kind::receive:
                begin(s);
                break;
            case step::kind::wait:
                if (!all_ended())
                    return;
                break;
            case step::kind::copy:
                if (!failed())
                    std::memcpy(s.to, s.from, s.size);
                break;
            case step::kind::combine:
                if (!failed())
                    schedule_.operation().apply(s.from, s.to, s.size, schedule_.operation().context);
                break;
            }
        }
        if (begun_ != 0 && !all_ended())
            return;
        if (goes_by_messages_)
            messages_ended_.store(true, std::memory_order_release);
        else
            end();
    }

    /// Goes on by messages, after the lanes were left. False: the operation has no such form.
    [[nodiscard]] bool begin_messages() noexcept
    {
        try {
            if (!schedule_.add_messages())
                return false;
            prepare();
        } catch (...) {
            return false;
        }
        run_messages(schedule_.steps());
        return true;
    }
    void run_messages(std::vector<step> const& steps) noexcept
    {
        goes_by_messages_ = true;
        steps_ = &steps;
        at_ = 0;
        messages_ended_.store(false, std::memory_order_relaxed);
        under_way_.store(1, std::memory_order_relaxed);
        begun_ = 0;
        advance();
    }
    /// A poll reports the end to its thread, also where the last message ended on another one.
    [[nodiscard]] bool end_messages() noexcept
    {
        if (!messages_ended_.load(std::memory_order_acquire))
            return false;
        end();
        return true;
    }

    // An operation in parts. A rank that failed goes through the others all the same: it tells over lanes that it failed, and sends words
    // of failure, so that nobody waits for it.

    void begin_part(std::size_t nth) noexcept
    {
        part_ = nth;
        schedule::part const& p = schedule_.parts()[nth];
        if (!p.is_over_lanes())
            return run_messages(p.steps);
        goes_by_messages_ = false;
        run_.start(*schedule_.lanes(), ++number_, p.operation, lane_run::state_of(result()));
    }
    [[nodiscard]] bool poll_parts() noexcept
    {
        while (part_has_ended()) {
            if (part_ + 1 == schedule_.parts().size()) {
                end();
                return true;
            }
            begin_part(part_ + 1);
        }
        return false;
    }
    [[nodiscard]] bool part_has_ended() noexcept
    {
        if (goes_by_messages_)
            return messages_ended_.load(std::memory_order_acquire);
        schedule::part const& p = schedule_.parts()[part_];
        lane_run::state const s = run_.advance(p.lane_steps, schedule_.operation());
        if (s == lane_run::state::waits)
            return false;
        if (s == lane_run::state::retreats) [[unlikely]] {
            if (add_messages_of_part()) {
                run_messages(p.steps);
                return messages_ended_.load(std::memory_order_acquire);
            }
            fail(ending::lost);
        } else if (s != lane_run::state::ended) [[unlikely]] {
            fail(lane_run::ending_of(s));
        }
        return true;
    }
    [[nodiscard]] bool add_messages_of_part() noexcept
    {
        try {
            if (!schedule_.add_messages_of(part_))
                return false;
            prepare();
            return true;
        } catch (...) {
            return false;
        }
    }

    void end() noexcept
    {
        auto const call = then;
        state_.store(state::ended, std::memory_order_release);
        if (call != nullptr)
            call(*this);
    }

    void begin(step const& s) noexcept
    {
        transfer& t = transfers_[begun_++];
        t.expected = s.size;
        under_way_.fetch_add(1, std::memory_order_relaxed);
        try {
            peer const other = team_->peer_of(s.where, s.rank);
            std::int32_t const tag = team::tag(sequence_, s.where);
            if (s.what == step::kind::receive) {
                t.landing = static_cast<std::byte const*>(s.to) == nullptr ? &nothing : static_cast<std::byte const*>(s.to);
                matcher_->start_receive(t.request, {team_->context(), s.rank, tag}, other, {s.to, s.size});
                return;
            }
            t.landing = nullptr;
            std::span<std::byte const> data{static_cast<std::byte const*>(s.from), s.size};
            if (failed())
                data = word_of_failure::bytes(result(), s.size);
            matcher_->start_send(t.request, other, {team_->context(), team_->rank(), tag}, data.data(), data.size());
            return;
        } catch (...) {
            fail(ending::lost);
        }
        under_way_.fetch_sub(1, std::memory_order_relaxed);
    }

    static constexpr std::byte nothing{};

    collective::schedule schedule_;
    lane_run run_;
    Matcher* matcher_ = nullptr;
    team const* team_ = nullptr;
    std::unique_ptr<transfer[]> transfers_;
    std::size_t room_ = 0;
    std::vector<step> const* steps_ = nullptr;
    std::size_t at_ = 0;     ///< the next step; touched by the thread that is in the steps
    std::size_t begun_ = 0;  ///< messages since the last wait; the same
    std::uint32_t sequence_ = 0;
    std::size_t part_ = 0;      ///< that is under way; the poller's
    std::uint64_t number_ = 0;  ///< of the last part that began over lanes
    bool goes_by_messages_ = false;  ///< though it began over lanes; of an operation in parts: the one under way does
    std::atomic<bool> messages_ended_{false};
    std::atomic<ending> ending_{ending::ok};
    std::atomic<state> state_{state::idle};
    std::atomic<std::size_t> under_way_{0};
};

} // namespace towline::collective
