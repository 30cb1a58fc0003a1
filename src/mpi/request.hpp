#pragma once
// Requests: operations under way, and persistent ones (3.7, 3.9). They have a table of their own rather than counted references: a request
// is made and ended with every nonblocking call, so it stays in its place, and its handle changes with every use.

#include "matching/matcher.hpp"
#include "mpi/communicator.hpp"
#include "mpi/handle_table.hpp"
#include "mpi/handles.hpp"
#include "mpi/payload.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace towline::mpi {

/// What a request stands for if it is no single send or receive. Whoever waits calls `done` again whenever an operation of the matcher has
/// ended.
class activity {
public:
    activity() = default;
    activity(activity const&) = delete;
    activity& operator=(activity const&) = delete;
    virtual ~activity() = default;
    /// Goes on as far as it can without waiting; whether it has ended. Under one thread at a time.
    [[nodiscard]] virtual bool done() = 0;
    /// After that: how. The code of the error, or MPI_SUCCESS; never writes MPI_ERROR.
    virtual int result(MPI_Status&) = 0;
    /// What that code means; null: nothing particular.
    [[nodiscard]] virtual char const* explain(int /*code*/) const { return nullptr; }
    /// Of a persistent request: begins again. What goes wrong is thrown; then nothing is under way.
    virtual void start() {}
    /// False: it cannot be cancelled. What the program's own function says against it is thrown.
    virtual bool cancel() { return false; }
    /// The program was told the result, and the request ends (one that is not persistent). The code of an error of that.
    virtual int end() { return MPI_SUCCESS; }
    /// The program freed the request without waiting for it.
    virtual void released() {}
    /// After `done()`: request::place; 0: it is when `done()` was first seen to be true.
    [[nodiscard]] virtual std::uint64_t place() const { return 0; }
};

enum class send_kind : std::uint8_t { standard, synchronous, ready, buffered };

class request {
public:
    enum class kind : std::uint8_t {
        nothing,   ///< ended when it began: a small send, a transfer with MPI_PROC_NULL
        send,
        receive,
        activity,
    };

    // How the operation is, and what it needs while it is under way.
    kind what = kind::nothing;
    bool is_persistent = false;
    bool is_active = true;
    matching::request operation;
    payload data;                         ///< of a receive: where to
    ref<datatype> type;                   ///< of that data
    std::unique_ptr<std::byte[]> packed;  ///< of a send whose data does not lie in a row
    std::shared_ptr<matching::shown_layout const> shown;  ///< the same, if they are not packed
    std::unique_ptr<mpi::activity> work;
    ref<communicator> comm;               ///< on which errors are raised; null: MPI_COMM_SELF

    // Of a persistent one: what it does at each start.
    bool is_receive = false;
    send_kind mode = send_kind::standard;
    int rank = MPI_PROC_NULL;
    int tag = 0;

    [[nodiscard]] MPI_Request handle() const noexcept { return reinterpret_cast<MPI_Request>(handle_.load(std::memory_order_relaxed)); }
    /// Nothing is under way (an inactive request included). Makes no progress.
    [[nodiscard]] bool done()
    {
        switch (what) {
        case kind::nothing: return true;
        case kind::activity: return !is_active || work->done();
        default: return !is_active || operation.done();
        }
    }

    /// After `done()`: its place in the order in which operations ended (matching::request::place); 0: it ended when it began.
    [[nodiscard]] std::uint64_t place(matching::matcher const& m)
    {
        switch (what) {
        case kind::nothing: return 0;
        case kind::activity:
            if (seen_ == 0)
                seen_ = work->place() != 0 ? work->place() : m.completions() + 1;
            return seen_;
        default: return operation.place();
        }
    }
    /// It begins again.
    void forget_place() noexcept { seen_ = 0; }

private:
    friend class request_table;
    std::uint64_t seen_ = 0;                ///< of an activity: its place
    std::atomic<std::uint64_t> handle_{0};  ///< 0: free
    std::uint32_t generation_ = 0;
    std::uint32_t index_ = 0;
    request* next_free_ = nullptr;
};

/// Requests that were freed, through next_free_.
struct free_requests {
    request* first = nullptr;
    std::uint32_t count = 0;
    bool ends_with_thread = false;  ///< of a thread: they are given back when it ends
};

/// Those that the calling thread keeps for its next operations, so that these need no lock.
extern constinit thread_local free_requests kept_requests [[gnu::tls_model("initial-exec")]];

/// All requests of the process. Thread-safe; `find` takes no lock. A request belongs to the threads that use its handle; once freed, to the
/// thread that freed it, or to all, under the lock.
class request_table {
public:
    constexpr request_table() = default;
    [[nodiscard]] static request_table& instance() noexcept;
    /// Before everything else, perhaps again. Not `threaded`: one thread at a time calls.
    void begin(bool threaded);

    [[nodiscard]] request* find(std::uint64_t handle) const noexcept
    {
        request* const r = places_.find(handle);
        return r != nullptr && r->handle_.load(std::memory_order_acquire) == handle ? r : nullptr;
    }
    [[nodiscard]] bool was_freed(std::uint64_t handle) const noexcept
    {
        request const* const r = places_.find(handle);
        return r != nullptr && handle >> 32 < r->generation_;
    }
    [[nodiscard]] std::uint64_t from_integer(std::uint32_t integer) const noexcept
    {
        request const* const r = places_.find(integer);
        return r != nullptr ? r->handle_.load(std::memory_order_acquire) : 0;
    }

