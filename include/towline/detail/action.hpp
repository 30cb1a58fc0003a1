#pragma once
// What the library knows of a callable function: its name, its id, how to run it with arguments that lie in a message.

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline {
class chunk_source;
}

namespace towline::detail {

class parcel;

/// A call at its callee, or a reply at its caller: the bytes of the archive and what belongs to them.
class message_view {
public:
    std::span<std::byte const> bytes;  ///< packed arguments if `packed`, else the archive's index bytes
    bool packed = false;
    chunk_source* chunks = nullptr;    ///< null if packed
    std::uint64_t max_bytes = 0;       ///< that decoding may allocate

    /// Blocks until every block that decoding began to fetch is there: suspends the handler. Throws peer_error if the sender died.
    virtual void wait_for_blocks() = 0;
    /// Takes over the block that the sender's `share` described: the caller owns it now. Throws what heap::attach throws, and archive_error
    /// in a message in which no blocks are handed over.
    [[nodiscard]] virtual void* claim(std::uint64_t where, std::size_t size);

protected:
    ~message_view() = default;
};

class invocation : public message_view {
public:
    bool running = false;  ///< set once the arguments are decoded: what is thrown from then on is the function's
    int source = 0;        ///< the calling rank

    /// The result. At most one of these, once. `values` has room for footer_bytes behind `size`. False if nobody wants it.
    virtual bool reply_packed(std::byte* values, std::size_t size) = 0;
    virtual void reply(parcel&) = 0;
    /// Where the caller finds these bytes of the shared heap; 0 if it cannot reach them.
    [[nodiscard]] virtual std::uint64_t share(void const*, std::size_t) { return 0; }

protected:
    ~invocation() = default;
};

/// One per callable function, made before main by instantiating a call of it. Lives in the program (or library) that contains the call.
struct action_entry {
    /// `identity`: the function's address, so that one function seen from two libraries is one.
    action_entry(char const* mangled_name, void const* identity_address, void (*run_function)(invocation&), bool runs_inline) noexcept;
    action_entry(action_entry const&) = delete;
    action_entry& operator=(action_entry const&) = delete;

    char const* mangled;
    void const* identity;
    void (*run)(invocation&);
    bool small;                 ///< runs on the polling thread
    std::uint64_t id;           ///< FNV-1a of the mangled name
    std::uint32_t index = none; ///< in the sorted table of this process
    char const* name = nullptr; ///< for people; static text
    action_entry* next;         ///< the list of all entries

    static constexpr std::uint32_t none = 0xffffffff;
};

} // namespace towline::detail
