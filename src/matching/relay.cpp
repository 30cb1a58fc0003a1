// Relayed messages: the sender's and the receiver's half; see relay.hpp for the idea and docs/wire.md for the message.

#include "matching/relay.hpp"

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/idle.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "heap/heap.hpp"
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

[[nodiscard]] std::uint64_t piece_of(std::uint64_t bytes) noexcept
{
    constexpr std::uint64_t line = 64, whole = thresholds::relay_whole;
    return bytes <= whole ? whole : std::clamp((bytes / 4 + line - 1) / line * line, whole, thresholds::relay_piece_most);
}

} // namespace

std::optional<send_way> wished_way()
{
    static std::size_t const wish = base::setting_choice("TOWLINE_WAY", {"auto", name_of(send_way::direct), name_of(send_way::relay),
                                                                         name_of(send_way::relay_past)}, 0);
    return wish == 0 ? std::nullopt : std::optional(static_cast<send_way>(wish - 1));
}

// The sender.

relay_path* relays::make_path(peer to) noexcept
{
    auto* const made = new (std::nothrow) relay_path;
    if (made == nullptr)
        return nullptr;
    relay_path* p = nullptr;
    if (paths_[to].compare_exchange_strong(p, made, std::memory_order_acq_rel, std::memory_order_acquire))
        return made;
    delete made;
    return p;
}

[[gnu::always_inline]] inline relays::choice relays::way_of(relay_path& path, peer to, void const* data, std::uint64_t bytes) noexcept
{
    if (common_.config.way)
        return {*common_.config.way, job::message_kind::set};
    // Up to the eager limit the other way is the ring: the sender copies in any case, and neither kind of memory nor writes matter.
    if (bytes > common_.config.eager)
        return way_of_large(path, to, data, bytes);
    constexpr auto kind = job::message_kind::eager;
    // A window of them flows best through the ring; and trials measure one message at a time.
    if (sends_.any() || path.is_under_way())
        return {send_way::direct, kind};
    return {decide(path.ways.of(bytes, false, true), send_ways, to, bytes, kind), kind};
}

relays::choice relays::way_of_large(relay_path& path, peer to, void const* data, std::uint64_t bytes) noexcept
{
    bool const is_plain = !heap::reaches(data);
    calm& c = path.ways.calm_of(bytes);
    if (!is_plain && c.skips())
        return {send_way::direct, job::message_kind::heap_untouched};
    bool const is_rewritten = sent_.see(data, bytes, base::sample(data, bytes)) != base::recent_blocks::sight::same;
    if (!is_plain)
        c.saw(is_rewritten);
    auto const kind = is_plain ? is_rewritten ? job::message_kind::plain_rewritten : job::message_kind::plain_untouched
                               : is_rewritten ? job::message_kind::heap_rewritten : job::message_kind::heap_untouched;
    // Data that are not written again are best read where they lie: both cores keep the lines.
    if (!is_plain && !is_rewritten)
        return {send_way::direct, kind};
    way_contest& contest = path.ways.of(bytes, is_plain, is_rewritten);
    // No trial while earlier messages are under way: the time to the next send is not what this one costs then. And plain memory is relayed
    // then, which saves the receiver a call of the kernel for each.
    if (sends_.any() || (path.is_under_way() && contest.best() == send_way::direct))
        return {!is_plain ? send_way::direct : contest.best() == send_way::direct ? send_way::relay : contest.best(), kind};
    return {decide(contest, send_ways, to, bytes, kind), kind};
}

/// The contest's choice. Tells of a trial that has ended.
send_way relays::decide(way_contest& contest, unsigned ways, peer to, std::uint64_t bytes, job::message_kind kind) noexcept
{
    std::uint32_t const trials = contest.trials();
    send_way const before = contest.best(), way = contest.choose([] { return base::ticks(); }, ways);
    if (contest.trials() == trials) [[likely]]
        return way;
    auto const ns = [&](std::size_t w) { return base::to_ns(contest.cost(static_cast<send_way>(w))).count(); };
    if (board_ != nullptr) {
        job::way_board::messages& told = board_->of(kind, bytes);
        for (std::size_t w = 0; w < send_ways; ++w)
            told.ns[w].store(static_cast<std::uint32_t>(std::clamp<std::int64_t>(ns(w), 0, ~std::uint32_t{0})), std::memory_order_relaxed);
        told.won[static_cast<std::size_t>(contest.best())].fetch_add(1, std::memory_order_relaxed);
    }
    if ((contest.best() != before || trials == 0) && base::logs(base::log_level::debug))
        base::log(base::log_level::debug,
                  "rank {}: messages of up to {} bytes ({}) go {} to rank {} (ns from one to the next: direct {}, relay {}, relay-past {})",
                  common_.engine_.rank(), job::way_board::most_of(job::way_board::class_of(bytes)),
                  job::message_kinds[static_cast<std::size_t>(kind)], name_of(contest.best()), to, ns(0), ns(1), ns(2));
    return way;
}

