#pragma once
// Requests: operations in flight, and persistent ones (3.7, 3.9). Every nonblocking call makes and ends a request. Therefore requests are
// not reference counted: they stay in the slots of their own table, and the handle changes with every use.

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

/// The work of a request that is no single send or receive. Waiting calls repeat `done` whenever an operation of the matcher ended.
class activity {
public:
    activity() = default;
    activity(activity const&) = delete;
    activity& operator=(activity const&) = delete;
    virtual ~activity() = default;
    /// Advances as far as possible without waiting; true once it has ended. One thread at a time.
    [[nodiscard]] virtual bool done() = 0;
    /// Once it has ended: the error code, or MPI_SUCCESS. Never writes MPI_ERROR.
    virtual int result(MPI_Status&) = 0;
    /// The text for that code; null if there is none.
    [[nodiscard]] virtual char const* explain(int /*code*/) const { return nullptr; }
    /// Starts a persistent request again. Throws errors; then nothing is in flight.
    virtual void start() {}
    /// False: it cannot be cancelled. Throws the error of the program's cancel function.
    virtual bool cancel() { return false; }
    /// Called when the program has the result and the (not persistent) request ends. Returns the error code of that.
    virtual int end() { return MPI_SUCCESS; }
    /// Called when the program freed the request without waiting for it.
    virtual void released() {}
    /// After `done()`: request::place; 0: the time when `done()` was first seen to be true.
    [[nodiscard]] virtual std::uint64_t place() const { return 0; }
};

enum class send_kind : std::uint8_t { standard, synchronous, ready, buffered };

class request {
public:
    enum class kind : std::uint8_t {
        nothing,   ///< complete when it started: a send that fits into one message, a transfer with MPI_PROC_NULL
        send,
        receive,
        activity,
    };

    // The operation, and the objects that it needs while it is in flight.
    kind what = kind::nothing;
    bool is_persistent = false;
    bool is_active = true;
    matching::request operation;
    payload data;                         ///< destination of a receive
    ref<datatype> type;                   ///< its datatype
    std::unique_ptr<std::byte[]> packed;  ///< packed data of a send that is not contiguous
    std::shared_ptr<matching::shown_layout const> shown;  ///< the layout of that data if it is not packed
    std::unique_ptr<mpi::activity> work;
    ref<communicator> comm;               ///< raises its errors; null: MPI_COMM_SELF

    // Of a persistent request: its action at each start.
    bool is_receive = false;
    send_kind mode = send_kind::standard;
    int rank = MPI_PROC_NULL;
    int tag = 0;

    [[nodiscard]] MPI_Request handle() const noexcept { return reinterpret_cast<MPI_Request>(handle_.load(std::memory_order_relaxed)); }
    /// True if nothing is in flight (also for an inactive request). Makes no progress.
    [[nodiscard]] bool done()
    {
        switch (what) {
        case kind::nothing: return true;
        case kind::activity: return !is_active || work->done();
        default: return !is_active || operation.done();
        }
    }

    /// After `done()`: its place in the order in which operations ended (matching::request::place); 0: it was complete when it started.
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
    /// Called when it starts again.
    void forget_place() noexcept { seen_ = 0; }

private:
    friend class request_table;
    std::uint64_t seen_ = 0;                ///< place of an activity
    std::atomic<std::uint64_t> handle_{0};  ///< 0: free
    std::uint32_t generation_ = 0;
    std::uint32_t index_ = 0;
    request* next_free_ = nullptr;
};

/// A list of free requests, linked by next_free_.
struct free_requests {
    request* first = nullptr;
    std::uint32_t count = 0;
    bool ends_with_thread = false;  ///< belongs to a thread, and is returned to the table when the thread ends
};

/// The free requests of the calling thread: its next operations need no lock.
extern constinit thread_local free_requests kept_requests [[gnu::tls_model("initial-exec")]];

