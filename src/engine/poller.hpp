#pragma once
// The polling token, one round of polling, and waits: a thread that waits makes progress for the whole process.
//
// One thread polls at a time: the holder of the token. It is tried, never waited for. A thread that finds it held spins on its own
// condition, and sleeps in the end: in its berth, where the end of its operation wakes it, or on the event count, where every handled
// message and the release of the token do. Handlers and completions run under the token only. What they defer, because it takes long, runs
// without it, on the thread that let go of it, while another one polls.
//
// Written by the holder of the token: foreground_polls, deaths_seen, idle_polls_, busy_polls_. All else: any thread, no lock.

#include "engine/common.hpp"

#include <chrono>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace towline::engine {

class polling_token {
public:
    /// Takes the token if it is free. Acquires what the last holder did. `alone`: no other thread is in a call.
    [[nodiscard]] bool try_acquire(bool alone) noexcept
    {
        std::uint32_t expected = 0;
        if (alone) {
            if (word_.load(std::memory_order_relaxed) != 0)
                return false;
            word_.store(1, std::memory_order_relaxed);
            return true;
        }
        return word_.load(std::memory_order_relaxed) == 0 &&
               word_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void release() noexcept { word_.store(0, std::memory_order_release); }

private:
    alignas(64) std::atomic<std::uint32_t> word_{0};
};

class packet_watch;

/// Base of engine::impl, which does for it what is seldom due.
class poller : public common {
public:
    using common::common;

    [[nodiscard]] bool acquire_token() noexcept { return token_.try_acquire(config.one_thread); }
    /// Lets another thread poll; wakes one that sleeps because it could not. Then runs what was deferred.
    void release_token() noexcept;

    /// The same for the background thread and the helper, which poll while no thread of the program does: they give the token to who sets
    /// step_aside.
    [[nodiscard]] bool acquire_token_for_others() noexcept;
    void release_token_for_others() noexcept;
    /// The token, from one of these two. False: neither holds it, or it did not come soon.
    [[nodiscard]] bool take_token_over() noexcept;

    /// engine::defer.
    void defer(void (*function)(void*), void* context);
    /// Something was deferred that nobody has begun: whoever holds the token lets go of it.
    [[nodiscard]] bool has_deferred() const noexcept { return deferred_waiting_.load(std::memory_order_relaxed) != 0; }
    /// Deferred work that runs on other threads now has returned.
    void outlast_deferred() noexcept;

    enum class caller { foreground, background };
    /// One round over everything; token held. The number of messages handled.
    int poll(int budget, caller who = caller::foreground);
    int poll_transports(int budget);
    /// One round, if no other thread polls.
    int progress(int budget);
    /// engine::take_next, once the peer is known to be reached; token held.
    bool take_next(peer from, transport::component&, bool (*take)(void*, handler_id, std::span<std::byte const>), void* context);

    /// engine::wait, once its condition was found false.
    bool wait(bool (*ready)(void*), void* context, char const* what, std::chrono::nanoseconds timeout, wait_detail const* detail = nullptr);
    /// Sleeps on the event count until a notify or `limit`, unless something is there to be done; false if it timed out. Token not held.
    bool sleep(bool (*ready)(void*), void* context, char const* what, std::chrono::nanoseconds limit, wait_detail const* detail = nullptr);
    enum class berth_end {
        woken,
        unguarded,  ///< nobody polls
        timed_out,
    };
    /// Sleeps in this thread's berth. Token not held.
    berth_end sleep_in_berth(char const* what, std::chrono::nanoseconds limit, wait_detail const&);
    /// Wakes the thread; it may need this core.
    void wake(berth&) noexcept;
    using common::wake;
    /// Wakes all threads that sleep in berths: nobody may poll for them.
    void wake_berths() noexcept;
    /// Gives the core to a thread that was woken some time ago, and has not run since. Token not held.
    void pay_turn() noexcept
    {
        if (owed_since_.load(std::memory_order_relaxed) != 0) [[unlikely]]
            pay_turn_slow();
    }
    /// More threads wait in this process, now and then, than it has cores: one that waits keeps another from running.
    [[nodiscard]] bool is_crowded() const noexcept { return config.cores != 0 && berth::threads() > config.cores; }
    /// Flushes queued messages before a wait returns; polls if this thread holds the token.
    void flush_before_return(bool polls);
    void set_waiting_for(char const* what) noexcept;
    void tell_waiting(char const* what, wait_detail const*) noexcept;
    /// No other rank and no other program wants this core, as far as is known.
    [[nodiscard]] bool has_core() const noexcept
    {
        return !config.oversubscribed && !shares_core_.load(std::memory_order_relaxed) && !is_crowded();
    }

