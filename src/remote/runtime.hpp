#pragma once
// The remote-call face over one engine: sends calls, runs arriving ones, and ends the world in order. A process has one, owned by its
// towline::world. Tests make many over simulated engines, and choose among them with `runtime::scope`.

#include "base/sparse_array.hpp"
#include "engine/engine.hpp"
#include "remote/calls.hpp"
#include "remote/objects.hpp"
#include "remote/registry.hpp"
#include "remote/waits.hpp"
#include "remote/wire.hpp"
#include "remote/workers.hpp"

#include <towline/detail/runtime_api.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace towline::remoting {

class team_ground;

/// The number of arrived replies: the upper half of the order in which states become ready (state_base::order). Only handlers write it, one
/// at a time. States that become ready otherwise increment the lower half.
[[gnu::visibility("hidden")]] extern std::atomic<std::uint64_t> replies_seen;

struct runtime_setup {
    unsigned threads = 1;  ///< workers
    bool oversubscribed = false;
    /// The most bytes that decoding one message may allocate.
    std::uint64_t max_message = std::uint64_t{1} << 40;
    /// "killed by signal 9", "exit code 3", ... ; may be null.
    std::string (*describe_death)(int rank) = nullptr;
    std::span<std::atomic<std::uint64_t>> counters{};  ///< indexed by job::counter
};

class runtime {
public:
    /// Installs the engine's handlers. No message of this layer may arrive before. `actions` null: the table of the process.
    explicit runtime(engine::engine&, action_table const* actions = nullptr);
    ~runtime();
    runtime(runtime const&) = delete;
    runtime& operator=(runtime const&) = delete;

    /// Starts answering calls.
    void begin(runtime_setup);
    /// Receives the versions of all peers: for each rank, the digest of its action table and its version of remoting::wire (0: no such
    /// peer). Blocks while it exchanges tables with ranks whose digest differs. All ranks call `begin` before any rank calls this, and all
    /// ranks call this before any rank makes calls.
    void meet(std::span<std::uint64_t const> digests, std::span<std::uint32_t const> versions);
    /// Answers calls until every rank has called this and every message is handled and answered. Then stops the workers; later calls are
    /// usage errors. False if a rank died or left because of an exception; the calls of this rank have ended in any case.
    bool end();
    /// The waiting part of `end`: true when the world ended, false if a rank requested a stop.
    bool serve();
    void stop_all();
    /// Tells all ranks that this one leaves because of an exception: their calls to it end with peer_error. Does not block.
    void abandon() noexcept;
    [[nodiscard]] bool active() const noexcept { return pool_.load(std::memory_order_acquire) != nullptr; }
    [[nodiscard]] bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }

    /// Returns when every rank has called it equally often. Throws peer_error if a rank died. One thread at a time.
    void barrier();

    [[nodiscard]] engine::engine& engine() noexcept { return engine_; }
    [[nodiscard]] workers& pool() noexcept { return *pool_.load(std::memory_order_acquire); }
    [[nodiscard]] object_table& objects() noexcept { return objects_; }
    [[nodiscard]] team_ground& teams() noexcept { return *teams_; }
    [[nodiscard]] int rank() const noexcept { return static_cast<int>(engine_.rank()); }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(engine_.size()); }
    [[nodiscard]] bool alive(int rank) const { return !peers_[static_cast<std::size_t>(rank)].gone.load(std::memory_order_acquire); }
    [[nodiscard]] call_table& calls() noexcept { return calls_; }
    [[nodiscard]] action_table const& actions() const noexcept { return actions_; }
    [[nodiscard]] std::uint64_t max_message() const noexcept { return setup_.max_message; }

    /// The runtime of this thread's calls; throws usage_error if there is none.
    [[nodiscard]] static runtime& current();
    [[nodiscard]] static runtime* current_or_null() noexcept;
    /// Sets the runtime of the process; null: none.
    static void set_process(runtime*) noexcept;
    /// Sets the runtime of this thread, for tests.
    class scope {
    public:
        explicit scope(runtime*) noexcept;
        ~scope();
        scope(scope const&) = delete;
        scope& operator=(scope const&) = delete;

    private:
        runtime* before_;
    };

    /// Sets the runtime of a worker thread until it ends.
    static void adopt_thread(runtime*) noexcept;

    /// Throws usage_error inside a handler on the polling thread, which must not wait.
    void check_may_wait(char const* what) const;
    /// Blocks until ready(): suspends a fiber; polls on a plain thread. Handlers make `ready` true. `about` may be null.
    template <class Ready>
    void wait_until(Ready&& ready, char const* what, waiting const* about = nullptr)
    {
        check_may_wait(what);
        if (fiber* const f = fiber::current()) {
            fiber::waiting const told(*f, what, nullptr);
            while (!ready())
                f->pool->yield();
        } else
            engine_.wait(ready, what, std::chrono::nanoseconds::max(), about);
    }

    // For the watchdog; any thread (waits.cpp).
    [[nodiscard]] std::uint64_t tasks() const noexcept;  ///< queued, running or suspended
    [[nodiscard]] std::uint64_t moved() const noexcept;  ///< changes when a call arrives or is answered
    template <class F>
    void for_each_fiber(F&& each)
    {
        std::scoped_lock const lock(owned_pool_mutex_);
        if (owned_pool_ != nullptr && active())
            owned_pool_->for_each_fiber(each);
    }

    // Sending. `rank` is checked.
    bool send_packed(action_entry const&, int rank, detail::reply_to, std::byte* arguments, std::size_t size);
    detail::state_ref<detail::state<void>> send_parcel(action_entry const&, int rank, detail::reply_to, detail::parcel&);
    detail::state_ref<detail::state<void>> send_to_all(action_entry const&, std::span<int const> ranks, state_base*,
                                                       detail::complete_all_function, std::span<std::byte const> packed, detail::parcel*);
    /// Sends a parcel with a footer; null if it lends no block.
    detail::state_ref<detail::state<void>> send_parcel(int rank, wire::handler, detail::parcel&, std::span<std::byte const> footer);
    void send_bytes(int rank, wire::handler, std::span<std::byte const> head, std::span<engine::block const> blocks = {},
                    engine::completion sent = {});
    void reply_error(int rank, call_id, wire::status, int where, std::string_view type, std::string_view text) noexcept;
    /// If the state belongs to a call without a reply yet: asks the callee to drop the call if it has not started.
    void cancel(state_base&);
    /// Counts a request to `rank` for the termination detection.
    void count_sent(int rank) noexcept { add_sent(rank, 1); }
    void count_unsent(int rank) noexcept { add_sent(rank, ~std::uint64_t{0}); }
    void check_rank(int rank) const;
    void check_callable(int rank) const;  ///< version
    [[nodiscard]] std::exception_ptr death(int rank, char const* doing) const;
    /// Adds the pending counts to the counters of the job.
    void flush_counters() noexcept;

