// Allocates messages in the attached buffer, and frees those that are sent.

#include "mpi/buffered.hpp"

#include "mpi/failure.hpp"
#include "mpi/payload.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace towline::mpi {

bsend_space::~bsend_space()
{
    sweep();
    // The communicator ends before the engine: its last messages must still be sent from this memory.
    if (!letters_.empty())
        [[maybe_unused]] static std::list<letter>& kept = *new std::list<letter>(std::move(letters_));
}

void bsend_space::sweep()
{
    for (auto i = letters_.begin(); i != letters_.end();)
        i = i->request.done() ? letters_.erase(i) : std::next(i);
}

void bsend_space::attach(void* buffer, std::int64_t size)
{
    std::scoped_lock const lock(mutex_);
    if (buffer_ != nullptr)
        throw failure(MPI_ERR_BUFFER, fmt::format("a buffer of {} bytes is attached already: detach it first", size_));
    if (size < 0)
        throw failure(MPI_ERR_ARG, fmt::format("size is {}, and cannot be negative", size));
    if (buffer == nullptr)
        throw failure(MPI_ERR_BUFFER, "buffer is a null pointer");
    buffer_ = buffer;
    size_ = buffer == MPI_BUFFER_AUTOMATIC ? 0 : size;
}

bool bsend_space::is_attached()
{
    std::scoped_lock const lock(mutex_);
    return buffer_ != nullptr;
}

bool bsend_space::is_empty()
{
    std::scoped_lock const lock(mutex_);
    sweep();
    return letters_.empty();
}

void bsend_space::flush(matching::matcher& m)
{
    m.wait_until([this] { return is_empty(); }, "buffered messages to leave");
}

bsend_space::attached bsend_space::detach(matching::matcher& m)
{
    flush(m);
    std::scoped_lock const lock(mutex_);
    return {std::exchange(buffer_, nullptr), std::exchange(size_, 0)};
}

std::list<bsend_space::letter>::iterator bsend_space::place(std::int64_t bytes, std::int64_t& at)
{
    at = 0;
    for (auto i = letters_.begin(); i != letters_.end(); ++i) {
        if (i->at - at >= bytes)
            return i;
        at = i->at + i->size;
    }
    if (size_ - at < bytes)
        at = -1;
    return letters_.end();
}

void bsend_space::send(matching::matcher& m, matching::peer to, matching::envelope const& e, payload const& data)
{
    std::scoped_lock const lock(mutex_);
    if (buffer_ == nullptr)
        throw failure(MPI_ERR_BUFFER, "no buffer is attached");
    bool const automatic = buffer_ == MPI_BUFFER_AUTOMATIC;
    // Messages start at multiples of 16 as far as MPI_BSEND_OVERHEAD leaves room for that.
    std::int64_t const room = (data.bytes() + 15) & ~std::int64_t{15};
    if (!automatic && data.bytes() > size_)
        throw failure(MPI_ERR_BUFFER, fmt::format("a message of {} bytes is larger than the attached buffer of {}", data.bytes(), size_));
    if (data.in_a_row() && m.try_send(to, e, data.data(), static_cast<std::uint64_t>(data.bytes())))
        return;
    sweep();
    std::int64_t at = 0;
    auto before = letters_.end();
    if (!automatic) {
        before = place(room, at);
        if (at < 0) {
            // Receivers may have taken messages that this process does not know to be free. It learns of them after a few polls, or, if a
            // helper thread polls, when that has had the core again.
            auto const patience = m.transport().onloads() ? std::chrono::milliseconds{200} : std::chrono::milliseconds{0};
            auto const has_room = [&] {
                sweep();
                before = place(room, at);
                return at >= 0;
            };
            (void)m.wait_until(has_room, "room in the attached buffer", patience);
        }
        if (at < 0)
            throw failure(MPI_ERR_BUFFER,
                          fmt::format("the attached buffer of {} bytes has no room left for {}: {} messages lie in it", size_, data.bytes(),
                                      letters_.size()));
    }
    letter& l = *letters_.emplace(before);
    l.at = at;
    l.size = room;
    try {
        if (automatic)
            l.own = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(data.bytes()));
        std::byte* const bytes = automatic ? l.own.get() : static_cast<std::byte*>(buffer_) + at;
        data.pack(bytes);
        m.start_send(l.request, to, e, bytes, static_cast<std::uint64_t>(data.bytes()));
    } catch (...) {
        letters_.remove_if([&l](letter const& other) { return &other == &l; });
        throw;
    }
}

} // namespace towline::mpi
