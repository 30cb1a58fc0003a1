#pragma once
// PMI-1: lines of text over a descriptor that the launcher left open (PMI_FD). MPICH's mpiexec speaks it, and srun --mpi=pmi2.

#include "base/unique_fd.hpp"
#include "job/launch/launcher.hpp"

#include <map>

namespace towline::job::launch {

class pmi final : public launcher {
public:
    /// Takes over the descriptor, and greets.
    pmi(base::unique_fd, patience);

    [[nodiscard]] std::string name() const override;
    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return size_; }
    [[nodiscard]] int program() const override { return program_; }
    [[nodiscard]] std::vector<std::uint32_t> nodes() override;
    void put(std::string const& key, std::string_view text) override;
    [[nodiscard]] std::string get(int rank, std::string const& key) override;
    void meet(base::deadline const&, void (*go_on)(void const*), void const* context) override;
    void abort(int code, std::string_view why) noexcept override;
    void finalize() noexcept override;

private:
    using answer = std::map<std::string, std::string, std::less<>>;

    void send(std::string const& line, base::deadline const&);
    /// The next line, whose cmd has to be this one; throws error if it is another, or its rc is not 0.
    answer receive(std::string_view expected, std::string_view asked, base::deadline const&, void (*go_on)(void const*) = nullptr,
                   void const* context = nullptr);
    answer ask(std::string const& line, std::string_view expected);
    [[nodiscard]] long number(answer const&, std::string_view key, std::string_view asked) const;
    [[nodiscard]] std::string raw(std::string const& key);

    base::unique_fd fd_;
    patience patience_;
    std::string read_;  ///< what came, not yet taken
    std::string space_;  ///< of keys and values ("kvsname")
    std::size_t piece_ = 0;  ///< characters of a value
    int rank_ = -1;
    int size_ = 0;
    int program_ = -1;
};

} // namespace towline::job::launch
