#pragma once
// What blocks need of each other: faces between neighbours, and few numbers between all. The solver knows no more of processes than this.
// Faces travel in buffers that circulate: what came in over a face goes out over it the next time, so that after the first steps no memory
// is allocated, and none is touched that is not warm.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace blast {

class exchange {
public:
    virtual ~exchange() = default;

    virtual int process() const = 0;
    virtual int processes() const = 0;

    /// A buffer for `size` doubles that `send` will carry from this block of ours over this face. Contents: anything.
    virtual std::span<double> outgoing(int block, int face, std::size_t size) = 0;

    /// The buffer goes to the neighbour; the caller must not touch it any more. `tick` counts the states that are exchanged. Does not
    /// block.
    virtual void send(int block, int face, std::uint64_t tick) = 0;

    /// Whether the neighbour's buffer of that tick is here.
    virtual bool arrived(int block, int face, std::uint64_t tick) = 0;

    /// The neighbour's buffer; waits for it. Valid until released.
    virtual std::span<double const> incoming(int block, int face, std::uint64_t tick) = 0;

    /// Gives an incoming buffer back to circulate.
    virtual void release(int block, int face, std::uint64_t tick) = 0;

    /// Replaces every element by the greatest one that any process gave in its place. Exact. All processes call it, in the same order.
    virtual void greatest(std::span<double> values) = 0;

    /// Every process's words, in the order of processes, at process 0; nothing elsewhere. All processes call it, in the same order.
    virtual std::vector<std::vector<std::uint64_t>> gather(std::span<std::uint64_t const> words) = 0;
};

} // namespace blast
