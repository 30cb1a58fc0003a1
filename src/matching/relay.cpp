// Relayed messages: the sender's and the receiver's half; see relay.hpp for the idea and docs/wire.md for the message.

#include "matching/relay.hpp"

#include "matching/core.hpp"

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/idle.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "job/counters.hpp"

#include <towline/error.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <sched.h>

namespace towline::matching {

using job::counter;

namespace {

/// Bytes that are copied before the receiver is told of them. Small messages come whole: to look for more pieces costs more than it hides.
[[nodiscard]] std::uint64_t piece_of(std::uint64_t bytes) noexcept
{
    constexpr std::uint64_t whole = 4096, most = 8192;
    return bytes <= whole ? whole : std::clamp<std::uint64_t>((bytes / 4 + 63) / 64 * 64, whole, most);
}

/// Of larger messages the receiver takes no lines (base/copy.hpp): they are in no cache any more when the sender writes them again.
/// (Rewritten data, Zen 4, processors that share caches: 64 KiB 9.8 us without, 3.5 with; 256 KiB 19 and 12; 512 KiB 25 both ways. Separate
/// ones: 36 and 8.2; 134 and 23. Only Zen 5 was seen to lose, at 64 KiB: 1.43 and 1.70.)
constexpr std::uint64_t taken_most = 262144;

} // namespace

std::optional<send_way> wished_way()
{
    static std::size_t const wish = base::setting_choice("TOWLINE_WAY", {"auto", name_of(send_way::direct), name_of(send_way::relay),
                                                                         name_of(send_way::relay_past)}, 0);
    return wish == 0 ? std::nullopt : std::optional(static_cast<send_way>(wish - 1));
}

// The sender.

relay_path* core::path_to(peer to) noexcept
{
    relay_path* p = paths[to].load(std::memory_order_acquire);
    if (p != nullptr) [[likely]]
        return p;
    auto* const made = new (std::nothrow) relay_path;
    if (made == nullptr)
        return nullptr;
    if (paths[to].compare_exchange_strong(p, made, std::memory_order_acq_rel, std::memory_order_acquire))
        return made;
    delete made;
    return p;
}

send_way core::way_of(relay_path& path, peer to, void const* data, std::uint64_t bytes) noexcept
{
    if (config.way)
        return *config.way;
    bool const is_plain = !heap::reaches(data);
    bool const is_rewritten = sent.see(data, bytes, base::sample(data, bytes)) != base::recent_blocks::sight::same;
    // What is not written again is best read where it lies: its lines stay with both.
    if (!is_plain && !is_rewritten)
        return send_way::direct;
    way_contest& contest = path.ways.of(bytes, is_plain, is_rewritten);
    // Messages that are sent before others have ended: what they cost shows when they are waited for. Then the receiver would rather not
    // bring each by a call of the kernel.
    if (slots_in_use.load(std::memory_order_relaxed) != 0 || (path.is_under_way() && contest.best() == send_way::direct))
        return !is_plain ? send_way::direct : contest.best() == send_way::direct ? send_way::relay : contest.best();
    bool const was_settled = contest.is_settled();
    send_way const before = contest.best(), way = contest.choose([] { return base::ticks(); });
    if ((contest.best() != before || contest.is_settled() != was_settled) && base::logs(base::log_level::debug)) [[unlikely]] {
        auto const ns = [&](send_way w) { return base::to_ns(contest.cost(w)).count(); };
        base::log(base::log_level::debug,
                  "rank {}: messages of up to {} bytes of {} memory, {}, go {} to rank {} (ns from one to the next: direct {}, relay {}, "
                  "relay-past {})", engine_.rank(), std::bit_ceil(bytes), is_plain ? "plain" : "shared",
                  is_rewritten ? "rewritten each time" : "left alone", name_of(contest.best()), to, ns(send_way::direct),
                  ns(send_way::relay), ns(send_way::relay_past));
    }
    return way;
}

relay_path* core::take_path(peer to) noexcept
{
    if (to >= size || to == engine_.rank() || held_back[to].load(std::memory_order_relaxed) != 0)
        return nullptr;
    relay_path* const path = path_to(to);
    return path == nullptr || path->busy.exchange(true, std::memory_order_acquire) ? nullptr : path;
}

bool core::relay(peer to, packed_envelope e, void const* data, std::uint64_t bytes) noexcept
{
    relay_path* const path = take_path(to);
    if (path == nullptr)
        return false;
    send_way const way = way_of(*path, to, data, bytes);
    auto const how = base::way_of_copy(bytes);
    auto const put = [&](std::byte* there, std::uint64_t at, std::uint64_t n) {
        auto const* const from = static_cast<std::byte const*>(data) + at;
        if (way == send_way::relay_past)
            base::copy_past(there, from, n);
        else
            base::copy_part(there, from, n, how);
    };
    bool const passed = way != send_way::direct && pass_on(*path, to, e, bytes, way == send_way::relay_past, put);
    path->busy.store(false, std::memory_order_release);
    return passed;
}

namespace {

/// Changes, most likely, when the data do.
[[nodiscard]] std::uint64_t sample(laid_source const& from, layout::stream const& elements) noexcept
{
    constexpr std::int64_t looks = 8, word = sizeof(std::uint64_t);
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < looks; ++i) {
        std::int64_t const at = (elements.size() - word) / (looks - 1) * i;
        std::uint64_t seen = 0;
        elements.pack(from.buffer, at, at + word, &seen);
        sum = std::rotl(sum, 7) * 0x9e3779b97f4a7c15 + seen;
    }
    return sum;
}

} // namespace