/// All requests of the process. Thread-safe; `find` takes no lock. A request belongs to the threads that use its handle; a free one belongs
/// to the thread that freed it, or to the table, under the lock.
class request_table {
public:
    constexpr request_table() = default;
    [[nodiscard]] static request_table& instance() noexcept;
    /// Called first; may be called again. Not `threaded`: one thread at a time calls.
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
    /// Ends its handle. An operation in flight continues; the slot is reused after it.
    void release(request&);
    /// The same for a completed send or receive.
    void release_ended(request&);
    /// The one request for all operations that were complete when they started; never freed.
    [[nodiscard]] request& nothing() const noexcept { return *nothing_; }
    [[nodiscard]] bool is_nothing(std::uint64_t handle) const noexcept
    {
        return handle == nothing_->handle_.load(std::memory_order_relaxed);
    }

private:
    friend struct kept_until_end;
    /// The most free requests of a thread, and how many it takes or returns together.
    static constexpr std::uint32_t most_kept = 256, together = 64;

    [[nodiscard]] free_requests& freed() noexcept { return one_thread_ ? freed_ : kept_requests; }
    /// Called when the calling thread has no free request left.
    [[gnu::cold]] void refill(free_requests&);
    /// Called when the calling thread has too many free requests, or is new.
    [[gnu::cold]] void give_back(free_requests&);
    /// Moves at most `count` of them, in no order.
    static void move(free_requests& from, free_requests& to, std::uint32_t count) noexcept;
    static void move(free_requests& from, request_table& to, std::uint32_t count);
    /// Registers the return of the calling thread's free requests at its end.
    static void tend(free_requests& mine);
    void grow();
    void recycle(request&);
    /// Keeps a released request that is still in flight.
    void adopt(request&);

    handle_places<request, object_kind::request, 64> places_;
    std::mutex mutex_;
    bool one_thread_ = false;  ///< at a time, calls
    free_requests freed_;
    request* nothing_ = nullptr;
    std::vector<request*> orphans_;  ///< released and still in flight; under the lock
    std::size_t swept_ = 0;  ///< orphans that the last look at all of them left
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
    if (!one_thread_ && (to.count > most_kept || !to.ends_with_thread)) [[unlikely]]
        give_back(to);
}

inline void request_table::release(request& r)
{
    if (&r == nothing_)
        return;
    ++r.generation_;
    r.handle_.store(0, std::memory_order_release);
    if (r.done()) [[likely]] {
        // The destructor of `work` may run functions of the program, or send: it runs after the request is released.
        std::unique_ptr<activity> const ended = std::move(r.work);
        ref<communicator> const left = std::move(r.comm);
        recycle(r);
    } else {
        adopt(r);
    }
}

[[gnu::always_inline]] inline void request_table::release_ended(request& r)
{
    ref<communicator> const left = std::move(r.comm);  // its last reference ends after the request
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

// Starting, for every call that makes requests (transfers.cpp). Errors are thrown; then nothing is in flight.

/// Starts a checked send or receive.
void start(request&, communicator&, send_kind, payload const&, int dest, int tag);
void start(request&, communicator&, payload const&, int source, int tag);

// Completion (completion.cpp).

/// Blocks until the request is done.
void await(request&, char const* call);
/// Fills the status of a done request (not MPI_ERROR; may be MPI_STATUS_IGNORE) and returns its error code. The request stays.
int result(request&, MPI_Status*);
/// The same as an exception, for calls on one request.
[[nodiscard, gnu::cold]] failure failure_of(request&, int code);
/// The same as the last call before `retire`.
int final_result(request&, MPI_Status*);
/// Called when the program has the result: releases an ordinary request and sets its handle to null; makes a persistent one inactive.
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

/// Fills an MPI_Status from a matcher's status.
void fill(MPI_Status*, matching::status const&, std::int64_t room);
[[nodiscard]] int code_of(matching::outcome) noexcept;
[[noreturn, gnu::cold]] void throw_outcome(matching::status const&, std::int64_t room, bool is_receive, int rank, int tag);
[[nodiscard, gnu::cold]] std::string explain(matching::status const&, std::int64_t room, bool is_receive, int rank, int tag);

} // namespace towline::mpi
