#pragma once
// Shared memory for ranks that are threads of one process: plain memory, so that the thread sanitizer sees races that it cannot see
// between processes, and the address sanitizer a ring that is used after its producer freed it.

#include "towline/error.hpp"
#include "transport/shm/environment.hpp"

#include <cstring>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace conformance {

namespace transport = towline::transport;
namespace shm = towline::transport::shm;
using transport::peer;

class plain_memory {
public:
    explicit plain_memory(peer size, bool doorbells = false) : doorbells_(doorbells), inboxes_(size), events_(size), gone_(size)
    {
        for (auto& i : inboxes_)
            i.resize((shm::inbox_bytes(size) + sizeof(line) - 1) / sizeof(line));
    }
    ~plain_memory()
    {
        for (auto const& [begin, b] : blocks_)
            ::operator delete(reinterpret_cast<void*>(begin), std::align_val_t{64});
    }
    plain_memory(plain_memory const&) = delete;
    plain_memory& operator=(plain_memory const&) = delete;

    [[nodiscard]] std::unique_ptr<shm::environment> of(peer rank) { return std::make_unique<view>(*this, rank); }
    [[nodiscard]] towline::base::event_count& event(peer p) { return events_[p]; }
    [[nodiscard]] std::span<std::byte> inbox(peer p) { return std::as_writable_bytes(std::span(inboxes_[p])); }
    void set_gone(peer p) { gone_[p].store(true, std::memory_order_release); }
    /// Lets the next allocations fail.
    void exhaust(bool on) { exhausted_.store(on); }
    [[nodiscard]] std::size_t blocks() const
    {
        std::scoped_lock const lock(mutex_);
        return blocks_.size();
    }

private:
    struct alignas(64) line {
        std::byte bytes[64]{};
    };
    struct block {
        peer owner;
        std::size_t size;
    };

    class view final : public shm::environment {
    public:
        view(plain_memory& m, peer rank) : m_(m), rank_(rank) {}
        peer rank() const noexcept override { return rank_; }
        peer size() const noexcept override { return static_cast<peer>(m_.inboxes_.size()); }
        towline::base::fence_side fences() const noexcept override { return towline::base::fence_side::notifier_fences; }

        bool has_doorbells() const noexcept override { return m_.doorbells_; }

        void* allocate(std::size_t bytes) noexcept override
        {
            if (m_.exhausted_.load())
                return nullptr;
            void* const p = ::operator new(bytes, std::align_val_t{64});
            std::memset(p, 0xa5, bytes);
            std::scoped_lock const lock(m_.mutex_);
            m_.blocks_[reinterpret_cast<std::uintptr_t>(p)] = {rank_, bytes};
            return p;
        }
        void deallocate(void* p) noexcept override
        {
            std::scoped_lock const lock(m_.mutex_);
            if (m_.blocks_.erase(reinterpret_cast<std::uintptr_t>(p)) != 1)
                std::abort();
            ::operator delete(p, std::align_val_t{64});
        }
        std::uint64_t offset_of(void const* p) const noexcept override { return reinterpret_cast<std::uintptr_t>(p); }
        void* attach(peer owner, std::uint64_t offset, std::size_t bytes) override
        {
            std::scoped_lock const lock(m_.mutex_);
            auto const b = m_.blocks_.find(offset);
            if (b == m_.blocks_.end() || b->second.owner != owner || b->second.size < bytes)
                throw towline::error(fmt::format("rank {} owns no {} bytes at offset {}", owner, bytes, offset));
            return reinterpret_cast<void*>(b->first);
        }
        std::span<std::byte> inbox(peer p) override { return m_.inbox(p); }
        towline::base::event_count& event(peer p) noexcept override { return m_.events_[p]; }
        bool gone(peer p) const noexcept override { return m_.gone_[p].load(std::memory_order_acquire); }

    private:
        plain_memory& m_;
        peer rank_;
    };

    bool const doorbells_;
    std::mutex mutable mutex_;
    std::map<std::uintptr_t, block> blocks_;
    std::vector<std::vector<line>> inboxes_;
    std::vector<towline::base::event_count> events_;
    std::vector<std::atomic<bool>> gone_;
    std::atomic<bool> exhausted_{false};
};

} // namespace conformance
