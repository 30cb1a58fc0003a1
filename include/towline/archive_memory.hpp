#pragma once
// Chunks in this process's memory: for archives in files and tests, and messages to self.

#include <towline/archive_chunk.hpp>

#include <cstring>
#include <span>

namespace towline {

/// The chunks of an archive_writer as a source. Owns nothing: chunks and their blocks must outlive it.
class memory_chunks final : public chunk_source {
public:
    memory_chunks() = default;
    explicit memory_chunks(std::span<chunk const> chunks) : chunks_(chunks) {}

    [[nodiscard]] std::size_t count() const override { return chunks_.size(); }
    [[nodiscard]] std::uint64_t size(std::size_t i) const override { return chunks_[i].size; }
    [[nodiscard]] void const* view(std::size_t i) override { return chunks_[i].data; }
    [[nodiscard]] void* take(std::size_t) override { return nullptr; }
    void fetch(std::size_t i, void* destination) override { std::memcpy(destination, chunks_[i].data, chunks_[i].size); }

private:
    std::span<chunk const> chunks_;
};

} // namespace towline
