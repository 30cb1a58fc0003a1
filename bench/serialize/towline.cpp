// Towline's archive: into reused and fresh objects, and as views.

#include "subject.hpp"

#include <towline/archive.hpp>

#include <memory>
#include <span>

namespace serializers {

namespace {

struct message_a_view {
    std::span<std::int64_t const> numbers;
    std::vector<std::string_view> texts;
};
struct weapon_view {
    std::string_view name;
    std::int16_t damage;
};
struct record_view {
    std::string_view name;
    float x, y, z;
    std::int16_t hp, mana;
    messages::color look;
    std::span<std::uint8_t const> inventory;
    std::vector<weapon_view> weapons;
    weapon_view equipped;
    std::span<messages::vec3 const> path;
};
struct message_b_view {
    std::vector<record_view> records;
};

template <class M> std::vector<std::byte> packed(M const& m)
{
    std::vector<std::byte> room;
    towline::archive_writer w(room, std::size_t{1} << 30);
    w.write(m);
    auto const index = w.index();
    return {index.begin(), index.end()};
}

template <class M, class View, class Sum>
void add_message(offers& all, std::string const& name, M const& m, Sum sum)
{
    auto const bytes = std::make_shared<std::vector<std::byte>>(packed(m));
    std::uint64_t const size = bytes->size();
    std::uint64_t const expected = sum(m);
    auto const room = std::make_shared<std::vector<std::byte>>();
    add(all, name, "serialize", "towline", size, size, [&m, room] {
        towline::archive_writer w(*room, std::size_t{1} << 30); // everything in the index: bytes are copied, as the others do
        w.write(m);
        return w.index().size();
    });
    auto const reused = std::make_shared<M>();
    add(all, name, "decode_reused", "towline", size, expected, [=] {
        towline::archive_reader r(*bytes);
        r.read_into(*reused);
        r.finish();
        return sum(*reused);
    });
    add(all, name, "decode_fresh", "towline", size, expected, [=] {
        towline::archive_reader r(*bytes);
        auto const fresh = r.read<M>();
        r.finish();
        return sum(fresh);
    });
    auto const view = std::make_shared<View>(); // kept, so that the vectors of views have their memory
    add(all, name, "view", "towline", size, expected, [=] {
        towline::archive_reader r(*bytes);
        r.read_into(*view);
        r.finish();
        return sum(*view);
    });
}

} // namespace

void register_towline(offers& all, messages::message_a const& a, messages::message_b const& b)
{
    add_message<messages::message_a, message_a_view>(all, "A", a, [](auto const& m) { return messages::sum_a(m); });
    add_message<messages::message_b, message_b_view>(all, "B", b, [](auto const& m) { return messages::sum_b(m); });
}

} // namespace serializers
