#pragma once
// What may happen to datagrams, drawn from a seed: for tests, and to try a real network's bad days (TOWLINE_TEST_DATAGRAM_FAULTS).

#include <cstdint>
#include <optional>
#include <string_view>

namespace towline::transport::datagram {

/// Probabilities, of each datagram; times in nanoseconds.
struct faults {
    double loss = 0;
    double duplicate = 0;
    double reorder = 0;     ///< comes later by up to `late_ns`
    double corrupt = 0;     ///< one bit is wrong
    double burst = 0;       ///< begins a burst in which everything is lost
    std::uint32_t burst_length = 64;
    std::int64_t delay_ns = 0;   ///< of every datagram
    std::int64_t late_ns = 300'000;
    std::uint64_t seed = 1;

    [[nodiscard]] bool any() const noexcept { return loss > 0 || duplicate > 0 || reorder > 0 || corrupt > 0 || burst > 0 || delay_ns > 0; }
};

/// "loss=0.01,reorder=0.1,seed=7", names as above. Nothing where it is not of that form.
[[nodiscard]] std::optional<faults> parse_faults(std::string_view) noexcept;

/// splitmix64 (S. Vigna): the same numbers with every standard library.
class random_stream {
public:
    explicit random_stream(std::uint64_t seed) noexcept : state_(seed) {}
    std::uint64_t draw() noexcept
    {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    bool happens(double probability) noexcept { return probability > 0 && static_cast<double>(draw() >> 11) * 0x1p-53 < probability; }

private:
    std::uint64_t state_;
};

class fate_of_datagrams {
public:
    explicit fate_of_datagrams(faults const& f) noexcept : faults_(f), random_(f.seed) {}

    struct fate {
        int copies = 1;              ///< 0: lost
        bool corrupt = false;
        std::uint64_t bit = 0;       ///< which one, modulo the bits there are
        std::int64_t delay_ns = 0;
    };
    fate next() noexcept
    {
        fate f;
        f.delay_ns = faults_.delay_ns;
        if (burst_left_ == 0 && random_.happens(faults_.burst))
            burst_left_ = faults_.burst_length;
        if (burst_left_ != 0) {
            --burst_left_;
            f.copies = 0;
            return f;
        }
        if (random_.happens(faults_.loss))
            f.copies = 0;
        else if (random_.happens(faults_.duplicate))
            f.copies = 2;
        if (random_.happens(faults_.corrupt)) {
            f.corrupt = true;
            f.bit = random_.draw();
        }
        if (random_.happens(faults_.reorder))
            f.delay_ns += static_cast<std::int64_t>(random_.draw() % static_cast<std::uint64_t>(faults_.late_ns + 1));
        return f;
    }

private:
    faults faults_;
    random_stream random_;
    std::uint32_t burst_left_ = 0;
};

} // namespace towline::transport::datagram
