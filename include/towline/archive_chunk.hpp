#pragma once
// Chunks, their source, and limits: shared by the writer and reader of archives and the layers that transfer them.

#include <towline/detail/language.hpp>
#include <towline/error.hpp>

#include <cstddef>
#include <cstdint>

namespace towline {

enum class chunk_kind : std::uint8_t {
    pointer,   ///< plain contiguous memory, lent until the message is sent
    rma,       ///< memory in a shared arena, lent (an rma_vector that others share)
    rma_given, ///< memory in a shared arena whose ownership goes with the message (a moved rma_vector)
};

/// A contiguous block outside the index bytes. Chunks are decoded in the order of the archive.
struct chunk {
    chunk_kind kind = chunk_kind::pointer;
    bool viewed = false;         ///< the reader views it in place (its type there is a view)
    void const* data = nullptr;
    std::uint64_t size = 0;      ///< bytes
};

struct archive_limits {
    std::uint64_t max_bytes = std::uint64_t{1} << 40; ///< limit of all allocations while decoding
    std::uint32_t max_depth = 64;                     ///< nesting of containers, optionals, pointers, variants
};

inline constexpr std::size_t default_chunk_threshold = 8192; ///< bytes; contiguous data at least this big become chunks
inline constexpr std::size_t min_chunk_threshold = 64;       ///< a smaller threshold is raised to this

/// Gives a reader the chunks of its archive. Implemented over the engine's incoming message, and over plain memory for files and tests.
class chunk_source {
public:
    virtual ~chunk_source() = default;
    [[nodiscard]] virtual std::size_t count() const = 0;
    [[nodiscard]] virtual std::uint64_t size(std::size_t i) const = 0;
    /// The bytes in place, valid as long as the source; null if this process cannot read them.
    [[nodiscard]] virtual void const* view(std::size_t i) = 0;
    /// Takes over a given block, a heap block that the caller owns then; null if not possible.
    [[nodiscard]] virtual void* take(std::size_t i) = 0;
    /// Takes over a block that the global operator delete may release, aligned to `alignment`, so that a std::vector can own it. Null if
    /// not possible; the default.
    [[nodiscard]] virtual void* take_for_delete([[maybe_unused]] std::size_t i, [[maybe_unused]] std::size_t alignment) { return nullptr; }
    /// Starts filling the destination. The data are complete when the source reports it; in memory_chunks when this returns.
    virtual void fetch(std::size_t i, void* destination) = 0;
};

/// Serialisation of a type that has no codec. Specialise it with
///     static void save(archive_writer& w, T const& v);   // and, where it matters, save(archive_writer& w, T&& v): v may change owner
///     static T load(archive_reader& r);                  // and/or static void load_into(archive_reader& r, T& v)
/// save calls w.write(...) on parts (or w.add_range, w.add_chunk); load calls r.read<Part>() in the same order. load may move what it read,
/// but the elements of a chunk may arrive after load returned. A load that accesses the elements of ranges declares
/// `static constexpr bool looks_inside = true;`, which keeps its ranges in the index. A serializer that writes a single contiguous range
/// (add_range, or a span), and whose load begins with read_range, declares `static constexpr bool is_range = true;`: then other ranges can
/// be read in its place.
template <class T> struct serializer;

} // namespace towline