send_way core::way_of_laid(relay_path& path, laid_source const& from, layout::stream const& elements, bool may_be_read) noexcept
{
    if (config.way)
        return *config.way;
    switch (wished_design()) {
    case layout_design::pack: return send_way::direct;
    case layout_design::pipelined: return send_way::relay;
    case layout_design::optimized: break;
    default: return may_be_read ? send_way::direct : send_way::relay;
    }
    if (!may_be_read)
        return send_way::relay;
    auto const* const first = reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(from.buffer) +
                                                            static_cast<std::uintptr_t>(elements.displacement()));
    bool const is_rewritten = sent.see(first, from.bytes, sample(from, elements)) != base::recent_blocks::sight::same;
    // Unlike those of messages in a row, trials go on while other sends are under way: the faces of a halo leave together.
    return path.laid_ways.of(from.shown->meaning().first, is_rewritten).choose([] { return base::ticks(); }, 2);
}

bool core::relay_laid(peer to, packed_envelope e, laid_source const& from, bool may_be_read) noexcept
{
    relay_path* const path = take_path(to);
    if (path == nullptr)
        return false;
    layout::stream const elements(*from.type, from.count);
    auto const put = [&](std::byte* there, std::uint64_t at, std::uint64_t n) {
        elements.pack(from.buffer, static_cast<std::int64_t>(at), static_cast<std::int64_t>(at + n), there);
    };
    bool const passed = way_of_laid(*path, from, elements, may_be_read) != send_way::direct &&
                        pass_on(*path, to, e, from.bytes, false, put);
    path->busy.store(false, std::memory_order_release);
    return passed;
}

bool core::has_room(relay_path::place& p, peer to, std::uint64_t bytes) noexcept
{
    if (!p.is_free())
        return false;
    if (p.room >= bytes)
        return true;
    auto const give_up = [this](std::uint64_t more) {
        relay_bytes.fetch_sub(more, std::memory_order_relaxed);
        return false;
    };
    std::uint64_t const room = std::bit_ceil(bytes);
    if (relay_bytes.fetch_add(room - p.room, std::memory_order_relaxed) + room - p.room > relay_block::most_of_all)
        return give_up(room - p.room);
    void* const memory = heap::try_allocate(sizeof(relay_block) + room);
    if (memory == nullptr)
        return give_up(room - p.room);
    std::uint64_t const where = engine_.share(to, memory, sizeof(relay_block) + room);
    if (where == 0) {
        heap::deallocate(memory);
        return give_up(room - p.room);
    }
    auto* const block = new (memory) relay_block;
    if (p.block != nullptr)
        heap::deallocate(p.block);
    p = {block, where, room, 0};
    return true;
}

