#pragma once
// Functions of the library that the templates of the public headers call. Internal.

#include <towline/detail/action.hpp>
#include <towline/detail/parcel.hpp>
#include <towline/detail/state.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace towline::detail {

/// Bytes that the library writes behind packed arguments.
inline constexpr std::size_t footer_bytes = 16;
/// Most bytes of packed arguments or results: with the footer, one cell of the shared-memory ring.
inline constexpr std::size_t max_packed = 24;
/// The same if blocks change owner: an archive would cost more than a second and a third cell.
inline constexpr std::size_t max_packed_handles = 96;

/// Decodes a reply into its state and completes it. Exceptions become the state's error.
using complete_function = void (*)(state_base&, message_view&);
/// The same for a broadcast: one view per called rank, in the order of the ranks.
using complete_all_function = void (*)(state_base&, std::span<message_view* const>);

/// The destination of a call's reply. `state` is null for a post; else this owns a reference to it.
struct reply_to {
    state_base* state = nullptr;
    complete_function complete = nullptr;
};

/// Sends a call. `arguments` has room for footer_bytes behind `size`. Errors complete the state (then false), or are thrown if there is
/// none.
bool send_packed(action_entry const&, int rank, reply_to, std::byte* arguments, std::size_t size);
/// The same for encoded arguments. The returned state becomes ready when everything lent may be reused (null: it may be already).
state_ref<state<void>> send_parcel(action_entry const&, int rank, reply_to, parcel&);

/// Where the rank finds these bytes of the shared heap, for message_view::claim there; 0 if it cannot map them.
[[nodiscard]] std::uint64_t share_block(int rank, void const* data, std::size_t size);

/// Sends a call to several ranks down a tree. `complete` null: a post.
state_ref<state<void>> send_to_all(action_entry const&, std::span<int const> ranks, state_base*, complete_all_function,
                                   std::span<std::byte const> packed, parcel*);

/// Rank and size of the current world; throws usage_error if there is none.
[[nodiscard]] int current_rank();
[[nodiscard]] int current_size();

// Objects of this process that other processes call.
using object_id = std::uint64_t;
/// `type` tells objects of different classes apart (a hash of the class's name).
[[nodiscard]] object_id adopt_object(std::shared_ptr<void> object, std::uint64_t type);
/// Throws usage_error if there is no such object, or no longer.
[[nodiscard]] std::shared_ptr<void> find_object(object_id, std::uint64_t type, char const* type_name);
[[nodiscard]] std::uint64_t hash_of_name(char const* mangled) noexcept;

} // namespace towline::detail
