// Blocks that are not in reach and that no system call can read: pulled in pieces, or got by the transport.

#include "engine/fetching.hpp"

#include "base/log.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

namespace towline::engine {

using job::counter;

void fetching::install(transport::component& t)
{
    handle<&fetching::on_pull>(t, wire::pull, *this);
    handle<&fetching::on_piece>(t, wire::piece, *this);
    t.set_part_handler(
        wire::piece, sizeof(wire::piece_header),
        [](void* self, peer source, std::span<std::byte const> beginning, std::size_t at, std::span<std::byte const> bytes) {
            static_cast<fetching*>(self)->on_part(source, beginning, at, bytes);
        },
        this);
}

void fetching::work()
{
    begin_gets();
    serve_pulls();
}

void fetching::clear()
{
    for (peer p = 0; p < common_.config.size; ++p)
        fail(p);
    for (get const& g : std::exchange(gets_, {}))
        g.state->fetch_ended(false);
    for (get_context* const g : std::exchange(gets_under_way_, {})) {
        g->state->fetch_ended(false);
        delete g;
    }
}

namespace {

/// Bytes of a block that one message carries.
std::uint64_t piece_room(peer_state const& p)
{
    return (p.max_eager - sizeof(wire::piece_header)) & ~std::uint64_t{7};
}

} // namespace

// Pieces, at the receiver.

std::uint64_t fetching::window_of(peer_state const& p) const noexcept
{
    return std::max<std::uint64_t>({common_.config.sizes.pull_window, 2 * piece_room(p), p.maps ? 0 : thresholds::far_pull_window});
}

void fetching::ask_for(arriving& f, std::uint64_t bytes)
{
    wire::pull_message const m{f.state->id_flags >> wire::flag_bits, arriving_.number_of(f), f.asked, bytes, f.block};
    f.asked += bytes;
    out_.post_control(f.from, wire::pull, m);
}

void fetching::start_pull(message_state& s, std::size_t block, void* destination)
{
    s.running.fetch_add(1, std::memory_order_relaxed);
    peer_state& p = common_.peers[s.source];
    try {
        (void)common_.reach(s.source);
    } catch (error const&) {
        return s.fetch_ended(false);
    }
    std::uint64_t const size = s.blocks[block].size;
    peer const from = s.source;
    {
        std::lock_guard lock(mutex_);
        arriving& f = arriving_.claim();
        f = {&s, from, static_cast<std::byte*>(destination), block, size, 0, 0};
        ask_for(f, std::min(size, window_of(p)));
    }
    // The peer may have died meanwhile, and have been buried before the fetch was in the table.
    if (common_.is_dead(from, std::memory_order_seq_cst))
        fail(from);
}

void fetching::on_piece(peer source, std::span<std::byte const> payload)
{
    auto const header = wire::read<wire::piece_header>(payload);
    if (!header)
        return common_.drop(source, fmt::format("a piece of {} bytes", payload.size()));
    take(source, header->fetch, header->offset, payload.subspan(sizeof *header));
}

void fetching::on_part(peer source, std::span<std::byte const> beginning, std::size_t at, std::span<std::byte const> bytes)
{
    auto const header = wire::read<wire::piece_header>(beginning);
    take(source, header->fetch, header->offset + (at - sizeof *header), bytes);
}

/// Bytes of a block, in any order, but each once: they end the fetch when they are as many as the block has.
void fetching::take(peer source, std::uint64_t fetch, std::uint64_t offset, std::span<std::byte const> bytes)
{
    message_state* ended = nullptr;
    bool ok = true;
    {
        std::unique_lock lock(mutex_);
        arriving* const f = arriving_.find(fetch);
        if (f == nullptr || f->from != source) {
            lock.unlock();
            return common_.drop(source, "a piece that nobody waits for");
        }
        if (offset == wire::refused || bytes.empty() || offset > f->asked || bytes.size() > f->asked - offset ||
            bytes.size() > f->asked - f->arrived) {
            ok = false;
        } else {
            std::memcpy(f->destination + offset, bytes.data(), bytes.size());
            f->arrived += bytes.size();
            std::uint64_t const half = window_of(common_.peers[source]) / 2;
            if (f->asked < f->size && f->asked - f->arrived <= half)
                ask_for(*f, std::min(f->size - f->asked, half));
        }
        if (!ok || f->arrived == f->size) {
            ended = f->state;
            if (ok) {
                bool const maps = common_.peers[source].maps;
                common_.counts.block(maps ? counter::copied_twice : counter::wire, maps ? counter::bytes_copied_twice : counter::bytes_wire,
                                     f->size);
                common_.counts.add(counter::bytes_pulled, f->size);
                common_.tell_arrival(source, arrival::pieces, f->size);
            }
            arriving_.free(*f);
        }
    }
    if (!ok)
        common_.drop(source, "a block could not be sent in pieces, or came with pieces missing");
    if (ended != nullptr)
        ended->fetch_ended(ok);
}

void fetching::fail(peer from)
{
    std::vector<message_state*> ended;
    {
        std::lock_guard lock(mutex_);
        arriving_.for_each([&](arriving& f) {
            if (f.from != from)
                return;
            ended.push_back(f.state);
            arriving_.free(f);
        });
    }
    for (message_state* s : ended)
        s->fetch_ended(false);
}

// Pieces, at the sender.

namespace {

/// A peer that could not read a lent block asks for its bytes: perhaps there is nothing, and reading it would kill this process. False if
/// the kernel says so.
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

void fetching::on_pull(peer source, std::span<std::byte const> payload)
{
    auto const m = wire::read_whole<wire::pull_message>(payload);
    if (!m)
        return common_.drop(source, fmt::format("a request of {} bytes", payload.size()));
    auto const kept = pending_.find(m->id, source, m->block);
    if (!kept || m->bytes == 0 || m->offset > kept->size || m->bytes > kept->size - m->offset) {
        out_.post_control(source, wire::piece, wire::piece_header{m->fetch, wire::refused});
        return common_.drop(source,
                            fmt::format("a request for {} bytes at {} of a block that is not there or smaller", m->bytes, m->offset));
    }
    if (m->offset == 0 && !kept->owned && common_.peers[source].maps && !is_mapped(*kept)) {
        out_.post_control(source, wire::piece, wire::piece_header{m->fetch, wire::refused});
        base::log(base::log_level::error, "rank {}: {} bytes at {} that were sent to rank {} are not there", common_.config.rank,
                  kept->size, kept->data, source);
        return;
    }
    pulls_.push_back({this, source, *m});
    common_.work.fetch_add(1, std::memory_order_relaxed);
}

bool fetching::serve(pull& job)
{
    peer_state& p = common_.peers[job.to];
    // The block stays until the receiver is done or dies; only the poller, which is this thread, finds out about either.
    auto const kept = pending_.find(job.what.id, job.to, job.what.block);
    if (!kept || common_.is_dead_or_closed(job.to) || p.via == nullptr)
        return true;
    std::uint64_t const room = piece_room(p);
    while (job.what.bytes != 0) {
        if ((p.flags.load(std::memory_order_acquire) & peer_state::queued) != 0)
            return false;
        std::uint64_t const n = std::min(room, job.what.bytes);
        wire::piece_header const header{job.what.fetch, job.what.offset};
        auto const status = p.via->try_send_lent(job.to, wire::piece, wire::bytes_of(header),
                                                 {static_cast<std::byte const*>(kept->data) + job.what.offset, n}, &loan_ended, &job);
        if (status == transport::send_status::busy)
            return false;
        if (status == transport::send_status::unreachable) {
            out_.suspect(job.to);
            return true;
        }
        if (status == transport::send_status::lent && job.loans++ == 0)
            pending_.add_loan(job.what.id, job.to);
        job.what.offset += n;
        job.what.bytes -= n;
    }
    return true;
}

/// The message may have waited for this: see outbox::add_loan.
void fetching::loan_ended(void* context, bool /*ok*/)
{
    pull& job = *static_cast<pull*>(context);
    if (--job.loans != 0)
        return;
    fetching& owner = *job.owner;
    owner.pending_.end_loan(job.what.id, job.to);
    owner.lent_.remove_if([&](pull const& p) { return &p == &job; });
}

void fetching::serve_pulls()
{
    // Requests of one peer are served in their order; a peer without room does not hold up the others.
    std::vector<peer> blocked;
    for (auto next = pulls_.begin(); next != pulls_.end();) {
        auto const job = next++;
        if (std::find(blocked.begin(), blocked.end(), job->to) != blocked.end())
            continue;
        if (!serve(*job)) {
            blocked.push_back(job->to);
            continue;
        }
        common_.work_done();
        if (job->loans != 0)
            lent_.splice(lent_.end(), pulls_, job);
        else
            pulls_.erase(job);
    }
}

// Gets.

void fetching::start_get(message_state& s, std::size_t block, void* destination)
{
    s.running.fetch_add(1, std::memory_order_relaxed);
    {
        std::lock_guard lock(gets_mutex_);
        gets_.push_back({&s, block, destination});
    }
    common_.add_work();
}

void fetching::begin_gets()
{
    std::vector<get> all;
    {
        std::lock_guard lock(gets_mutex_);
        all.swap(gets_);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (begin(all[i])) {
            common_.work_done();
        } else {
            // No room; those behind it would find none either.
            std::lock_guard lock(gets_mutex_);
            gets_.insert(gets_.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), all.end());
            break;
        }
    }
}

bool fetching::begin(get const& g)
{
    peer const from = g.state->source;
    block_state& b = g.state->blocks[g.block];
    auto context = std::make_unique<get_context>(get_context{this, g.state, g.block, gets_under_way_.size()});
    gets_under_way_.push_back(context.get());
    transport::send_status status = transport::send_status::unreachable;
    try {
        status = common_.reach(from).via->get(from, b.region, 0, g.destination, b.size, &get_ended, context.get());
    } catch (error const& e) {
        base::log(base::log_level::warning, "rank {}: block of {} bytes from rank {}: {}", common_.config.rank, b.size, from, e.what());
    }
    if (status == transport::send_status::sent) {
        (void)context.release();
        return true;
    }
    gets_under_way_.pop_back();
    if (status == transport::send_status::busy)
        return false;
    g.state->fetch_ended(false);
    return true;
}

void fetching::get_ended(void* context, bool ok)
{
    std::unique_ptr<get_context> const c(static_cast<get_context*>(context));
    common& common = c->owner->common_;
    auto& all = c->owner->gets_under_way_;
    all[c->place] = all.back();
    all[c->place]->place = c->place;
    all.pop_back();
    if (ok) {
        std::uint64_t const size = c->state->blocks[c->block].size;
        common.counts.block(counter::wire, counter::bytes_wire, size);
        common.tell_arrival(c->state->source, arrival::got, size);
    }
    c->state->fetch_ended(ok);
}

} // namespace towline::engine
