#pragma once
// Ranks that are threads of one process, for tests: their addresses and deaths in plain memory.

#include "transport/datagram/environment.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace towline::transport::datagram::sim {

/// What the ranks of one job know of each other. Outlives their environments. Thread-safe.
class directory {
public:
    explicit directory(peer size) : entries_(std::make_unique<entry[]>(size)), size_(size)
    {
        for (std::size_t i = 0; i < key_.size(); ++i)
            key_[i] = static_cast<std::byte>(i * 37 + 11);
    }

    [[nodiscard]] peer size() const noexcept { return size_; }
    [[nodiscard]] job_key const& key() const noexcept { return key_; }
    void set_key(job_key const& k) noexcept { key_ = k; }

    void publish(peer rank, std::span<std::byte const> address)
    {
        std::scoped_lock const lock(mutex_);
        entries_[rank].address.emplace(address.begin(), address.end());
    }
    [[nodiscard]] std::optional<address_blob> find(peer rank) const
    {
        std::scoped_lock const lock(mutex_);
        return rank < size_ ? entries_[rank].address : std::nullopt;
    }
    void kill(peer rank) noexcept { entries_[rank].dead.store(true, std::memory_order_release); }
    [[nodiscard]] bool is_dead(peer rank) const noexcept { return rank < size_ && entries_[rank].dead.load(std::memory_order_acquire); }

private:
    struct entry {
        std::optional<address_blob> address;
        std::atomic<bool> dead{false};
    };
    std::unique_ptr<entry[]> entries_;
    peer size_;
    job_key key_{};
    std::mutex mutable mutex_;
};

class memory_environment final : public environment {
public:
    memory_environment(directory& d, peer rank) : directory_(d), rank_(rank), key_(d.key()) {}

    peer rank() const noexcept override { return rank_; }
    peer size() const noexcept override { return directory_.size(); }
    job_key const& key() const noexcept override { return key_; }
    void publish_address(std::span<std::byte const> address) override { directory_.publish(rank_, address); }
    std::optional<address_blob> address_of(peer p) override { return directory_.find(p); }
    bool is_dead(peer p) const noexcept override { return directory_.is_dead(p); }
    bool dies_silently(peer p) const noexcept override { return !is_dead(p); }

private:
    directory& directory_;
    peer rank_;
    job_key key_;
};

} // namespace towline::transport::datagram::sim
