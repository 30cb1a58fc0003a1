#pragma once
// Wakes this engine's sleepers when a packet comes: they sleep on a futex, and the kernel tells of packets by descriptors.
//
// One thread, while a transport with a wait descriptor is in use. It looks at the descriptors only between `arm` and the first packet after
// it, so that it costs nothing while a thread polls.

#include "base/unique_fd.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace towline::engine {

struct common;

class packet_watch {
public:
    /// Null where no transport has a descriptor. Throws system_error where there is no thread.
    [[nodiscard]] static std::unique_ptr<packet_watch> make(common&);
    ~packet_watch();
    packet_watch(packet_watch const&) = delete;
    packet_watch& operator=(packet_watch const&) = delete;

    /// The next packet wakes the engine's sleepers. After event_count::prepare_wait, and after every transport has said that nothing is there.
    void arm() noexcept;
    /// Forgets the thread, in a forked child, which has none.
    void forget_thread() noexcept;

private:
    packet_watch(common&, std::vector<int> descriptors);
    void watch() noexcept;

    common& common_;
    std::vector<int> descriptors_;
    base::unique_fd stop_;  ///< eventfd
    std::atomic<std::uint32_t> armed_{0};
    std::atomic<bool> stopped_{false};
    std::thread thread_;
};

} // namespace towline::engine
