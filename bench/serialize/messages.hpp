#pragma once
// The two messages of the benchmark, and reading every field of them.

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace messages {

enum class color : std::uint8_t { red, green, blue };

struct vec3 {
    float x, y, z;
};
struct weapon {
    std::string name;
    std::int16_t damage;
};
struct record {
    std::string name;
    float x, y, z;
    std::int16_t hp, mana;
    color look;
    std::vector<std::uint8_t> inventory;
    std::vector<weapon> weapons;
    weapon equipped;
    std::vector<vec3> path;
};

/// 1000 numbers and 100 strings of 86 characters.
struct message_a {
    std::vector<std::int64_t> numbers;
    std::vector<std::string> texts;
};
/// 50 records: a name, 3 floats, 2 shorts, an enum, 20 bytes, 3 weapons, one more, 10 points.
struct message_b {
    std::vector<record> records;
};

/// Of anything with the members of message_a, strings and spans of any kind.
template <class M> std::uint64_t sum_a(M const& m)
{
    std::uint64_t sum = 0;
    for (auto n : m.numbers) {
        sum += static_cast<std::uint64_t>(n);
    }
    for (auto const& t : m.texts) {
        std::uint32_t chars = 0;
        for (char c : t) {
            chars += static_cast<std::uint8_t>(c);
        }
        sum += chars;
    }
    return sum;
}

inline std::uint64_t bits(float f)
{
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(f));
}

template <class S> std::uint64_t sum_text(S const& s)
{
    std::uint32_t chars = 0;
    for (char c : s) {
        chars += static_cast<std::uint8_t>(c);
    }
    return chars;
}

/// Of anything with the members of message_b.
template <class M> std::uint64_t sum_b(M const& m)
{
    std::uint64_t sum = 0;
    for (auto const& r : m.records) {
        sum += sum_text(r.name) + bits(r.x) + bits(r.y) + bits(r.z) + static_cast<std::uint64_t>(r.hp + r.mana) +
               static_cast<std::uint64_t>(r.look);
        for (auto b : r.inventory) {
            sum += b;
        }
        for (auto const& w : r.weapons) {
            sum += sum_text(w.name) + static_cast<std::uint64_t>(w.damage);
        }
        sum += sum_text(r.equipped.name) + static_cast<std::uint64_t>(r.equipped.damage);
        for (auto const& p : r.path) {
            sum += bits(p.x) + bits(p.y) + bits(p.z);
        }
    }
    return sum;
}

inline std::string some_text(std::mt19937& random, std::size_t n)
{
    std::string s(n, ' ');
    for (char& c : s) {
        c = static_cast<char>('a' + random() % 26);
    }
    return s;
}

inline message_a make_a()
{
    std::mt19937 random(1);
    message_a m;
    for (int i = 0; i < 1000; ++i) {
        m.numbers.push_back(static_cast<std::int64_t>(random()) << 20 ^ random());
    }
    for (int i = 0; i < 100; ++i) {
        m.texts.push_back(some_text(random, 86));
    }
    return m;
}

inline message_b make_b()
{
    std::mt19937 random(2);
    auto const number = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    auto const some_weapon = [&] {
        return weapon{some_text(random, static_cast<std::size_t>(5 + number(10))), static_cast<std::int16_t>(number(200))};
    };
    message_b m;
    for (int i = 0; i < 50; ++i) {
        record r{some_text(random, static_cast<std::size_t>(8 + number(16))), static_cast<float>(number(1000)),
                 static_cast<float>(number(1000)),
                 static_cast<float>(number(1000)), static_cast<std::int16_t>(number(100)), static_cast<std::int16_t>(number(300)),
                 static_cast<color>(number(3)), {}, {}, some_weapon(), {}};
        for (int k = 0; k < 20; ++k) {
            r.inventory.push_back(static_cast<std::uint8_t>(number(256)));
        }
        for (int k = 0; k < 3; ++k) {
            r.weapons.push_back(some_weapon());
        }
        for (int k = 0; k < 10; ++k) {
            r.path.push_back({static_cast<float>(number(1000)), static_cast<float>(number(1000)), static_cast<float>(number(1000))});
        }
        m.records.push_back(std::move(r));
    }
    return m;
}

} // namespace messages
