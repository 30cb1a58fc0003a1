// What the poller does besides polling: what other threads left for it, what waits for room, and blocks that peers asked for.

#include "engine/impl.hpp"

#include "base/log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include <sys/mman.h>

namespace towline::engine {

int engine::impl::run_jobs()
{
    std::vector<peer> lost;
    std::vector<get_job> begin;
    {
        std::lock_guard lock(jobs_mutex);
        lost.swap(suspects);
        begin.swap(gets);
    }
    for (peer const p : lost) {
        work.fetch_sub(1, std::memory_order_relaxed);
        bury(p);
    }
    for (std::size_t i = 0; i < begin.size(); ++i) {
        if (begin_get(begin[i])) {
            work.fetch_sub(1, std::memory_order_relaxed);
        } else {
            // No room; those behind it would find none either.
            std::lock_guard lock(jobs_mutex);
            gets.insert(gets.begin(), begin.begin() + static_cast<std::ptrdiff_t>(i), begin.end());
            break;
        }
    }
    flush_queues();
    serve_pulls();
    return serve_helps() + serve_pushes();
}

void engine::impl::suspect(peer p)
{
    {
        std::lock_guard lock(jobs_mutex);
        if (std::find(suspects.begin(), suspects.end(), p) != suspects.end())
            return;
        suspects.push_back(p);
    }
    work.fetch_add(1, std::memory_order_release);
    if (running_handlers != this)
        wake();
}

namespace {

/// A peer that could not read what we lent asks for it: perhaps there is nothing, and we would die of looking. True if nothing says so.
bool is_mapped(kept_block const& b) noexcept
{
#ifndef MADV_POPULATE_READ
    constexpr int MADV_POPULATE_READ = 22;
#endif
    constexpr std::uintptr_t page = 4096;
    auto const begin = reinterpret_cast<std::uintptr_t>(b.data) / page * page;
    auto const end = reinterpret_cast<std::uintptr_t>(b.data) + b.size;
    int const saved = errno;
    // Older kernels do not know it, and memory of devices has no pages: EINVAL.
    int const why = ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ) == 0 ? 0 : errno;
    errno = saved;
    return why != ENOMEM && why != EFAULT;
}

} // namespace

void engine::impl::on_pull(void* context, peer source, std::span<std::byte const> payload)
{
    auto& self = *static_cast<impl*>(context);
    auto const m = wire::read<wire::pull_message>(payload);
    if (!m || payload.size() != sizeof *m)
        return self.drop(source, fmt::format("a request of {} bytes", payload.size()));
    auto const kept = self.pending.find(m->id, source, m->block);
    if (!kept || m->bytes == 0 || m->offset > kept->size || m->bytes > kept->size - m->offset) {
        self.post_control(source, wire::piece, wire::piece_header{m->fetch, wire::refused});
        return self.drop(source, fmt::format("a request for {} bytes at {} of a block that is not there or smaller", m->bytes, m->offset));
    }
    if (m->offset == 0 && !kept->owned && self.peers[source].maps && !is_mapped(*kept)) {
        self.post_control(source, wire::piece, wire::piece_header{m->fetch, wire::refused});
        base::log(base::log_level::error, "rank {}: {} bytes at {} that were sent to rank {} are not there", self.config.rank, kept->size,
                  kept->data, source);
        return;
    }
    self.pulls.push_back({source, *m});
    self.work.fetch_add(1, std::memory_order_relaxed);
}

bool engine::impl::serve(pull_job& job)
{
    peer_state& p = peers[job.to];
    // The block stays until the receiver says that it is done, or dies: both are seen by the poller only, which is us.
    auto const kept = pending.find(job.what.id, job.to, job.what.block);
    if (!kept || (p.flags.load(std::memory_order_relaxed) & (peer_state::dead | peer_state::closed)) != 0)
        return true;
    if (p.via == nullptr)
        return true;
    std::uint64_t const room = (p.max_eager - sizeof(wire::piece_header)) & ~std::uint64_t{7};
    while (job.what.bytes != 0) {
        if ((p.flags.load(std::memory_order_acquire) & peer_state::queued) != 0)
            return false;
        std::uint64_t const n = std::min(room, job.what.bytes);
        wire::piece_header const header{job.what.fetch, job.what.offset};
        auto const status =
            p.via->try_send(job.to, wire::piece, wire::bytes_of(header), {static_cast<std::byte const*>(kept->data) + job.what.offset, n});
        if (status == transport::send_status::busy)
            return false;
        if (status == transport::send_status::unreachable) {
            suspect(job.to);
            return true;
        }
        job.what.offset += n;
        job.what.bytes -= n;
    }
    return true;
}

void engine::impl::serve_pulls()
{
    // Requests of one peer are served in their order; a peer without room does not hold up the others.
    std::vector<peer> blocked;
    for (std::size_t n = pulls.size(); n != 0; --n) {
        pull_job job = pulls.front();
        pulls.pop_front();
        bool const wait = std::find(blocked.begin(), blocked.end(), job.to) != blocked.end();
        if (!wait && serve(job)) {
            work.fetch_sub(1, std::memory_order_relaxed);
        } else {
            if (!wait)
                blocked.push_back(job.to);
            pulls.push_back(job);
        }
    }
}

} // namespace towline::engine
