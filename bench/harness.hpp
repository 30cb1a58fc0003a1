#pragma once
// The harness of the benchmarks: a program offers figures, the harness measures them in turns and writes them down.
//
// A figure is one number with a name: a case, a size, a mode, and the subject it was measured on. Measuring is done in rounds: in
// each round every figure gets one turn of a few milliseconds, so that all of them meet the same weather (A B C D A B C D ...),
// and a raw cache-line ping-pong (the thermometer) is read before and after each turn. Figures are reported as they are and as
// multiples of the thermometer of their own turns.
//
// A program runs alone, or is conducted: bench/conduct.py starts several programs (Towline, limits by hand, other libraries) and gives
// each of their figures its turns, one at a time, over a socket. A program whose turn it is not must sleep.
//
//     int main(int argc, char** argv)
//     {
//         bench::program p(argc, argv, "sort", "how long sorting takes");
//         p.add({.name = "sort", .size = 1000, .subject = "std"}, [](bench::sampler& s) {
//             s.each(10, [] { shuffle(); }, [] { std::sort(...); });      // shuffling is not timed
//             s.check(std::is_sorted(...), "not sorted");                 // nor is this
//         });
//         return p.run();
//     }

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

/// Names a figure. Keys of the JSON lines: see docs/benchmarks.md.
struct figure {
    std::string name;                  ///< what is measured: "null_call", "argument"
    std::uint64_t size = 0;            ///< bytes that the operation is about
    std::string mode = "untouched";    ///< "untouched", or "rewritten": the sender rewrites the data before each turn, the receiver reads all
    std::string subject;               ///< whose: "towline", a limit ("raw", "memcpy"), another library
    std::string variant{};             ///< which of several ways of that subject; may be empty
};

/// Takes the samples of one turn. Times are nanoseconds per operation.
class sampler {
public:
    sampler(std::chrono::nanoseconds budget, int most, bool first) : budget_(budget), most_(most), first_(first) {}

    /// Samples of `count` operations each, timed together: for operations too short for a clock (under some microseconds).
    template <class F>
    void batch(int count, F&& operation)
    {
        warm_up([&] { operation(); });
        while (more()) {
            auto const begin = clock::now();
            for (int i = 0; i < count; ++i)
                operation();
            add(clock::now() - begin, count);
        }
    }
    /// Samples of `count` operations each, timed one by one, with a preparation that is not timed before each.
    template <class P, class F>
    void each(int count, P&& prepare, F&& operation)
    {
        warm_up([&] { prepare(); operation(); });
        while (more()) {
            clock::duration total{};
            for (int i = 0; i < count; ++i) {
                prepare();
                auto const begin = clock::now();
                operation();
                total += clock::now() - begin;
            }
            add(total, count);
        }
    }
    /// An operation that times itself: returns the nanoseconds of one sample.
    template <class F>
    void timed(F&& sample)
    {
        warm_up([&] { static_cast<void>(sample()); });
        while (more())
            samples_.push_back(static_cast<double>(sample()));
    }
    /// Throws std::runtime_error unless the data are what they must be. A failed check fails the figure and the run.
    void check(bool ok, std::string_view what);

    [[nodiscard]] std::vector<double> const& samples() const noexcept { return samples_; }
    [[nodiscard]] bool first() const noexcept { return first_; }  ///< the first turn of this figure

private:
    template <class F>
    void warm_up(F&& once)
    {
        // A turn begins with cold caches and sleeping peers. What is slow anyway is warmed in its first turn only.
        auto const begin = clock::now();
        do
            once();
        while (clock::now() - begin < budget_ / 8);
        if (!first_ && clock::now() - begin > budget_)
            most_ = 1;
        begin_ = clock::now();
    }
    [[nodiscard]] bool more() const
    {
        return samples_.empty() || (static_cast<int>(samples_.size()) < most_ && clock::now() - begin_ < budget_);
    }
    void add(clock::duration d, int count)
    {
        samples_.push_back(static_cast<double>(std::chrono::nanoseconds(d).count()) / count);
    }

    std::chrono::nanoseconds budget_;
    int most_;
    bool first_;
    clock::time_point begin_{};
    std::vector<double> samples_;
};

class program {
public:
    /// Reads the options (see --help); exits with a message on a wrong one. `name` names the JSON file: build/bench/NAME.jsonl.
    /// Forks the thermometer's partner when the program runs alone: construct it first in main.
    program(int argc, char** argv, std::string name, std::string summary);
    ~program();
    program(program const&) = delete;
    program& operator=(program const&) = delete;

    [[nodiscard]] bool quick() const noexcept;
    /// True if `f` is wanted (--only): for programs that would build something big for it.
    [[nodiscard]] bool wanted(figure const& f) const;

    /// Offers a figure. `turn` takes the samples of one turn.
    void add(figure, std::function<void(sampler&)> turn);
    /// Measures everything; 0, or 1 if a figure failed.
    [[nodiscard]] int run();

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace bench
