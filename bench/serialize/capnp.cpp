// Cap'n Proto: building from the messages into a segment that is used again, and reading in place (it checks as it goes).

#include "messages.capnp.h"
#include "subject.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstring>
#include <memory>
#include <string_view>

namespace serializers {

namespace {

using messages::bits;
using messages::sum_text;

void build(cap::MessageA::Builder out, messages::message_a const& m)
{
    auto numbers = out.initNumbers(static_cast<unsigned>(m.numbers.size()));
    for (unsigned i = 0; i < m.numbers.size(); ++i) {
        numbers.set(i, m.numbers[i]);
    }
    auto texts = out.initTexts(static_cast<unsigned>(m.texts.size()));
    for (unsigned i = 0; i < m.texts.size(); ++i) {
        texts.set(i, capnp::Text::Reader(m.texts[i].data(), m.texts[i].size()));
    }
}

void build(cap::Weapon::Builder out, messages::weapon const& w)
{
    out.setName(capnp::Text::Reader(w.name.data(), w.name.size()));
    out.setDamage(w.damage);
}

void build(cap::MessageB::Builder out, messages::message_b const& m)
{
    auto records = out.initRecords(static_cast<unsigned>(m.records.size()));
    for (unsigned i = 0; i < m.records.size(); ++i) {
        auto const& r = m.records[i];
        auto p = records[i];
        p.setName(capnp::Text::Reader(r.name.data(), r.name.size()));
        auto at = p.initAt();
        at.setX(r.x);
        at.setY(r.y);
        at.setZ(r.z);
        p.setHp(r.hp);
        p.setMana(r.mana);
        p.setLook(static_cast<std::uint8_t>(r.look));
        p.setInventory(capnp::Data::Reader(r.inventory.data(), r.inventory.size()));
        auto weapons = p.initWeapons(static_cast<unsigned>(r.weapons.size()));
        for (unsigned k = 0; k < r.weapons.size(); ++k) {
            build(weapons[k], r.weapons[k]);
        }
        build(p.initEquipped(), r.equipped);
        auto path = p.initPath(static_cast<unsigned>(r.path.size()));
        for (unsigned k = 0; k < r.path.size(); ++k) {
            auto v = path[k];
            v.setX(r.path[k].x);
            v.setY(r.path[k].y);
            v.setZ(r.path[k].z);
        }
    }
}

std::uint64_t sum_chars(capnp::Text::Reader t)
{
    return sum_text(std::string_view(t.begin(), t.size()));
}

std::uint64_t sum(cap::MessageA::Reader m)
{
    std::uint64_t s = 0;
    for (auto n : m.getNumbers()) {
        s += static_cast<std::uint64_t>(n);
    }
    for (auto t : m.getTexts()) {
        s += sum_chars(t);
    }
    return s;
}

std::uint64_t sum(cap::MessageB::Reader m)
{
    std::uint64_t s = 0;
    for (auto r : m.getRecords()) {
        auto const at = r.getAt();
        s += sum_chars(r.getName()) + bits(at.getX()) + bits(at.getY()) + bits(at.getZ()) +
             static_cast<std::uint64_t>(r.getHp() + r.getMana()) + r.getLook();
        for (auto byte : r.getInventory()) {
            s += byte;
        }
        for (auto w : r.getWeapons()) {
            s += sum_chars(w.getName()) + static_cast<std::uint64_t>(w.getDamage());
        }
        s += sum_chars(r.getEquipped().getName()) + static_cast<std::uint64_t>(r.getEquipped().getDamage());
        for (auto p : r.getPath()) {
            s += bits(p.getX()) + bits(p.getY()) + bits(p.getZ());
        }
    }
    return s;
}

template <class Root, class M> void add_message(offers& all, std::string const& name, M const& m, std::uint64_t expected)
{
    auto const segment = std::make_shared<std::vector<capnp::word>>(1 << 13);
    auto const write = [segment, &m] {
        capnp::MallocMessageBuilder builder(kj::arrayPtr(segment->data(), segment->size())); // clears what it used when it ends
        build(builder.template initRoot<Root>(), m);
        return static_cast<std::uint64_t>(capnp::computeSerializedSizeInWords(builder) * sizeof(capnp::word));
    };
    capnp::MallocMessageBuilder once;
    build(once.template initRoot<Root>(), m);
    auto const flat = capnp::messageToFlatArray(once);
    auto const words = std::make_shared<std::vector<capnp::word>>(flat.begin(), flat.end());
    std::uint64_t const size = words->size() * sizeof(capnp::word);
    add(all, name, "serialize", "capnp", size, write(), write);
    add(all, name, "view", "capnp", size, expected, [=] {
        capnp::FlatArrayMessageReader reader(kj::arrayPtr(words->data(), words->size()));
        return sum(reader.getRoot<Root>());
    });
}

} // namespace

void register_capnp(offers& all, messages::message_a const& a, messages::message_b const& b)
{
    add_message<cap::MessageA>(all, "A", a, messages::sum_a(a));
    add_message<cap::MessageB>(all, "B", b, messages::sum_b(b));
}

} // namespace serializers
