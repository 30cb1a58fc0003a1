#pragma once
// Buffered sends (3.6): attached memory, and the messages that stay in it until they are sent.

#include "matching/matcher.hpp"
#include "mpi/abi.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

namespace towline::mpi {

class payload;

/// The buffer attached to a process, a session or a communicator. Thread-safe.
class bsend_space {
public:
    bsend_space() = default;
    ~bsend_space();

    /// Throws a failure if a buffer is attached already. MPI_BUFFER_AUTOMATIC: allocates as much memory as messages need.
    void attach(void* buffer, std::int64_t size);
    struct attached {
        void* buffer = nullptr;
        std::int64_t size = 0;
    };
    /// Waits until all messages in it are sent. Returns a null buffer if none was attached.
    attached detach(matching::matcher&);
    void flush(matching::matcher&);
    /// True if all messages so far are sent; makes no progress.
    [[nodiscard]] bool is_empty();

    [[nodiscard]] bool is_attached();
    /// Throws MPI_ERR_BUFFER if there is no room.
    void send(matching::matcher&, matching::peer, matching::envelope const&, payload const&);

private:
    struct letter {
        std::int64_t at = 0, size = 0;
        std::unique_ptr<std::byte[]> own;  ///< with MPI_BUFFER_AUTOMATIC
        matching::request request;
    };
    void sweep();
    /// Finds the first gap that is large enough. Lock held.
    std::list<letter>::iterator place(std::int64_t bytes, std::int64_t& at);

    std::mutex mutex_;
    std::list<letter> letters_;  ///< by place
    void* buffer_ = nullptr;
    std::int64_t size_ = 0;
};

} // namespace towline::mpi