    /// A new request, with a handle.
    [[nodiscard]] request& acquire();
    /// Its handle ends. What is under way goes on; the place is used again after it.
    void release(request&);
    /// The same for a send or receive that has ended.
    void release_ended(request&);
    /// A request that stands for every operation that ended when it began; never freed.
    [[nodiscard]] request& nothing() const noexcept { return *nothing_; }
    [[nodiscard]] bool is_nothing(std::uint64_t handle) const noexcept
    {
        return handle == nothing_->handle_.load(std::memory_order_relaxed);
    }

private:
    friend struct kept_until_end;
    /// What a thread keeps at most, and how many it takes or gives back together.
    static constexpr std::uint32_t most_kept = 256, together = 64;

    [[nodiscard]] free_requests& freed() noexcept { return threaded_ ? kept_requests : freed_; }
    /// The calling thread has none left.
    [[gnu::cold]] void refill(free_requests&);
    /// The calling thread keeps too many, or is new.
    [[gnu::cold]] void give_back(free_requests&);
    /// At most `count` of them, in no order.
    static void move(free_requests& from, free_requests& to, std::uint32_t count) noexcept;
    static void move(free_requests& from, request_table& to, std::uint32_t count);
    /// What the calling thread keeps is given back when it ends.
    static void tend(free_requests& mine);
    void grow();
    void recycle(request&);
    /// Released, and still under way.
    void adopt(request&);

    handle_places<request, object_kind::request, 256> places_;
    std::mutex mutex_;
    bool threaded_ = true;
    free_requests freed_;
    request* nothing_ = nullptr;
    std::vector<request*> orphans_;  ///< released, and still under way; under the lock
    std::size_t sweep_at_ = 64;
};

template <>
struct handle_traits<MPI_Request> : handle_traits_of<request, object_kind::request, 0x180, 1, MPI_ERR_REQUEST> {};
template <>
inline constinit request_table table_of<MPI_Request>{};

inline request_table& request_table::instance() noexcept
{
    return table_of<MPI_Request>;
}

inline void request_table::recycle(request& r)
{
    r.what = request::kind::nothing;
    r.is_persistent = false;
    r.is_active = true;
    if (r.packed)
        r.packed.reset();
    if (r.shown)
        r.shown.reset();
    if (r.work) {
        r.work.reset();
        r.seen_ = 0;
    }
    if (r.type)
        r.type = {};
    free_requests& to = freed();
    r.next_free_ = std::exchange(to.first, &r);
    ++to.count;
    if (threaded_ && (to.count > most_kept || !to.ends_with_thread)) [[unlikely]]
        give_back(to);
}

inline void request_table::release(request& r)
{
    if (&r == nothing_)
        return;
    ++r.generation_;
    r.handle_.store(0, std::memory_order_release);
    if (r.done()) [[likely]] {
        // What may run functions of the program at its end, or send, ends after the request.
        std::unique_ptr<activity> const ended = std::move(r.work);
        ref<communicator> const left = std::move(r.comm);
        recycle(r);
    } else {
        adopt(r);
    }
}

[[gnu::always_inline]] inline void request_table::release_ended(request& r)
{
    ref<communicator> const left = std::move(r.comm);  // what it was the last to hold ends after the request
    ++r.generation_;
    r.handle_.store(0, std::memory_order_release);
    recycle(r);
}

inline request& request_table::acquire()
{
    free_requests& from = freed();
    if (from.first == nullptr) [[unlikely]]
        refill(from);
    request& r = *from.first;
    from.first = r.next_free_;
    --from.count;
    r.handle_.store(places_.handle_of(r.generation_, r.index_), std::memory_order_release);
    return r;
}

// Starting, for every call that makes requests (transfers.cpp). What is wrong is thrown; then nothing is under way.

/// Starts a send or a receive that was checked.
void start(request&, communicator&, send_kind, payload const&, int dest, int tag);
void start(request&, communicator&, payload const&, int source, int tag);

// Completion (completion.cpp).

/// Blocks until the request is done.
void await(request&, char const* call);
/// Of a done request: fills the status (not MPI_ERROR; may be MPI_STATUS_IGNORE) and returns the code of its error. It stays.
int result(request&, MPI_Status*);
/// The same as an exception, for the calls on one request.
[[nodiscard, gnu::cold]] failure failure_of(request&, int code);
/// The same, for the last time before `retire`.
int final_result(request&, MPI_Status*);
/// The program knows how it ended: an ordinary one is released and its handle made null, a persistent one becomes inactive.
inline void retire(request& r, MPI_Request& handle)
{
    if (r.is_persistent) {
        r.is_active = false;
        return;
    }
    handle = MPI_REQUEST_NULL;
    if (r.what == request::kind::receive || r.what == request::kind::send) [[likely]]
        request_table::instance().release_ended(r);
    else
        request_table::instance().release(r);
}

/// What a matcher's status says.
void fill(MPI_Status*, matching::status const&, std::int64_t room);
[[nodiscard]] int code_of(matching::outcome) noexcept;
[[noreturn, gnu::cold]] void throw_outcome(matching::status const&, std::int64_t room, bool is_receive, int rank, int tag);
[[nodiscard, gnu::cold]] std::string explain(matching::status const&, std::int64_t room, bool is_receive, int rank, int tag);

} // namespace towline::mpi
