// Arrival: from a transport's handler to the program's. Nothing here believes what it reads before checking it.

#include "engine/arrivals.hpp"

#include "base/log.hpp"
#include "heap/heap.hpp"

#include <towline/error.hpp>

#include <fmt/format.h>

#include <cstring>

namespace towline::engine {

void arrivals::install(transport::component& t)
{
    t.set_failure_handler(
        [](void* self, peer source, std::string_view why) { static_cast<arrivals*>(self)->on_failure(source, why); }, this);
    handle<&arrivals::on_message>(t, wire::message, *this);
    handle<&arrivals::on_fragment>(t, wire::fragment, *this);
    for (unsigned id = wire::pushed + 1; id < 256; ++id)
        handle<&arrivals::on_unknown>(t, static_cast<wire::kind>(id), *this);
}

handler_id arrivals::add(handler function, void* context)
{
    if (handlers_.size() >= 65535)
        throw limit_error("engine: more than 65535 handlers");
    auto const id = static_cast<handler_id>(handlers_.size());
    handlers_.push_back({function, context, &common_.face});
    if (id < wire::direct_handlers) {
        for (auto const& t : common_.config.transports)
            t->set_handler(static_cast<transport::handler_id>(wire::first_direct + id), &on_small, &handlers_.back());
    }
    return id;
}

void arrivals::forget(peer who)
{
    std::erase_if(streams_, [who](auto const& s) { return s.first.first == who; });
}

void arrivals::on_small(void* context, peer source, std::span<std::byte const> payload)
{
    auto const& entry = *static_cast<handler_entry*>(context);
    incoming message(entry.owner, source, payload, nullptr);
    entry.function(entry.context, *entry.owner, message);
}

void arrivals::on_unknown(peer source, std::span<std::byte const> payload)
{
    common_.drop(source, fmt::format("{} bytes for a handler that is not installed here", payload.size()));
}

void arrivals::on_failure(peer source, std::string_view why)
{
    base::log(base::log_level::error, "rank {} gives up rank {}: {}", common_.config.rank, source, why);
    out_.suspect(source);
}

namespace {

/// Walks over the parts of a message; each begins at a multiple of 8 unless it is empty.
class part_reader {
public:
    explicit part_reader(std::span<std::byte const> payload) : payload_(payload) {}

