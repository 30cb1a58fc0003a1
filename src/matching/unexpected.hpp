#pragma once
// Early messages (MPI: unexpected): those that came before their receive, the memory that they take, and the account of each sender, which
// is told to hold back before they take too much.
//
// common::lock guards all of it but the two counters, which are read without it. A node that is out of the queue belongs to its taker.

#include "base/sparse_array.hpp"
#include "matching/common.hpp"
#include "matching/queues.hpp"
#include "matching/relay.hpp"

#include <array>
#include <memory>
#include <variant>

namespace towline::matching {

/// Where in the sender's heap the bytes of a *here* message are.
struct here_block {
    std::uint64_t where;  ///< as engine::share tells it
    // If the data have gaps; else 0.
    std::uint64_t span;   ///< bytes of that memory
    std::uint64_t form;   ///< where the layout is written down, as engine::share tells it
    std::uint32_t words;  ///< of it
    layout::meaning meaning;
};

struct unexpected_message {
    envelope letter;
    peer from = 0;
    std::array<chain_link<unexpected_message>, 4> links;
    std::uint64_t bytes = 0;
    std::uint64_t captured = 0;  ///< of them, what takes memory here
    std::uint64_t token = 0;     ///< the sender waits until it is told that the message is matched; 0: it does not
    std::uint64_t number = 0;    ///< by which the sender may withdraw it; 0: it may not
    /// Where the bytes are; if they are captured: in `large`, or `small`.
    std::variant<std::monostate, here_block, relayed, engine::incoming> elsewhere;
    std::unique_ptr<std::byte[]> large;
    static constexpr std::size_t small_bytes = 64;
    alignas(16) std::byte small[small_bytes];

    [[nodiscard]] std::span<std::byte const> data() const noexcept { return {large ? large.get() : small, bytes}; }
    void capture(std::span<std::byte const> of)
    {
        if (of.size() > small_bytes)
            large = std::make_unique_for_overwrite<std::byte[]>(of.size());
        if (!of.empty())
            std::memcpy(large ? large.get() : small, of.data(), of.size());
    }
    [[nodiscard]] status about() const noexcept { return {letter.source, letter.tag, bytes, outcome::ok, false}; }
};

class unexpected_messages {
public:
    explicit unexpected_messages(common& c) : common_(c), accounts_(c.size) {}
    ~unexpected_messages();

    /// How many there are. No lock.
    [[nodiscard]] bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
    /// Changes when one has come, or note_arrival was called. No lock.
    [[nodiscard]] std::uint64_t arrivals() const noexcept { return arrivals_.load(std::memory_order_acquire); }

    // Lock held.

    /// The message that came first of those that the pattern takes, or null; it stays.
    [[nodiscard]] unexpected_message* find(pattern const& p) const noexcept { return queue_.size() != 0 ? queue_.find(p) : nullptr; }
    /// A new node, in the queue. `captured`: how many of the bytes will be kept here.
    [[nodiscard]] unexpected_message& add(peer from, envelope const&, std::uint64_t bytes, std::uint64_t captured, std::uint64_t token);
    /// Takes the message out of the queue and of the account. True: the sender is to be told something (regulate).
    bool take(unexpected_message&) noexcept;
    [[nodiscard]] bool is_unbalanced(peer from) const noexcept
    {
        account const& a = accounts_[from];
        return a.held ? a.bytes <= common_.config.unexpected / 2 : a.bytes > common_.config.unexpected;
    }
    /// Probes look again: a peer has died.
    void note_arrival() noexcept { arrivals_.store(arrivals_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
    template <class F>
    void for_each(F&& function)
    {
        queue_.for_each(function);
    }
    void numbers(matcher::statistics&) const noexcept;

    // No lock held.

    /// Tells the sender to hold back or to go on, if its account still calls for it.
    void regulate(peer from) noexcept;
    /// Ends what the node keeps, and keeps the node.
    void give_back(unexpected_message&) noexcept;

private:
    struct account {
        std::uint64_t bytes = 0;
        std::uint32_t number = 0;  ///< of the last throttle message
        bool held = false;
    };

    common& common_;
    unexpected_queue<unexpected_message> queue_;
    std::uint64_t bytes_ = 0;  ///< captured
    std::atomic<std::size_t> count_{0};
    std::atomic<std::uint64_t> arrivals_{0};
    base::sparse_array<account> accounts_;  ///< by sender
    std::uint64_t throttled_ = 0;
    unexpected_message* free_ = nullptr;
    std::size_t free_count_ = 0;
};

} // namespace towline::matching
