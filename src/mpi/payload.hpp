#pragma once
// The data of a message: a buffer, a count and a datatype, checked, and how they become bytes.

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

/// What the parameters are called.
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
    /// Field by field: as a block it would wait for the stores of the fields.
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
        // Below the first page are null pointers, MPI_BOTTOM and MPI_IN_PLACE.
        if (size == 0 || count < 0 || __builtin_mul_overflow(count, size, &bytes_) ||
            (reinterpret_cast<std::uintptr_t>(buffer) < 4096 && bytes_ != 0)) [[unlikely]]
            look(datatype, names);
    }

    /// The data of a transfer with MPI_PROC_NULL, which has none: the datatype may be MPI_DATATYPE_NULL, as in other libraries. Throws
    /// MPI_ERR_COUNT or MPI_ERR_TYPE.
    [[nodiscard, gnu::cold]] static payload of_nobody(MPI_Count count, MPI_Datatype datatype, payload_names const& names = {});

    [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }
    /// The bytes lie in a row from `data` on.
    [[nodiscard]] bool in_a_row() const noexcept { return type_ == nullptr; }
    /// To be held while the payload is used after the call; empty where nothing needs to be.
    [[nodiscard]] ref<datatype> type() const noexcept { return type_ != nullptr ? ref<datatype>(*type_) : ref<datatype>(); }
    [[nodiscard]] void* data() const noexcept { return buffer_; }

    /// Where its bytes lie, from data() on, as one tree. Throws limit_error where that would be nested too deep.
    [[nodiscard]] layout::placed tree() const;

    /// Copies all of it to `to`, as a row of bytes.
    void pack(void* to) const;
    [[nodiscard]] std::unique_ptr<std::byte[]> packed() const;
    /// Copies the first bytes of it back.
    void unpack(std::span<std::byte const> from) const noexcept;
    /// The same from byte `first` of its row on. Not in a row.
    void unpack_part(std::int64_t first, std::span<std::byte const> from) const noexcept;

    /// Not in a row: whether the first bytes of it end behind a basic element, as all that is sent for it does.
    [[nodiscard]] bool holds_whole_elements(std::uint64_t bytes) const noexcept;

    /// Where a receive puts it; refers to this object where it is not in a row.
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

    /// What a receiver has to know to copy it from where it lies; null where it is in a row or short, or is to be packed, or cannot be
    /// shown.
    [[nodiscard]] std::shared_ptr<matching::shown_layout const> shown() const
    {
        constexpr std::int64_t least = 4096;  // what is shorter waits for no receiver
        return in_a_row() || bytes_ < least ? nullptr : show();
    }

    /// Not in a row: what a send has to know. `shown` as from shown().
    [[nodiscard]] matching::laid_source source(matching::shown_layout const* shown) const noexcept;
    /// So short that it is packed in any case.
    [[nodiscard]] bool is_short() const noexcept { return bytes_ < static_cast<std::int64_t>(matching::matcher::least_laid); }
    /// Calls the function with all of it as a row of bytes, which lies on the stack. Only where it is short.
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
    /// Not in a row: the datatype knows its pieces.
    [[nodiscard]] bool is_brief() const noexcept { return count_ == 1 && type_->briefly().holds(); }
    /// Any other datatype, and what is wrong.
    void look(MPI_Datatype, payload_names const&);

    void* buffer_ = nullptr;
    MPI_Count count_ = 0;
    std::int64_t bytes_ = 0;
    datatype* type_ = nullptr;  ///< null: in a row
};

} // namespace towline::mpi
