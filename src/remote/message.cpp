// Blocks of an arrived message: viewed, taken or fetched.

#include "remote/message.hpp"

#include "heap/heap.hpp"

#include <towline/remote_error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <typeinfo>

namespace towline {

remote_error::remote_error(int rank, std::string type, std::string text)
    : error(fmt::format("rank {}: {}: {}", rank, type, text)), rank_(rank), type_(std::move(type)), text_(std::move(text))
{
}

namespace detail {
void throw_packed_size(std::size_t is, std::size_t should)
{
    throw archive_error(fmt::format("a call with packed values of {} bytes, its function takes {}", is, should));
}
void throw_bad_bool()
{
    throw archive_error("a packed bool is neither 0 nor 1");
}
void throw_packing_mismatch()
{
    throw archive_error("values that should be packed are not, or the other way round: the programs differ in this function's types");
}
void throw_bad_handed_block()
{
    throw archive_error("a block that is handed over cannot be what the function takes: the programs differ in this function's types");
}

void* message_view::claim(std::uint64_t, std::size_t)
{
    throw archive_error("blocks cannot be handed over inside packed values of a broadcast");
}
} // namespace detail

namespace remoting {

void* message_source::take_for_delete(std::size_t i, std::size_t alignment)
{
    if (!may_take_ || !heap::delete_releases())
        return nullptr;
    // A given or staged block is a whole block of the heap, unless the sender lies; deallocate checks that.
    void const* const block = message_->view(first_ + i);
    if (!heap::contains(block) || reinterpret_cast<std::uintptr_t>(block) % std::max(alignment, heap::block_alignment) != 0)
        return nullptr;
    void* const taken = message_->take(first_ + i);
    if (taken != nullptr)
        heap::note_owned(taken, size(i));
    return taken;
}

bool blocks_in_reach(engine::incoming& m)
{
    for (std::size_t i = 0; i < m.blocks(); ++i)
        if (m.view(i) == nullptr)
            return false;
    return true;
}

void wait_for_blocks(runtime& r, engine::incoming& m)
{
    auto const lost = [&r](int source) { std::rethrow_exception(r.death(source, "for its data")); };
    if (m.ready()) {
        if (m.failed())
            lost(static_cast<int>(m.source()));
        return;
    }
    struct arrival {
        detail::state_ref<detail::state<bool>> state{new detail::state<bool>};
        engine::incoming* home = nullptr;
    } a;
    a.home = &m;
    int const source = static_cast<int>(m.source());
    auto const wait_on = a.state;
    engine::incoming::when_ready(std::move(m), [](void* context, bool ok, engine::incoming& back) {
        auto* const there = static_cast<arrival*>(context);
        auto const producer = there->state;
        *there->home = std::move(back);
        producer->set_value(ok);
    }, &a);
    wait_on->wait("blocks of a message");
    if (!wait_on->take())
        lost(source);
}

caught describe_current_exception(runtime& r, bool running)
{
    auto const type_name = [] {
        std::type_info const* const type = abi::__cxa_current_exception_type();
        if (type == nullptr)
            return std::string("unknown");
        int status = 0;
        std::unique_ptr<char, void (*)(void*)> const text(abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), std::free);
        return std::string(status == 0 && text ? text.get() : type->name());
    };
    caught c{running ? wire::status::exception : wire::status::limit, r.rank(), {}, {}};
    try {
        throw;
    } catch (peer_error const& e) {
        if (!running) {
            c.outcome = wire::status::peer;
            c.where = e.rank();
        }
        c.text = e.what();
    } catch (archive_error const& e) {
        if (!running)
            c.outcome = wire::status::archive;
        c.text = e.what();
    } catch (version_error const& e) {
        if (!running)
            c.outcome = wire::status::version;
        c.text = e.what();
    } catch (usage_error const& e) {
        if (!running)
            c.outcome = wire::status::usage;
        c.text = e.what();
    } catch (unknown_action_error const& e) {
        if (!running)
            c.outcome = wire::status::unknown_action;
        c.text = e.what();
    } catch (std::bad_alloc const& e) {
        c.text = running ? e.what() : "not enough memory for the message";
    } catch (std::exception const& e) {
        c.text = e.what();
    } catch (...) {
        c.text = "not derived from std::exception";
    }
    c.type = type_name();
    return c;
}

std::vector<std::byte> encode_error(int where, std::string_view type, std::string_view text)
{
    // Errors are for people: longer texts are cut.
    type = type.substr(0, 1024);
    text = text.substr(0, 8192);
    wire::error_header const h{where, static_cast<std::uint32_t>(type.size()), static_cast<std::uint32_t>(text.size()), 0};
    std::vector<std::byte> bytes((type.size() + text.size() + 3) / 4 * 4 + sizeof h);
    std::memcpy(bytes.data(), type.data(), type.size());
    std::memcpy(bytes.data() + type.size(), text.data(), text.size());
    std::memcpy(bytes.data() + bytes.size() - sizeof h, &h, sizeof h);
    return bytes;
}

std::exception_ptr decode_error(runtime& r, wire::status status, std::span<std::byte const> bytes, int source, char const* action)
{
    auto const h = wire::tail<wire::error_header>(bytes);
    if (!h || std::uint64_t{h->type_bytes} + h->text_bytes > bytes.size() - sizeof *h || h->rank < 0 || h->rank >= r.size())
        return std::make_exception_ptr(archive_error(fmt::format("rank {} answered {} with an error that cannot be read", source, action)));
    auto const* const p = reinterpret_cast<char const*>(bytes.data());
    std::string type(p, h->type_bytes), text(p + h->type_bytes, h->text_bytes);
    std::string const where = fmt::format("{} at rank {}: {}", action, source, text);
    switch (status) {
    case wire::status::exception: return std::make_exception_ptr(remote_error(h->rank, std::move(type), std::move(text)));
    case wire::status::unknown_action: return std::make_exception_ptr(unknown_action_error(where));
    case wire::status::limit: return std::make_exception_ptr(limit_error(where));
    case wire::status::archive: return std::make_exception_ptr(archive_error(where));
    case wire::status::version: return std::make_exception_ptr(version_error(where));
    case wire::status::usage: return std::make_exception_ptr(usage_error(where));
    case wire::status::peer: return std::make_exception_ptr(peer_error(where, h->rank));
    case wire::status::cancelled: return std::make_exception_ptr(cancelled_error(where));
    default: return std::make_exception_ptr(archive_error(fmt::format("rank {} answered {} with an unknown status", source, action)));
    }
}

} // namespace remoting
} // namespace towline
