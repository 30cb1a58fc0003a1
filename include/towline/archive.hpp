#pragma once
// The archive: arguments become index bytes (small values, copied) and chunks (big contiguous blocks, left where they are).
// Pure: no I/O, no globals, no knowledge of transports. Formats: docs/wire.md, "The archive".
// Source: HPX's chunked archive (Biddiscombe, Heller, Bikineev, Kaiser: "Zero Copy Serialization using RMA in the HPX
// Distributed Task-Based Runtime", 2017, section 3).
//
// CONTRACT SKETCH (the names other layers build on; the archive room fills it in and may add headers beside it):

#include <towline/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace towline {

enum class chunk_kind : std::uint8_t {
    pointer,   ///< plain contiguous memory, lent until the message was sent
    rma,       ///< memory in a shared arena, lent (an rma_vector that others share)
    rma_given, ///< memory in a shared arena whose ownership goes with the message (a moved rma_vector)
};

/// A big block that did not go into the index bytes. Order in the archive is order of decoding.
struct chunk {
    chunk_kind kind = chunk_kind::pointer;
    bool viewed = false;         ///< the reader will look at it in place (its type there is a view)
    void const* data = nullptr;
    std::uint64_t size = 0;
};

struct archive_limits {
    std::uint64_t max_bytes = std::uint64_t{1} << 40; ///< what decoding may allocate in all
    std::uint32_t max_depth = 64;                     ///< nesting of containers, optionals, aggregates
};

inline constexpr std::size_t default_chunk_threshold = 8192; ///< bytes; contiguous data at least this big become chunks

/// Where a reader finds the chunks of its archive. Implemented over the engine's incoming message, and over plain memory for files and tests.
class chunk_source {
public:
    virtual ~chunk_source() = default;
    [[nodiscard]] virtual std::size_t count() const = 0;
    [[nodiscard]] virtual std::uint64_t size(std::size_t i) const = 0;
    /// The bytes in place, valid as long as the source; null if not in reach.
    [[nodiscard]] virtual void const* view(std::size_t i) = 0;
    /// Takes a given block over (a heap block the caller now owns); null if not possible.
    [[nodiscard]] virtual void* take(std::size_t i) = 0;
    /// Starts filling destination; the data are there when the source says that it is ready (memory: at once).
    virtual void fetch(std::size_t i, void* destination) = 0;
};

// class archive_writer  { explicit archive_writer(std::vector<std::byte>& index, std::size_t threshold = default_chunk_threshold);
//                         template <class T> void write(T&&);   // an rvalue rma_vector is given, everything else is lent or copied
//                         std::span<std::byte const> index() const; std::span<chunk const> chunks() const; };
// class archive_reader  { archive_reader(std::span<std::byte const> index, chunk_source*, archive_limits = {});
//                         template <class T> T read(); template <class T> void read_into(T&); void finish(); };  // finish: all bytes and chunks used
// template <class T> struct serializer;  // specialise for a type with special needs: save(archive_writer&, T const& / T&&), load(archive_reader&)

} // namespace towline