bool relays::count(choice c, bool is_relayed, std::uint64_t bytes) noexcept
{
    if (board_ != nullptr)
        board_->of(c.kind, bytes).count(static_cast<std::size_t>(is_relayed ? c.way : send_way::direct), common_.config.threaded);
    return is_relayed;
}

[[gnu::always_inline]] inline relays::held_path relays::take_path(peer to) noexcept
{
    if (to >= common_.size || to == common_.engine_.rank() || sends_.holds_back(to))
        return nullptr;
    relay_path* path = paths_[to].load(std::memory_order_acquire);
    if (path == nullptr) [[unlikely]]
        path = make_path(to);
    return held_path(path == nullptr || !path->take(common_.config.threaded) ? nullptr : path);
}

bool relays::relay(peer to, packed_envelope e, void const* data, std::uint64_t bytes) noexcept
{
    held_path const path = take_path(to);
    if (path == nullptr)
        return false;
    choice const c = way_of(*path, to, data, bytes);
    if (c.way == send_way::direct)
        return count(c, false, bytes);
    auto const how = base::way_of_copy(bytes);
    bool const is_past = c.way == send_way::relay_past;
    bool const is_relayed = pass_on(*path, to, e, bytes, is_past, [&](std::byte* there, std::uint64_t at, std::uint64_t n) {
        auto const* const from = static_cast<std::byte const*>(data) + at;
        if (is_past)
            base::copy_past(there, from, n);
        else
            base::copy_part(there, from, n, how);
    });
    return count(c, is_relayed, bytes);
}