private:
    struct peer_info {  // all zeros: alive, and of this version, and nothing came from it
        std::atomic<std::uint64_t> handled{0};  ///< requests that arrived; written by handlers only
        std::atomic<bool> gone{false};          ///< dead, or left
        std::atomic<bool> left{false};          ///< it left because of an exception
        std::atomic<std::uint32_t> barriers{0}; ///< the barriers that it had passed when it left
        std::unique_ptr<std::vector<std::uint32_t>> translation;  ///< our index -> theirs; null: equal tables
        std::atomic<bool> table_known{false};  ///< the peer's table arrived
        bool is_foreign = false;               ///< of another version
        std::uint32_t version = 0;             ///< that one
    };
    struct report {
        std::uint32_t deaths = 0;
        std::uint64_t round = 0, sent = 0, handled = 0;
    };

    // requests.cpp, replies.cpp, broadcast.cpp, ending.cpp
    void on_request(engine::incoming&);
    void on_reply(engine::incoming&);
    void on_tree(engine::incoming&);
    void on_control(engine::incoming&);
    void on_cancel(int source, call_id);
    void on_table(int source, std::span<std::byte const> ids);
    void on_death(int rank, bool goodbye);
    /// Counts a handled request: after it has run, or when it is among the tasks that `report_due` sees.
    void handled(int source) noexcept
    {
        auto& n = peers_[static_cast<std::size_t>(source)].handled;
        n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    void add_sent(int rank, std::uint64_t amount) noexcept
    {
        unsigned const n = engine::thread_shard();
        auto* const mine = sent_[n].load(std::memory_order_acquire);
        if (mine != nullptr) [[likely]]
            engine::add_to_shard(n, (*mine)[static_cast<std::size_t>(rank)], amount);
        else
            add_first_sent(n, rank, amount);
    }
    void add_first_sent(unsigned shard, int rank, std::uint64_t amount) noexcept;
    /// The number of requests sent to the rank.
    [[nodiscard]] std::uint64_t sent_to(int rank) const noexcept;
    [[nodiscard]] std::uint32_t index_at(action_entry const&, int rank) const;
    void send_control(int rank, wire::control_message const&);
    bool run_until_ended(bool may_stop);
    [[nodiscard]] bool report_due() const noexcept;
    void send_report();
    void take_report(int rank, report const&);
    void take_verdict(std::uint32_t deaths, std::uint64_t round, bool done);
    [[nodiscard]] int coordinator() const noexcept;
    void fail_calls_to(int rank);
    void fail_all_calls();
    void stop_workers() noexcept;

    engine::engine& engine_;
    action_table const& actions_;
    runtime_setup setup_;
    std::array<engine::handler_id, wire::handlers> ids_{};
    base::sparse_array<peer_info> peers_;
    /// Requests sent, by the shard of the sending thread and by rank. A shard's array is made at its first send; the shared one at
    /// construction.
    using sent_counts = base::sparse_array<std::atomic<std::uint64_t>>;
    std::array<std::atomic<sent_counts*>, engine::shards> sent_{};
    call_table calls_;
    object_table objects_;
    std::unique_ptr<team_ground> teams_;
    std::mutex owned_pool_mutex_;              ///< held while it is replaced, or read by other threads
    std::unique_ptr<workers> owned_pool_;      ///< a stopped pool stays until the next one starts, because a late handler may read it
    std::atomic<workers*> pool_{nullptr};

    std::array<std::atomic<std::uint32_t>, 32> barrier_seen_{};
    std::uint32_t barriers_ = 0;
    std::uint32_t barriers_passed_ = 0;
    std::atomic<std::uint32_t> deaths_{0};
    std::atomic<int> last_dead_{-1};

    // Termination (ending.cpp). The lowest living rank is the coordinator and keeps the others' reports.
    std::mutex ending_mutex_;
    base::sparse_array<report> reports_;
    std::uint64_t judged_round_ = 0, judged_sent_ = 0, judged_handled_ = 0;  ///< sums of the last complete round
    report own_{};                             ///< the last report of this rank
    std::atomic<std::uint64_t> wanted_round_{1};
    std::atomic<bool> ended_{false};
    std::atomic<std::uint32_t> stops_{0};
    std::uint32_t stops_seen_ = 0;

    std::uint64_t flushed_sent_ = 0, flushed_handled_ = 0;
    std::mutex flush_mutex_;
    std::uint64_t hostile_ = 0;  ///< dropped invalid messages; written by handlers
};

} // namespace towline::remoting
