#pragma once
// The data of a message: checks buffer, count and datatype, and packs and unpacks them.

#include "layout/node.hpp"
#include "matching/laid.hpp"
#include "matching/matcher.hpp"
#include "matching/request.hpp"
#include "mpi/datatype.hpp"
#include "mpi/plain_sizes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace towline::mpi {

/// The names of the parameters, for error texts.
struct payload_names {
    char const* buffer = "buf";
    char const* count = "count";
    char const* datatype = "datatype";
};
inline constexpr payload_names send_names{"sendbuf", "sendcount", "sendtype"};
inline constexpr payload_names receive_names{"recvbuf", "recvcount", "recvtype"};

class payload {
public:
    payload() = default;
    /// Copies field by field: a block copy would wait for the stores of the fields.
    payload(payload const& other) noexcept : buffer_(other.buffer_), count_(other.count_), bytes_(other.bytes_), type_(other.type_) {}
    payload& operator=(payload const& other) noexcept
    {
        buffer_ = other.buffer_;
        count_ = other.count_;
        bytes_ = other.bytes_;
        type_ = other.type_;
        return *this;
    }
    /// Throws MPI_ERR_COUNT, MPI_ERR_TYPE or MPI_ERR_BUFFER.
    payload(void const* buffer, MPI_Count count, MPI_Datatype datatype, payload_names const& names = {})
        : buffer_(const_cast<void*>(buffer)), count_(count)
    {
        std::int64_t const size = plain_size(datatype);
        // Null pointers, MPI_BOTTOM and MPI_IN_PLACE are below the first page.
        if (size == 0 || count < 0 || __builtin_mul_overflow(count, size, &bytes_) ||
            (reinterpret_cast<std::uintptr_t>(buffer) < 4096 && bytes_ != 0)) [[unlikely]]
            look(datatype, names);
    }

    /// The empty data of a transfer with MPI_PROC_NULL. The datatype may be MPI_DATATYPE_NULL, as in other libraries. Throws MPI_ERR_COUNT
    /// or MPI_ERR_TYPE.
    [[nodiscard, gnu::cold]] static payload of_nobody(MPI_Count count, MPI_Datatype datatype, payload_names const& names = {});

    [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
    /// True if the data are contiguous from `data` on.
    [[nodiscard]] bool in_a_row() const noexcept { return type_ == nullptr; }
    /// A reference to hold while the payload is used after the call; empty if none is needed.
    [[nodiscard]] ref<datatype> type() const noexcept { return type_ != nullptr ? ref<datatype>(*type_) : ref<datatype>(); }
    [[nodiscard]] void* data() const noexcept { return buffer_; }

    /// The layout of its bytes from data() on, as one tree. Throws limit_error if that would be nested too deep.
    [[nodiscard]] layout::placed tree() const;

    /// Packs all data to `to`.
    void pack(void* to) const;
    [[nodiscard]] std::unique_ptr<std::byte[]> packed() const;
    /// Unpacks the first bytes.
    void unpack(std::span<std::byte const> from) const noexcept;
    /// Unpacks from packed byte `first` on. Not for contiguous data.
    void unpack_part(std::int64_t first, std::span<std::byte const> from) const noexcept;

    /// Not for contiguous data: true if a prefix of this length ends behind a basic element, as everything sent for it does.
    [[nodiscard]] bool holds_whole_elements(std::uint64_t bytes) const noexcept;

    /// The destination of a receive; refers to this object unless the data are contiguous.
    [[nodiscard]] matching::sink sink() noexcept
    {
        if (in_a_row()) [[likely]]
            return {buffer_, static_cast<std::uint64_t>(bytes_), nullptr};
        return {this, static_cast<std::uint64_t>(bytes_),
                [](void* self, std::span<std::byte const> from) {
                    auto const& p = *static_cast<payload const*>(self);
                    p.unpack(from);
                    return p.holds_whole_elements(from.size());
                },
                &lay};
    }

    /// The layout by which a receiver copies the data from the sender's memory. Null if the data are contiguous, short, to be packed, or
    /// not in memory that peers can read.
    [[nodiscard]] std::shared_ptr<matching::shown_layout const> shown() const
    {
        constexpr std::int64_t least = 4096;  // shorter data are sent without waiting for the receiver
        return in_a_row() || bytes_ < least ? nullptr : show();
    }

    /// Not for contiguous data: the source of a send. `shown` as from shown().
    [[nodiscard]] matching::laid_source source(matching::shown_layout const* shown) const noexcept;
    /// True if it is short enough to be packed always.
    [[nodiscard]] bool is_short() const noexcept { return bytes_ < static_cast<std::int64_t>(matching::matcher::least_laid); }
    /// Packs the data on the stack and calls the function with them. Only for short data.
    template <class Function>
    decltype(auto) packed_briefly(Function&& function) const
    {
        std::array<std::byte, matching::matcher::least_laid> row;
        pack(row.data());
        return function(static_cast<void const*>(row.data()));
    }

private:
    [[nodiscard]] std::shared_ptr<matching::shown_layout const> show() const;
    [[nodiscard]] static bool lay(void* self, std::uint64_t bytes, matching::laid_sink& where);
    /// Not for contiguous data: true if the datatype has a short plan.
    [[nodiscard]] bool is_brief() const noexcept { return count_ == 1 && type_->briefly().holds(); }
    /// Checks all other datatypes and reports errors.
    void look(MPI_Datatype, payload_names const&);

    void* buffer_ = nullptr;
    MPI_Count count_ = 0;
    std::int64_t bytes_ = 0;
    datatype* type_ = nullptr;  ///< null: contiguous
};

} // namespace towline::mpi
