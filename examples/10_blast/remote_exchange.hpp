#pragma once
// The exchange by remote calls, and by a team of all processes. A face is a moved rma_vector: its memory changes owner and is not copied; the neighbour fills the same
// memory with its own face and sends it back the next time. Two buffers circulate over a face, or three where one side is ahead.

#include "exchange.hpp"
#include "layout.hpp"

#include <towline/rma_vector.hpp>
#include <towline/team.hpp>
#include <towline/world.hpp>

#include <map>
#include <tuple>
#include <utility>

namespace blast {

/// At most one at a time in a process. The thread that made it uses it; calls from other processes are taken in by any thread.
class remote_exchange final : public exchange {
public:
    /// Made at the same time by all processes.
    remote_exchange(towline::world& w, layout const& cut) : world_(w), all_(w), cut_(cut) {}
    ~remote_exchange() override;
    remote_exchange(remote_exchange const&) = delete;
    remote_exchange& operator=(remote_exchange const&) = delete;

    int process() const override { return world_.rank(); }
    int processes() const override { return world_.size(); }
    std::span<double> outgoing(int block, int face, std::size_t size) override;
    void send(int block, int face, std::uint64_t tick) override;
    bool arrived(int block, int face, std::uint64_t tick) override;
    std::span<double const> incoming(int block, int face, std::uint64_t tick) override;
    void release(int block, int face, std::uint64_t tick) override;
    void greatest(std::span<double> values) override;
    std::vector<std::vector<std::uint64_t>> gather(std::span<std::uint64_t const> words) override;

private:
    using buffer = towline::rma_vector<double>;

    towline::world& world_;
    towline::team all_;
    layout cut_;
    std::map<std::pair<int, int>, buffer> filling_;           ///< by block and face
    std::map<std::pair<int, int>, std::vector<buffer>> free_; ///< the same
    std::map<std::tuple<int, int, std::uint64_t>, buffer> taken_;
};

} // namespace blast