    /// The next part; false if it is not all there.
    [[nodiscard]] bool next(std::uint64_t size, std::span<std::byte const>& part) noexcept
    {
        part = {};
        if (size == 0)
            return true;
        std::uint64_t const begin = wire::padded(at_);
        if (begin > payload_.size() || size > payload_.size() - begin)
            return false;
        part = payload_.subspan(begin, size);
        at_ = begin + size;
        return true;
    }
    [[nodiscard]] std::uint64_t left() const noexcept { return payload_.size() - at_; }

private:
    std::span<std::byte const> payload_;
    std::uint64_t at_ = 0;
};

/// Finds a described block in this process. Empty, or what is wrong with the description.
std::string resolve_block(block_state& b, wire::descriptor const& d, std::span<std::byte const> part, bool from_self)
{
    b.size = d.size();
    b.how = d.kind();
    switch (b.how) {
    case wire::how::inside:
        b.data = const_cast<std::byte*>(part.data());
        return {};
    case wire::how::given:
    case wire::how::staged:
    case wire::how::mapped:
        try {
            b.data = heap::attach(heap::unpack(d.where), b.size);
            return {};
        } catch (error const& e) {
            return e.what();
        }
    case wire::how::given_here:
    case wire::how::staged_here:
    case wire::how::mapped_here:
        if (!from_self)
            return "a pointer from another process";
        b.data = reinterpret_cast<void*>(d.where);
        return {};
    case wire::how::attached:
        b.data = reinterpret_cast<void*>(d.where);
        return {};
    case wire::how::exposed:
        std::memcpy(&b.region, part.data(), sizeof b.region);
        return {};
    case wire::how::pulled:
        return {};
    case wire::how::count_:
        break;
    }
    return fmt::format("a block that travels in an unknown way ({})", static_cast<unsigned>(b.how));
}

/// The sender of a refused message no longer owns the blocks that it gave, and no handler takes them: they are freed here.
void free_given(std::span<std::byte const> descriptors, bool from_self)
{
    for (; !descriptors.empty(); descriptors = descriptors.subspan(sizeof(wire::descriptor))) {
        wire::descriptor d;
        std::memcpy(&d, descriptors.data(), sizeof d);
        block_state b;
        b.how = d.kind();
        if (b.owned() && resolve_block(b, d, {}, from_self).empty())
            heap::deallocate(b.data);
    }
}

} // namespace

void arrivals::on_message(peer source, std::span<std::byte const> payload)
{
    auto const header = wire::read<wire::message_header>(payload);
    if (!header || source >= common_.config.size)
        return common_.drop(source, fmt::format("a message of {} bytes is too short", payload.size()));

    part_reader parts(payload);
    std::span<std::byte const> part;
    std::span<std::byte const> descriptors;
    std::span<std::byte const> head;
    // The sender may wait for this message: whatever is wrong with it, it is told.
    auto const refuse = [&](std::string const& why) {
        common_.drop(source, why);
        free_given(descriptors, source == common_.config.rank);
        std::uint64_t const wants = header->id_flags & (wire::wants_delivered | wire::wants_released);
        if (wants != 0)
            out_.post_control(source, wire::done, wire::done_message{(header->id_flags & ~wire::flag_mask) | wants | wire::was_refused});
    };
    if (!parts.next(sizeof *header, part) || !parts.next(header->blocks * sizeof(wire::descriptor), descriptors) ||
        !parts.next(header->head_bytes, head))
        return refuse(
            fmt::format("{} bytes cannot hold {} blocks and a head of {} bytes", payload.size(), header->blocks, header->head_bytes));
    if (header->handler >= handlers_.size())
        return refuse(fmt::format("handler {} is not installed here", header->handler));

    message_state state;
    state.owner = &common_.face;
    state.source = source;
    state.id_flags = header->id_flags;
    state.make_blocks(header->blocks);
    for (std::uint32_t i = 0; i < header->blocks; ++i) {
        wire::descriptor d;
        std::memcpy(&d, descriptors.data() + i * sizeof d, sizeof d);
        if (!parts.next(d.inside_bytes(), part))
            return refuse(fmt::format("block {} of {} bytes is not all there", i, d.size()));
        if (std::string const wrong = resolve_block(state.blocks[i], d, part, source == common_.config.rank); !wrong.empty())
            return refuse(fmt::format("block {}: {}", i, wrong));
    }
    if (parts.left() != 0)
        return refuse(fmt::format("{} bytes too many", parts.left()));

    auto const& entry = handlers_[header->handler];
    incoming message(&common_.face, source, head, &state);
    entry.function(entry.context, common_.face, message);
    incoming::state::handler_returned(message, state, header->id_flags);
}

void arrivals::on_fragment(peer source, std::span<std::byte const> payload)
{
    auto const header = wire::read<wire::fragment_header>(payload);
    if (!header || payload.size() == sizeof *header)
        return common_.drop(source, fmt::format("a fragment of {} bytes", payload.size()));
    auto const key = std::make_pair(source, header->stream);
    auto const bytes = payload.subspan(sizeof *header);
    auto at = streams_.find(key);
    if (at == streams_.end()) {
        if (header->offset != 0)
            return common_.drop(source, fmt::format("a fragment at {} of a message whose begin never came", header->offset));
        at = streams_.try_emplace(key).first;
        at->second.total = header->total;
    }
    stream& s = at->second;
    // Memory grows with what has arrived, not with what is said to come.
    if (header->total != s.total || header->offset != s.bytes.size() || bytes.size() > s.total - s.bytes.size()) {
        streams_.erase(at);
        return common_.drop(source, fmt::format("fragments that do not fit together (at {} of {})", header->offset, header->total));
    }
    s.bytes.insert(s.bytes.end(), bytes.begin(), bytes.end());
    if (s.bytes.size() != s.total)
        return;
    auto const whole = std::move(s.bytes);
    streams_.erase(at);
    on_message(source, whole);
}

} // namespace towline::engine