namespace {

/// A sum of eight words of the data, which most likely changes when they do.
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

relays::choice relays::way_of_laid(relay_path& path, peer to, laid_source const& from, layout::stream const& elements,
                                   bool may_be_read) noexcept
{
    if (common_.config.way)
        return {*common_.config.way, job::message_kind::set};
    switch (wished_design()) {
    case layout_design::pack: return {send_way::direct, job::message_kind::set};
    case layout_design::pipelined: return {send_way::relay, job::message_kind::set};
    case layout_design::optimized: break;
    default: return {may_be_read ? send_way::direct : send_way::relay, job::message_kind::set};
    }
    if (!may_be_read)
        return {send_way::relay, job::message_kind::laid_unreachable};
    auto const* const first = reinterpret_cast<void const*>(reinterpret_cast<std::uintptr_t>(from.buffer) +
                                                            static_cast<std::uintptr_t>(elements.displacement()));
    bool const is_rewritten = sent_.see(first, from.bytes, sample(from, elements)) != base::recent_blocks::sight::same;
    auto const kind = is_rewritten ? job::message_kind::laid_rewritten : job::message_kind::laid_untouched;
    // Unlike in way_of, trials go on while other sends are under way: the faces of a halo leave together.
    return {decide(path.laid_ways.of(from.shown->meaning().first, is_rewritten), 2, to, from.bytes, kind), kind};
}

bool relays::relay_laid(peer to, packed_envelope e, laid_source const& from, bool may_be_read) noexcept
{
    held_path const path = take_path(to);
    if (path == nullptr)
        return false;
    layout::stream const elements(*from.type, from.count);
    choice const c = way_of_laid(*path, to, from, elements, may_be_read);
    bool const is_relayed =
        c.way != send_way::direct && pass_on(*path, to, e, from.bytes, false, [&](std::byte* there, std::uint64_t at, std::uint64_t n) {
            elements.pack(from.buffer, static_cast<std::int64_t>(at), static_cast<std::int64_t>(at + n), there);
        });
    return count(c, is_relayed, from.bytes);
}

bool relays::has_room(relay_path::place& p, peer to, std::uint64_t bytes) noexcept
{
    if (!p.is_free())
        return false;
    if (p.room >= bytes)
        return true;
    auto const give_up = [this](std::uint64_t more) {
        bytes_.fetch_sub(more, std::memory_order_relaxed);
        return false;
    };
    std::uint64_t const room = std::bit_ceil(bytes);
    if (bytes_.fetch_add(room - p.room, std::memory_order_relaxed) + room - p.room > thresholds::relay_most_of_all)
        return give_up(room - p.room);
    void* const memory = heap::try_allocate(sizeof(relay_block) + room);
    if (memory == nullptr)
        return give_up(room - p.room);
    std::uint64_t const where = common_.engine_.share(to, memory, sizeof(relay_block) + room);
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
bool relays::pass_on(relay_path& path, peer to, packed_envelope e, std::uint64_t bytes, bool past, Put const& put) noexcept
{
    std::size_t const many = bytes <= thresholds::relay_most_of_many ? path.places.size() : 2;
    auto const nth = [&](std::size_t i) -> relay_path::place& { return path.places[i < 2 ? i ^ path.next : i]; };
    std::size_t at_hand = 0;
    while (at_hand != many && !has_room(nth(at_hand), to, bytes))
        ++at_hand;
    if (at_hand == many)
        return false;
    relay_path::place& p = nth(at_hand);
    std::uint32_t const number = p.number + 1 == 0 ? 1 : p.number + 1;
    auto* const there = reinterpret_cast<std::byte*>(p.block + 1);
    // In an oversubscribed job a receiver that waited for a piece would wait for its sender's next turn.
    std::uint64_t const piece = common_.engine_.is_oversubscribed() ? bytes : std::min(piece_of(bytes), bytes);
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
        if (!common_.engine_.try_send_small(to, common_.handler_of(wire::relayed), head, {}))
            return false;
    } catch (...) {
        return false;  // the direct way finds what is wrong, and tells the caller
    }
    for (std::uint64_t at = piece; at != bytes;) {
        std::uint64_t const n = std::min(piece, bytes - at);
        put(there + at, at, n);
        at += n;
        p.block->filled.store(relay_block::word(number, at), std::memory_order_release);
    }
    p.number = number;
    path.next ^= 1;
    // The next message asks whether the other block is free; its receiver freed it long ago.
    if (relay_path::place const& other = path.places[path.next]; other.block != nullptr)
        __builtin_prefetch(&other.block->freed);
    return true;
}

relays::relays(common& c, sends const& s) : common_(c), sends_(s), board_(c.engine_.ways()), paths_(c.size) {}

relays::~relays()
{
    for (peer p = 0; p < common_.size; ++p) {
        std::unique_ptr<relay_path> const path(paths_[p].load(std::memory_order_acquire));
        if (path == nullptr)
            continue;
        for (relay_path::place const& place : path->places)
            if (place.block != nullptr && place.is_free())
                heap::deallocate(place.block);
    }
}

// The receiver.

/// The head of an announced block. Throws where there is none.
relay_block* relays::block_of(relayed const& m) const
{
    auto const* const begin = common_.engine_.look(m.where, sizeof(relay_block) + m.bytes);
    if (reinterpret_cast<std::uintptr_t>(begin) % alignof(relay_block) != 0)
        throw error("the block of a relayed message is not aligned");
    return reinterpret_cast<relay_block*>(const_cast<std::byte*>(begin));
}

/// Waits until more than `so_far` bytes are there. Returns how many; 0: the sender has ended.
std::uint64_t relays::wait_for_more(relay_block const& b, relayed const& m, peer from, std::uint64_t so_far) const noexcept
{
    auto const more = [&] {
        std::uint64_t const there = std::min(b.bytes_there(m.number), m.bytes);
        return there > so_far ? there : 0;
    };
    for (;;) {
        for (std::uint32_t i = 0; i < thresholds::relay_looks; ++i) {
            if (std::uint64_t const there = more(); there != 0)
                return there;
            base::cpu_relax();
        }
        if (common_.engine_.has_ended(from))
            return more();
        sched_yield();
    }
}

void relays::take(sink const& to, envelope const& e, peer from, relayed const& m, status& result) noexcept
{
    result = {e.source, e.tag, m.bytes, outcome::ok, false};
    try {
        relay_block* const b = block_of(m);
        std::uint64_t const wanted = std::min(m.bytes, to.capacity);
        // Data with gaps are unpacked from the block, piece by piece, or, where the sink must see them whole, from a copy.
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
            if (there == done && (there = wait_for_more(*b, m, from, done)) == 0) {
                result.error = outcome::peer_died;
                return;
            }
            if (done < wanted) {
                std::uint64_t const n = std::min(there, wanted) - done;
                if (elements)
                    elements->unpack(apart.buffer, static_cast<std::int64_t>(done), static_cast<std::int64_t>(done + n), bytes + done);
                else
                    base::copy_part(target + done, bytes + done, n, how);
                if (!m.past_caches && m.bytes <= thresholds::relay_taken_most)
                    base::take_lines(bytes + done, n);  // the sender writes them again
            }
            done = there;
        }
        b->freed.store(m.number, std::memory_order_release);
        common_.engine_.count(counter::copied_twice, 1);
        common_.engine_.count(counter::bytes_copied_twice, m.bytes);
        common_.engine_.count(counter::bytes_relayed, m.bytes);
        if (m.bytes > to.capacity)
            result.error = outcome::truncated;
        else if (!fits)
            result.error = outcome::unlike;
        if (temporary)
            to.take({temporary.get(), wanted}, result);
    } catch (std::exception const& x) {
        common_.tell_loss(from, m.bytes, x);
        result.error = outcome::lost;
        drop(m);
    }
}

void relays::drop(relayed const& m) noexcept
{
    try {
        block_of(m)->freed.store(m.number, std::memory_order_release);
    } catch (error const&) {
        // there is no block that could be freed
    }
}

bool relays::read(peer from, std::span<std::byte const> head, envelope& e, relayed& m) const noexcept
{
    wire::relayed_header h;
    if (head.size() != sizeof h)
        return false;
    std::memcpy(&h, head.data(), sizeof h);
    e = {h.context, h.source, h.tag};
    m = {h.where, h.bytes, h.ready & ~wire::past_caches, h.number, (h.ready & wire::past_caches) != 0};
    return common_.is_possible(from, e) && h.where != 0 && h.number != 0 && h.bytes <= thresholds::relay_most_laid;
}

} // namespace towline::matching
