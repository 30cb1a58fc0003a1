// The table of requests: allocates slots, and keeps requests that were freed in flight.

#include "mpi/request.hpp"

#include "mpi/process.hpp"

#include <algorithm>
#include <utility>

namespace towline::mpi {

constinit thread_local free_requests kept_requests;

/// Returns a thread's free requests to the table when the thread ends.
struct kept_until_end {
    ~kept_until_end() { request_table::move(kept_requests, request_table::instance(), kept_requests.count); }
};

void request_table::move(free_requests& from, request_table& table, std::uint32_t count)
{
    std::lock_guard const lock(table.mutex_);
    move(from, table.freed_, count);
}

void request_table::move(free_requests& from, free_requests& to, std::uint32_t count) noexcept
{
    for (; count != 0 && from.first != nullptr; --count) {
        request& r = *from.first;
        from.first = r.next_free_;
        --from.count;
        r.next_free_ = std::exchange(to.first, &r);
        ++to.count;
    }
}

void request_table::refill(free_requests& mine)
{
    if (one_thread_)
        return grow();
    {
        std::lock_guard const lock(mutex_);
        if (freed_.first == nullptr)
            grow();
        move(freed_, mine, together);
    }
    tend(mine);
}

void request_table::give_back(free_requests& mine)
{
    tend(mine);
    if (mine.count > most_kept)
        move(mine, *this, together);
}

void request_table::tend(free_requests& mine)
{
    thread_local kept_until_end until_end;
    (void)&until_end;
    mine.ends_with_thread = true;
}

/// Lock held, if the table has one.
void request_table::grow()
{
    std::uint32_t const begin = places_.size();
    places_.grow();
    for (std::uint32_t i = places_.size(); i-- > begin;) {
        request& r = places_.at(i);
        r.index_ = i;
        r.next_free_ = std::exchange(freed_.first, &r);
        ++freed_.count;
    }
}

void request_table::begin(bool threaded)
{
    one_thread_ = !threaded;
    if (nothing_ == nullptr)
        nothing_ = &acquire();
}

void request_table::adopt(request& r)
{
    std::vector<request*> ended;
    {
        std::unique_lock<std::mutex> const lock = one_thread_ ? std::unique_lock<std::mutex>() : std::unique_lock(mutex_);
        orphans_.push_back(&r);
        if (orphans_.size() < 64 + 2 * swept_)
            return;
        auto const first = std::partition(orphans_.begin(), orphans_.end(), [](request* o) { return !o->done(); });
        ended.assign(first, orphans_.end());
        orphans_.erase(first, orphans_.end());
        swept_ = orphans_.size();
    }
    for (request* const o : ended)
        recycle(*o);
}

} // namespace towline::mpi