template <class Put>
bool core::pass_on(relay_path& path, peer to, packed_envelope e, std::uint64_t bytes, bool past, Put const& put) noexcept
{
    std::size_t const many = bytes <= relay_block::most_of_many ? path.places.size() : 2;
    auto const nth = [&](std::size_t i) -> relay_path::place& { return path.places[i < 2 ? i ^ path.next : i]; };
    std::size_t at_hand = 0;
    while (at_hand != many && !has_room(nth(at_hand), to, bytes))
        ++at_hand;
    if (at_hand == many)
        return false;
    relay_path::place& p = nth(at_hand);
    std::uint32_t const number = p.number + 1 == 0 ? 1 : p.number + 1;
    auto* const there = reinterpret_cast<std::byte*>(p.block + 1);
    // Where ranks share cores, whoever waited for a piece would wait for a turn of the processor.
    std::uint64_t const piece = engine_.shares_cores() ? bytes : std::min(piece_of(bytes), bytes);
    put(there, 0, piece);
    if (piece != bytes)
        p.block->filled.store(relay_block::word(number, piece), std::memory_order_release);
    // In whole words: see packed_envelope.
    std::uint64_t const ready = piece | (past ? wire::past_caches : 0);
    std::array<std::uint64_t, 4> const header{e.context_and_source, static_cast<std::uint32_t>(e.tag) | bytes << 32, number | ready << 32,
                                              p.where};
    static_assert(sizeof header == sizeof(wire::relayed_header) && offsetof(wire::relayed_header, bytes) == 12 &&
                  offsetof(wire::relayed_header, number) == 16 && offsetof(wire::relayed_header, ready) == 20 &&
                  offsetof(wire::relayed_header, where) == 24);
    auto const head = std::as_bytes(std::span(header));
    try {
        if (!engine_.try_send_small(to, static_cast<engine::handler_id>(first_handler + wire::relayed), head, {}))
            return false;
    } catch (...) {
        return false;  // the other way is told what is wrong, and tells it
    }
    for (std::uint64_t at = piece; at != bytes;) {
        std::uint64_t const n = std::min(piece, bytes - at);
        put(there + at, at, n);
        at += n;
        p.block->filled.store(relay_block::word(number, at), std::memory_order_release);
    }
    p.number = number;
    path.next ^= 1;
    // Whether the other one is free is asked soon, and its receiver has said so long ago.
    if (relay_path::place const& other = path.places[path.next]; other.block != nullptr)
        __builtin_prefetch(&other.block->freed);
    return true;
}

void core::forget_paths() noexcept
{
    for (peer p = 0; p < size; ++p) {
        std::unique_ptr<relay_path> const path(paths[p].exchange(nullptr, std::memory_order_acquire));
        if (path == nullptr)
            continue;
        // What its receiver has not taken stays: it may come after our end.
        for (relay_path::place const& place : path->places)
            if (place.block != nullptr && place.is_free())
                heap::deallocate(place.block);
    }
}

// The receiver.

namespace {

/// The head of a block that was told of, if it can be one.
[[nodiscard]] relay_block* block_of(engine::engine& e, relayed const& m)
{
    auto const* const begin = e.look(m.where, sizeof(relay_block) + m.bytes);
    if (reinterpret_cast<std::uintptr_t>(begin) % alignof(relay_block) != 0)
        throw error("the block of a relayed message is not aligned");
    return reinterpret_cast<relay_block*>(const_cast<std::byte*>(begin));
}

/// Waits until more than `so_far` bytes are there: the sender is in the middle of copying them. 0: it has ended.
[[nodiscard]] std::uint64_t wait_for_more(engine::engine& e, relay_block const& b, relayed const& m, peer from, std::uint64_t so_far) noexcept
{
    constexpr std::uint32_t looks = 4096;
    for (;;) {
        for (std::uint32_t i = 0; i < looks; ++i) {
            if (std::uint64_t const there = std::min(b.bytes_there(m.number), m.bytes); there > so_far)
                return there;
            base::cpu_relax();
        }
        if (e.has_ended(from))
            return b.bytes_there(m.number) > so_far ? std::min(b.bytes_there(m.number), m.bytes) : 0;
        sched_yield();
    }
}

} // namespace

