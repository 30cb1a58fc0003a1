#pragma once
// A callable function as the library knows it: its name, its id, and how to run it with the arguments in a message.

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline {
class chunk_source;
}

namespace towline::detail {

class parcel;

/// A call at its callee, or a reply at its caller: the bytes of the archive, their blocks and limits.
class message_view {
public:
    std::span<std::byte const> bytes;  ///< packed arguments if `packed`, else the archive's index bytes
    bool packed = false;
    chunk_source* chunks = nullptr;    ///< null if packed
    std::uint64_t max_bytes = 0;       ///< limit of what decoding may allocate

    /// Blocks until every fetch that decoding started is complete: suspends the handler. Throws peer_error if the sender died.
    virtual void wait_for_blocks() = 0;
    /// Takes over the block that the sender's `share` described; then the caller owns it. Throws what heap::attach throws, and
    /// archive_error in a message that hands no blocks over.
    [[nodiscard]] virtual void* claim(std::uint64_t where, std::size_t size);

protected:
    ~message_view() = default;
};

class invocation : public message_view {
public:
    bool running = false;  ///< set once the arguments are decoded: later exceptions are the function's
    int source = 0;        ///< the calling rank

    /// Sends the result. At most one of these is called, once. `values` has room for footer_bytes behind `size`. False if no reply is
    /// wanted.
    virtual bool reply_packed(std::byte* values, std::size_t size) = 0;
    virtual void reply(parcel&) = 0;
    /// Where the caller finds these bytes of the shared heap; 0 if it cannot map them.
    [[nodiscard]] virtual std::uint64_t share(void const*, std::size_t) { return 0; }

protected:
    ~invocation() = default;
};

/// One per callable function; a call's template instantiation makes it before main. Lives in the program (or library) that contains the
/// call.
struct action_entry {
    /// `identity`: the function's address, so that a function seen from two libraries is one.
    action_entry(char const* mangled_name, void const* identity_address, void (*run_function)(invocation&), bool runs_inline) noexcept;
    action_entry(action_entry const&) = delete;
    action_entry& operator=(action_entry const&) = delete;

    char const* mangled;
    void const* identity;
    void (*run)(invocation&);
    bool small;                 ///< runs on the polling thread
    std::uint64_t id;           ///< FNV-1a of the mangled name
    std::uint32_t index = none; ///< in the sorted table of this process
    char const* name = nullptr; ///< readable; static text
    action_entry* next;         ///< the list of all entries

    static constexpr std::uint32_t none = 0xffffffff;
};

} // namespace towline::detail