    /// The job's count of deaths has changed since the last look.
    [[nodiscard]] bool deaths_moved() const noexcept
    {
        return config.deaths != nullptr && config.deaths->load(std::memory_order_acquire) != deaths_seen.load(std::memory_order_relaxed);
    }
    /// Buries peers that died since the last look; with `all`, asks for every peer even if the count did not move (a rank that left in good
    /// order answers no more either). Token held.
    virtual void look_for_deaths(bool all = false) = 0;

    packet_watch* packets = nullptr;  ///< null: no transport has a wait descriptor

    alignas(64) std::atomic<std::uint64_t> foreground_polls{0};  ///< rounds of polling by other threads than the background one
    // What the program installed (engine::on_poll, engine::on_long_wait), while no thread polled.
    int (*poll_function)(void*) = nullptr;
    void* poll_context = nullptr;
    std::atomic<int> polls_asked{0};
    std::atomic<std::uint32_t> slow_waiters{0};  ///< waits that have slept at least once
    std::atomic<std::uint64_t> yielding_waiters{0};  ///< waits that yield now, and poll whenever they get a core
    std::atomic<std::uint32_t> deaths_seen{0};
    std::atomic<std::uint64_t> sleeps{0};        ///< engine::sleeps
    std::atomic<bool> step_aside{false};         ///< a thread asks the background thread, or the helper, for the token
    std::atomic<bool> polls_for_others{false};   ///< the background thread or the helper holds it, or is about to
    void (*long_wait_function)(void*, long_wait const&) = nullptr;
    void* long_wait_context = nullptr;

protected:
    /// Does what parts have for the poller (common::work). The number of portions done.
    virtual int do_work() = 0;
    /// Ends copies that the helper thread has made. How many.
    virtual int end_copies() = 0;
    /// A wait that has slept is over: the background thread may be needed.
    virtual void waiter_left() noexcept = 0;

private:
    /// What ran on this core during a yield.
    enum class neighbour {
        none,
        passing,    ///< threads that soon yielded, too; in an oversubscribed job, other ranks
        computing,  ///< a thread that did not
    };
    neighbour yield_core() noexcept;
    /// The next round of polling asks the sockets, too. Token held.
    void ask_sockets_next() noexcept { unweighted_ = thresholds::polls_per_packet_poll - 1; }
    void pay_turn_slow() noexcept;
    /// After a release: wakes who sleeps because the token was held, and runs what was deferred.
    void token_is_free() noexcept;
    void wake_for_token() noexcept;
    void run_deferred() noexcept;
    int poll_others() noexcept { return polls_asked.load(std::memory_order_acquire) == 0 ? 0 : poll_function(poll_context); }

    alignas(64) std::atomic<std::uint32_t> wants_token_{0};  ///< sleepers, some of which found the token held
    std::atomic<std::uint32_t> deferred_waiting_{0};         ///< in `deferred_`
    std::atomic<std::uint32_t> deferred_running_{0};
    std::atomic<std::uint32_t> event_sleepers_{0};  ///< waits that sleep on the event count
    std::atomic<std::uint32_t> in_berths_{0};       ///< waits that sleep in berths
    std::atomic<std::int64_t> owed_since_{0};       ///< when a thread was woken that may need this core; 0: none
    std::mutex deferred_mutex_;
    struct deferred_work {
        void (*function)(void*);
        void* context;
    };
    std::deque<deferred_work> deferred_;            ///< what handlers left for later
    std::mutex berths_mutex_;
    std::vector<berth*> berths_;                    ///< where threads sleep
    std::uint32_t idle_polls_ = 0;  ///< since something was handled
    std::uint32_t busy_polls_ = 0;
    std::atomic<bool> shares_core_{false};       ///< with something that ran during one of the last yields
    std::atomic<std::uint32_t> lone_yields_{0};  ///< since the last of these
    std::size_t const first_weighted_ = count_unweighted();  ///< transports from here on have wait descriptors
    std::uint32_t unweighted_ = 0;  ///< rounds without them
    bool packets_come_ = false;     ///< the last poll of one found something
    [[nodiscard]] std::size_t count_unweighted() const noexcept;
    polling_token token_;
};

/// The token as a wait of this thread holds it. A condition that sends, polls or waits itself must not wait for its own thread.
struct wait_hold {
    poller& owner;
    wait_hold* outer;
    bool token = false;

    explicit wait_hold(poller&) noexcept;
    ~wait_hold();
    wait_hold(wait_hold const&) = delete;
    wait_hold& operator=(wait_hold const&) = delete;
    void let_go() noexcept
    {
        if (std::exchange(token, false))
            owner.release_token();
    }
    /// The calling thread is in a wait of this engine.
    [[nodiscard]] static bool inside(poller const&) noexcept;
    /// Lets go what an outer wait of this thread holds of this engine's token; that wait will take it again.
    static void let_go_outer(poller&) noexcept;
};

} // namespace towline::engine
