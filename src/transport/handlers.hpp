#pragma once
// What components share: the table of handlers, and the check of a message's size.

#include "transport/transport.hpp"

namespace towline::transport {

/// The handlers of one component. Not thread-safe against `run`.
class handler_table {
public:
    void set(handler_id id, handler function, void* context) noexcept { entries_[id] = {function, context}; }

    /// False if nothing is installed for the id.
    bool run(handler_id id, peer source, std::span<std::byte const> payload) const
    {
        entry const e = entries_[id];
        if (e.function == nullptr) [[unlikely]]
            return false;
        e.function(e.context, source, payload);
        return true;
    }

private:
    struct entry {
        handler function = nullptr;
        void* context = nullptr;
    };
    std::array<entry, 256> entries_{};
};

[[noreturn]] void throw_too_long(component const& who, std::size_t head, std::size_t body);

/// Throws limit_error if head and body together exceed `limit`, the component's max_eager.
inline void check_eager(component const& who, std::size_t limit, std::size_t head, std::size_t body)
{
    if (head > limit || body > limit - head) [[unlikely]]
        throw_too_long(who, head, body);
}

} // namespace towline::transport
