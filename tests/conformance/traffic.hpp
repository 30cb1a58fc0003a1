#pragma once
// Messages that both ends can make up from (source, destination, number), so that a receiver knows every byte that it must see.

#include "conformance/rig.hpp"
#include "transport/shm/ring.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace conformance {

inline std::uint64_t mix(std::uint64_t z)
{
    z += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/// How long messages are.
enum class sizes { small, mixed, long_ones };

/// Message number `number` from one rank to another.
class made_message {
public:
    transport::handler_id handler = 0;

    made_message(peer from, peer to, std::uint64_t number, sizes how, std::size_t most)
    {
        std::uint64_t const seed = mix(mix(std::uint64_t{from} << 32 | to) ^ number);
        handler = static_cast<transport::handler_id>(1 + seed % 3);
        switch (how) {
        case sizes::small:
            size_ = (seed >> 8) % 57;
            break;
        case sizes::mixed:
            size_ = number % 16 == 5 ? (seed >> 8) % (most + 1) : (seed >> 8) % 600;
            break;
        case sizes::long_ones:
            size_ = most - (seed >> 8) % 200;
            break;
        }
        size_ = std::min(size_, most);
        cut_ = (seed >> 40) % (size_ + 1);
        lead_ = (seed >> 20) % 16;
        words_.resize((lead_ + size_) / 8 + 1);
        std::uint64_t state = seed;
        for (auto& w : words_) {
            switch (number % 4) {
            case 0:
                w = state = mix(state);
                break;
            case 1:
                w = 0;
                break;
            case 2:
                w = ~std::uint64_t{0};
                break;
            default:  // what a ring would await next: any kind, any lap that the test can reach
                state = mix(state);
                w = transport::shm::word::make(static_cast<transport::shm::word::kind>(state % 4),
                                               static_cast<std::uint32_t>(state >> 8) % 2048, 1, state % 60);
            }
        }
    }

    /// The payload, at every alignment to 16.
    [[nodiscard]] std::span<std::byte const> payload() const { return std::as_bytes(std::span(words_)).subspan(lead_, size_); }
    [[nodiscard]] std::span<std::byte const> head() const { return payload().first(cut_); }
    [[nodiscard]] std::span<std::byte const> body() const { return payload().subspan(cut_); }

private:
    std::size_t size_ = 0;
    std::size_t cut_ = 0;
    std::size_t lead_ = 0;
    std::vector<std::uint64_t> words_;
};

/// Receives made messages and checks that each is the next of its source. Installs handlers 1 to 3.
class hearing {
public:
    hearing(place& p, sizes how) : place_(p), how_(how), heard_(p.size())
    {
        for (transport::handler_id id = 1; id <= 3; ++id) {
            ears_[id] = {this, id};
            p.it.set_handler(id, hear, &ears_[id]);
        }
    }
    hearing(hearing const&) = delete;
    hearing& operator=(hearing const&) = delete;

    [[nodiscard]] std::uint64_t from(peer source) const { return heard_[source]; }
    [[nodiscard]] std::uint64_t total() const
    {
        std::uint64_t n = 0;
        for (auto h : heard_)
            n += h;
        return n;
    }
    void say(peer to, std::uint64_t number)
    {
        made_message const m(place_.rank(), to, number, how_, place_.it.caps().max_eager);
        place_.send(to, m.handler, m.head(), m.body());
    }

private:
    struct ear {
        hearing* owner = nullptr;
        transport::handler_id id = 0;
    };

    static void hear(void* context, peer source, std::span<std::byte const> payload)
    {
        auto const [owner, id] = *static_cast<ear*>(context);
        ASSERT_LT(source, owner->heard_.size());
        std::uint64_t const number = owner->heard_[source]++;
        made_message const m(source, owner->place_.rank(), number, owner->how_, owner->place_.it.caps().max_eager);
        ASSERT_EQ(id, m.handler) << "message " << number << " from " << source;
        ASSERT_EQ(payload.size(), m.payload().size()) << "message " << number << " from " << source;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(payload.data()) % 8, 0u);
        ASSERT_TRUE(payload.empty() || std::memcmp(payload.data(), m.payload().data(), payload.size()) == 0)
            << "message " << number << " from " << source << " to " << owner->place_.rank();
    }

    place& place_;
    sizes how_;
    std::vector<std::uint64_t> heard_;
    std::array<ear, 4> ears_{};
};

} // namespace conformance
