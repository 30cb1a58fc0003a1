// MessagePack for C++, structures as arrays. Its macros stand in the class, so the messages are copied into classes of the same members.

#define MSGPACK_NO_BOOST
#define MSGPACK_USE_STD_VARIANT_ADAPTOR
#include <msgpack.hpp>

#include "subject.hpp"

#include <memory>

namespace serializers::packed {

struct vec3 {
    float x, y, z;
    MSGPACK_DEFINE(x, y, z)
};
struct weapon {
    std::string name;
    std::int16_t damage;
    MSGPACK_DEFINE(name, damage)
};
struct record {
    std::string name;
    float x, y, z;
    std::int16_t hp, mana;
    std::uint8_t look;
    std::vector<std::uint8_t> inventory;
    std::vector<weapon> weapons;
    weapon equipped;
    std::vector<vec3> path;
    MSGPACK_DEFINE(name, x, y, z, hp, mana, look, inventory, weapons, equipped, path)
};
struct message_a {
    std::vector<std::int64_t> numbers;
    std::vector<std::string> texts;
    MSGPACK_DEFINE(numbers, texts)
};
struct message_b {
    std::vector<record> records;
    MSGPACK_DEFINE(records)
};

} // namespace serializers::packed

namespace serializers {

namespace {

packed::message_a copy(messages::message_a const& m)
{
    return {m.numbers, m.texts};
}

packed::message_b copy(messages::message_b const& m)
{
    packed::message_b out;
    for (auto const& r : m.records) {
        packed::record p{r.name, r.x, r.y, r.z, r.hp, r.mana, static_cast<std::uint8_t>(r.look), r.inventory, {},
                         {r.equipped.name, r.equipped.damage}, {}};
        for (auto const& w : r.weapons) {
            p.weapons.push_back({w.name, w.damage});
        }
        for (auto const& v : r.path) {
            p.path.push_back({v.x, v.y, v.z});
        }
        out.records.push_back(std::move(p));
    }
    return out;
}

template <class M, class Sum> void add_message(offers& all, std::string const& name, M const& original, Sum sum)
{
    auto const m = std::make_shared<decltype(copy(original))>(copy(original));
    using message = std::remove_reference_t<decltype(*m)>;
    auto const out = std::make_shared<msgpack::sbuffer>();
    msgpack::pack(*out, *m);
    std::uint64_t const size = out->size();
    auto const bytes = std::make_shared<std::string>(out->data(), size);
    std::uint64_t const expected = sum(original);
    add(all, name, "serialize", "msgpack", size, size, [m, out] {
        out->clear();
        msgpack::pack(*out, *m);
        return out->size();
    });
    auto const read = [bytes](message& into) { msgpack::unpack(bytes->data(), bytes->size()).get().convert(into); };
    add_decoders<message>(all, name, "msgpack", size, expected, read, sum);
}

} // namespace

void register_msgpack(offers& all, messages::message_a const& a, messages::message_b const& b)
{
    add_message(all, "A", a, [](auto const& m) { return messages::sum_a(m); });
    add_message(all, "B", b, [](auto const& m) { return messages::sum_b(m); });
}

} // namespace serializers
