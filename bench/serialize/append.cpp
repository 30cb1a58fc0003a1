// The yardstick: what one writes by hand for these two messages. Appends to a buffer that grows, the cursor in a local; decoding checks
// every length. And the bare reading of the originals.

#include "subject.hpp"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace serializers {

namespace {

using namespace messages;
/// The writers hold the cursor in a local and pass it by value.
struct buffer {
    std::vector<char> bytes = std::vector<char>(64);
    char* end = bytes.data() + bytes.size();

    char* begin() { return bytes.data(); }
    char* room(char* p, std::size_t n)
    {
        if (static_cast<std::size_t>(end - p) >= n) [[likely]] {
            return p;
        }
        auto const used = static_cast<std::size_t>(p - begin());
        bytes.resize(2 * bytes.size() + n);
        end = begin() + bytes.size();
        return begin() + used;
    }
};

template <class T> inline void put(char*& p, T v)
{
    std::memcpy(p, &v, sizeof v);
    p += sizeof v;
}

inline char* put_bytes(buffer& out, char* p, void const* data, std::size_t count, std::size_t bytes)
{
    p = out.room(p, 4 + bytes);
    put(p, static_cast<std::uint32_t>(count));
    std::memcpy(p, data, bytes);
    p += bytes;
    return p;
}

inline char* put_text(buffer& out, char* p, std::string const& s)
{
    return put_bytes(out, p, s.data(), s.size(), s.size());
}

inline char* put_weapon(buffer& out, char* p, weapon const& w)
{
    p = put_text(out, p, w.name);
    p = out.room(p, 2);
    put(p, w.damage);
    return p;
}

std::size_t write(buffer& out, message_a const& m)
{
    char* p = out.begin();
    p = put_bytes(out, p, m.numbers.data(), m.numbers.size(), m.numbers.size() * 8);
    p = out.room(p, 4);
    put(p, static_cast<std::uint32_t>(m.texts.size()));
    for (auto const& t : m.texts) {
        p = put_text(out, p, t);
    }
    return static_cast<std::size_t>(p - out.begin());
}

std::size_t write(buffer& out, message_b const& m)
{
    char* p = out.begin();
    p = out.room(p, 4);
    put(p, static_cast<std::uint32_t>(m.records.size()));
    for (auto const& r : m.records) {
        p = put_text(out, p, r.name);
        p = out.room(p, 17);
        put(p, r.x);
        put(p, r.y);
        put(p, r.z);
        put(p, r.hp);
        put(p, r.mana);
        put(p, r.look);
        p = put_bytes(out, p, r.inventory.data(), r.inventory.size(), r.inventory.size());
        p = out.room(p, 4);
        put(p, static_cast<std::uint32_t>(r.weapons.size()));
        for (auto const& w : r.weapons) {
            p = put_weapon(out, p, w);
        }
        p = put_weapon(out, p, r.equipped);
        p = put_bytes(out, p, r.path.data(), r.path.size(), r.path.size() * sizeof(vec3));
    }
    return static_cast<std::size_t>(p - out.begin());
}

struct reader {
    char const* p;
    char const* end;

    void need(std::size_t n) const
    {
        if (static_cast<std::size_t>(end - p) < n) [[unlikely]] {
            throw std::runtime_error("truncated");
        }
    }
    template <class T> void get(T& v)
    {
        need(sizeof v);
        std::memcpy(&v, p, sizeof v);
        p += sizeof v;
    }
    std::size_t count()
    {
        std::uint32_t n = 0;
        get(n);
        return n;
    }
    void text(std::string& s)
    {
        std::size_t const n = count();
        need(n);
        s.assign(p, n);
        p += n;
    }
    template <class T> void elements(std::vector<T>& v)
    {
        std::size_t const n = count();
        need(n * sizeof(T));
        v.resize(n);
        std::memcpy(v.data(), p, n * sizeof(T));
        p += n * sizeof(T);
    }
    template <class T> void sequence(std::vector<T>& v)
    {
        std::size_t const n = count();
        need(n);
        v.resize(n);
    }
};

void read(reader r, message_a& m)
{
    r.elements(m.numbers);
    r.sequence(m.texts);
    for (auto& t : m.texts) {
        r.text(t);
    }
}

void read(reader in, message_b& m)
{
    in.sequence(m.records);
    for (auto& r : m.records) {
        in.text(r.name);
        in.get(r.x);
        in.get(r.y);
        in.get(r.z);
        in.get(r.hp);
        in.get(r.mana);
        in.get(r.look);
        in.elements(r.inventory);
        in.sequence(r.weapons);
        for (auto& w : r.weapons) {
            in.text(w.name);
            in.get(w.damage);
        }
        in.text(r.equipped.name);
        in.get(r.equipped.damage);
        in.elements(r.path);
    }
}

template <class M, class Sum> void add_message(offers& all, std::string const& name, M const& m, Sum sum)
{
    auto const bytes = std::make_shared<buffer>();
    std::uint64_t const size = write(*bytes, m);
    std::uint64_t const expected = sum(m);
    auto const out = std::make_shared<buffer>();
    add(all, name, "serialize", "append", size, size, [&m, out] { return write(*out, m); });
    auto const reused = std::make_shared<M>();
    add(all, name, "decode_reused", "append", size, expected, [=] {
        read({bytes->begin(), bytes->begin() + size}, *reused);
        return sum(*reused);
    });
    add(all, name, "decode_fresh", "append", size, expected, [=] {
        M fresh;
        read({bytes->begin(), bytes->begin() + size}, fresh);
        return sum(fresh);
    });
    add(all, name, "view", "original", size, expected, [&m, sum] { return sum(m); });
}

} // namespace

void register_append(offers& all, message_a const& a, message_b const& b)
{
    add_message(all, "A", a, [](auto const& m) { return sum_a(m); });
    add_message(all, "B", b, [](auto const& m) { return sum_b(m); });
}

} // namespace serializers