void core::take_relayed(sink const& to, envelope const& e, peer from, relayed const& m, status& result) noexcept
{
    result = {e.source, e.tag, m.bytes, outcome::ok, false};
    try {
        relay_block* const b = block_of(engine_, m);
        std::uint64_t const wanted = std::min(m.bytes, to.capacity);
        // What does not go into a row is unpacked from the block, piece by piece, or, where it has to be seen whole, from a copy.
        laid_sink apart;
        bool const fits = to.lay == nullptr || to.lay(to.data, std::min(m.bytes, to.capacity), apart);
        std::optional<layout::stream> elements;
        if (apart.type != nullptr)
            elements.emplace(*apart.type, apart.count);
        std::unique_ptr<std::byte[]> temporary;
        if (to.unpack != nullptr && !elements)
            temporary = std::make_unique_for_overwrite<std::byte[]>(wanted);
        std::byte* const target = temporary ? temporary.get() : static_cast<std::byte*>(to.data);
        auto const* const bytes = reinterpret_cast<std::byte const*>(b + 1);
        auto const how = base::way_of_copy(m.bytes);
        std::uint64_t there = std::min(m.ready, m.bytes), done = 0;
        while (done != m.bytes) {
            if (there == done && (there = wait_for_more(engine_, *b, m, from, done)) == 0) {
                result.error = outcome::peer_died;
                return;
            }
            if (done < wanted) {
                std::uint64_t const n = std::min(there, wanted) - done;
                if (elements)
                    elements->unpack(apart.buffer, static_cast<std::int64_t>(done), static_cast<std::int64_t>(done + n), bytes + done);
                else
                    base::copy_part(target + done, bytes + done, n, how);
                if (!m.past_caches && m.bytes <= taken_most)
                    base::take_lines(bytes + done, n);  // for the sender, who writes them again
            }
            done = there;
        }
        b->freed.store(m.number, std::memory_order_release);
        engine_.count(counter::copied_twice, 1);
        engine_.count(counter::bytes_copied_twice, m.bytes);
        engine_.count(counter::bytes_relayed, m.bytes);
        if (m.bytes > to.capacity)
            result.error = outcome::truncated;
        else if (!fits)
            result.error = outcome::unlike;
        if (temporary)
            to.take({temporary.get(), wanted}, result);
    } catch (std::exception const& x) {
        base::log(base::log_level::error, "rank {}: {} bytes from peer {} cannot be received: {}", engine_.rank(), m.bytes, from, x.what());
        result.error = outcome::lost;
        drop_relayed(m);
    }
}

void core::drop_relayed(relayed const& m) noexcept
{
    try {
        block_of(engine_, m)->freed.store(m.number, std::memory_order_release);
    } catch (error const&) {
        // it told of nothing that could be freed
    }
}

bool core::read_relayed(peer from, std::span<std::byte const> head, envelope& e, relayed& m) const noexcept
{
    wire::relayed_header h;
    if (head.size() != sizeof h)
        return false;
    std::memcpy(&h, head.data(), sizeof h);
    e = {h.context, h.source, h.tag};
    m = {h.where, h.bytes, h.ready & ~wire::past_caches, h.number, (h.ready & wire::past_caches) != 0};
    return e.source >= 0 && e.tag >= 0 && from < size && h.where != 0 && h.number != 0 && h.bytes <= relay_block::most_laid;
}

void core::on_relayed(void* self, engine::engine&, engine::incoming& message)
{
    auto& c = *static_cast<core*>(self);
    peer const from = message.source();
    envelope e;
    relayed m;
    if (!c.read_relayed(from, message.head(), e, m) || message.blocks() != 0)
        return c.drop(from, "a relayed message that is none");
    request* const r = c.match_or_add(from, e, m.bytes, 0, [&](unexpected_message& u) { u.relay = m; });
    if (r == nullptr)
        return;
    c.take_relayed(r->sink_, e, from, m, r->result_);
    c.finish(*r);
}

} // namespace towline::matching
