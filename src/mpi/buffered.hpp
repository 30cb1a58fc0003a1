#pragma once
// Buffered sends (3.6): memory that the program attached, and the messages that lie in it until they have gone.

#include "matching/matcher.hpp"
#include "mpi/abi.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace towline::mpi {

class payload;

/// Thread-safe. What was attached to a process or a communicator.
class bsend_space {
public:
    bsend_space() = default;
    ~bsend_space();

    /// Throws a failure where something is attached already. MPI_BUFFER_AUTOMATIC: as much memory as is needed.
    void attach(void* buffer, std::int64_t size);
    struct attached {
        void* buffer = nullptr;
        std::int64_t size = 0;
    };
    /// Waits until the messages in it have gone. Nothing attached: a null buffer.
    attached detach(matching::matcher&);
    void flush(matching::matcher&);
    /// Whether all that was sent through it so far has gone; makes no progress.
    [[nodiscard]] bool is_empty();

    [[nodiscard]] bool is_attached();
    /// Throws MPI_ERR_BUFFER where there is no room.
    void send(matching::matcher&, matching::peer, matching::envelope const&, payload const&);

private:
    struct letter {
        std::int64_t at = 0, size = 0;
        std::unique_ptr<std::byte[]> own;  ///< with MPI_BUFFER_AUTOMATIC
        matching::request request;
    };
    void sweep();
    /// The place of the first gap that is large enough. Under the lock.
    std::list<letter>::iterator place(std::int64_t bytes, std::int64_t& at);

    std::mutex mutex_;
    std::list<letter> letters_;  ///< by place
    void* buffer_ = nullptr;
    std::int64_t size_ = 0;
};

} // namespace towline::mpi
