// The receiver's side of blocks that are not in reach, and cannot be read: got by the transport, or asked for in pieces.

#include "engine/impl.hpp"

#include "base/log.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace towline::engine {

using job::counter;

void engine::impl::fetch_ended(message_state& s, bool ok)
{
    if (!ok)
        s.failed.store(true, std::memory_order_relaxed);
    if (s.running.fetch_sub(1, std::memory_order_acq_rel) == 1)
        message_state::arrive(&s);
}

// Pieces.

namespace {

/// Bytes of a block that one message carries.
std::uint64_t piece_room(peer_state const& p)
{
    return (p.max_eager - sizeof(wire::piece_header)) & ~std::uint64_t{7};
}
std::uint64_t window(peer_state const& p, thresholds::sizes const& sizes)
{
    return std::max<std::uint64_t>(sizes.pull_window, 2 * piece_room(p));
}

} // namespace

void engine::impl::ask_for(fetching& f, std::uint64_t bytes)
{
    wire::pull_message const m{f.state->id_flags >> wire::flag_bits, fetches.number_of(f), f.asked, bytes, f.block};
    f.asked += bytes;
    post_control(f.from, wire::pull, m);
}

void engine::impl::start_pull(message_state& s, std::size_t block, void* destination)
{
    s.running.fetch_add(1, std::memory_order_relaxed);
    peer_state& p = peers[s.source];
    try {
        (void)reach(s.source);
    } catch (error const&) {
        return fetch_ended(s, false);
    }
    std::uint64_t const size = s.blocks[block].size;
    {
        std::lock_guard lock(fetches_mutex);
        fetching& f = fetches.claim();
        f = {&s, s.source, static_cast<std::byte*>(destination), block, size, 0, 0};
        ask_for(f, std::min(size, window(p, config.sizes)));
    }
    // Died meanwhile: whoever buried it may have looked before the fetch was in the table.
    if ((p.flags.load(std::memory_order_seq_cst) & peer_state::dead) != 0)
        fail_fetches(s.source);
}

void engine::impl::on_piece(void* context, peer source, std::span<std::byte const> payload)
{
    auto& self = *static_cast<impl*>(context);
    auto const header = wire::read<wire::piece_header>(payload);
    if (!header)
        return self.drop(source, fmt::format("a piece of {} bytes", payload.size()));
    auto const bytes = payload.subspan(sizeof *header);
    message_state* ended = nullptr;
    bool ok = true;
    {
        std::unique_lock lock(self.fetches_mutex);
        fetching* const f = self.fetches.find(header->fetch);
        if (f == nullptr || f->from != source) {
            lock.unlock();
            return self.drop(source, "a piece that nobody waits for");
        }
        if (header->offset == wire::refused || header->offset != f->arrived || bytes.empty() || bytes.size() > f->asked - f->arrived) {
            ok = false;
        } else {
            std::memcpy(f->destination + f->arrived, bytes.data(), bytes.size());
            f->arrived += bytes.size();
            std::uint64_t const half = window(self.peers[source], self.config.sizes) / 2;
            if (f->asked < f->size && f->asked - f->arrived <= half)
                self.ask_for(*f, std::min(f->size - f->asked, half));
        }
        if (!ok || f->arrived == f->size) {
            ended = f->state;
            if (ok) {
                bool const maps = self.peers[source].maps;
                self.counts.block(maps ? counter::copied_twice : counter::wire, maps ? counter::bytes_copied_twice : counter::bytes_wire,
                                  f->size);
                self.counts.add(counter::bytes_pulled, f->size);
                if (self.ways_told) [[unlikely]]
                    self.ways_told.arrives(source, arrival::pieces, f->size);
            }
            self.fetches.free(*f);
        }
    }
    if (!ok)
        self.drop(source, "a block could not be sent in pieces, or came with pieces missing");
    if (ended != nullptr)
        self.fetch_ended(*ended, ok);
}

void engine::impl::fail_fetches(peer from)
{
    std::vector<message_state*> ended;
    {
        std::lock_guard lock(fetches_mutex);
        fetches.for_each([&](fetching& f) {
            if (f.from != from)
                return;
            ended.push_back(f.state);
            fetches.free(f);
        });
    }
    for (message_state* s : ended)
        fetch_ended(*s, false);
}

// Gets.

void engine::impl::start_get(message_state& s, std::size_t block, void* destination)
{
    s.running.fetch_add(1, std::memory_order_relaxed);
    {
        std::lock_guard lock(jobs_mutex);
        gets.push_back({&s, block, destination});
    }
    // Release: the poller that sees the count finds the job.
    work.fetch_add(1, std::memory_order_release);
    if (running_handlers != this)
        wake();
}

bool engine::impl::begin_get(get_job const& g)
{
    block_state& b = g.state->blocks[g.block];
    peer_state& p = peers[g.state->source];
    auto context = std::make_unique<get_context>(get_context{this, g.state, g.block, gets_under_way.size()});
    gets_under_way.push_back(context.get());
    transport::send_status status = transport::send_status::unreachable;
    try {
        (void)reach(g.state->source);
        status = p.via->get(g.state->source, b.region, 0, g.destination, b.size, &get_ended, context.get());
    } catch (error const& e) {
        base::log(base::log_level::warning, "rank {}: block of {} bytes from rank {}: {}", config.rank, b.size, g.state->source, e.what());
    }
    if (status == transport::send_status::sent) {
        (void)context.release();
        return true;
    }
    gets_under_way.pop_back();
    if (status == transport::send_status::busy)
        return false;
    fetch_ended(*g.state, false);
    return true;
}

void engine::impl::get_ended(void* context, bool ok)
{
    std::unique_ptr<get_context> const c(static_cast<get_context*>(context));
    auto& all = c->owner->gets_under_way;
    all[c->place] = all.back();
    all[c->place]->place = c->place;
    all.pop_back();
    if (ok) {
        std::uint64_t const size = c->state->blocks[c->block].size;
        c->owner->counts.block(counter::wire, counter::bytes_wire, size);
        if (c->owner->ways_told) [[unlikely]]
            c->owner->ways_told.arrives(c->state->source, arrival::got, size);
    }
    c->owner->fetch_ended(*c->state, ok);
}

} // namespace towline::engine
