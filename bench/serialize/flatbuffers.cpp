// FlatBuffers: building from the messages, and reading in place, with and without the verification that untrusted bytes need.

#include "messages_generated.h"
#include "subject.hpp"

#include <memory>

namespace serializers {

namespace {

using messages::bits;
using messages::sum_text;

flatbuffers::Offset<flat::Weapon> build(flatbuffers::FlatBufferBuilder& b, messages::weapon const& w)
{
    return flat::CreateWeapon(b, b.CreateString(w.name), w.damage);
}

void build(flatbuffers::FlatBufferBuilder& b, messages::message_a const& m)
{
    b.Clear();
    auto const numbers = b.CreateVector(m.numbers);
    auto const texts = b.CreateVectorOfStrings(m.texts);
    b.Finish(flat::CreateMessageA(b, numbers, texts));
}

void build(flatbuffers::FlatBufferBuilder& b, messages::message_b const& m)
{
    b.Clear();
    static thread_local std::vector<flatbuffers::Offset<flat::Record>> records;
    static thread_local std::vector<flatbuffers::Offset<flat::Weapon>> weapons;
    records.clear();
    for (auto const& r : m.records) {
        weapons.clear();
        for (auto const& w : r.weapons) {
            weapons.push_back(build(b, w));
        }
        auto const equipped = build(b, r.equipped);
        auto const name = b.CreateString(r.name);
        auto const inventory = b.CreateVector(r.inventory);
        auto const carried = b.CreateVector(weapons);
        auto const path = b.CreateVectorOfStructs(reinterpret_cast<flat::Vec3 const*>(r.path.data()), r.path.size());
        flat::Vec3 const at(r.x, r.y, r.z);
        records.push_back(flat::CreateRecord(b, name, &at, r.hp, r.mana, static_cast<flat::Color>(r.look), inventory, carried, equipped,
                                             path));
    }
    b.Finish(flat::CreateMessageB(b, b.CreateVector(records)));
}

std::uint64_t sum_chars(flatbuffers::String const& s)
{
    return sum_text(s.string_view());
}

std::uint64_t sum(flat::MessageA const& m)
{
    std::uint64_t s = 0;
    std::int64_t const* const numbers = m.numbers()->data();
    for (flatbuffers::uoffset_t i = 0; i < m.numbers()->size(); ++i) {
        s += static_cast<std::uint64_t>(numbers[i]);
    }
    for (auto const* t : *m.texts()) {
        s += sum_chars(*t);
    }
    return s;
}

std::uint64_t sum(flat::MessageB const& m)
{
    std::uint64_t s = 0;
    for (auto const* r : *m.records()) {
        s += sum_chars(*r->name()) + bits(r->at()->x()) + bits(r->at()->y()) + bits(r->at()->z()) +
             static_cast<std::uint64_t>(r->hp() + r->mana()) + static_cast<std::uint64_t>(r->look());
        for (auto byte : *r->inventory()) {
            s += byte;
        }
        for (auto const* w : *r->weapons()) {
            s += sum_chars(*w->name()) + static_cast<std::uint64_t>(w->damage());
        }
        s += sum_chars(*r->equipped()->name()) + static_cast<std::uint64_t>(r->equipped()->damage());
        for (auto const* p : *r->path()) {
            s += bits(p->x()) + bits(p->y()) + bits(p->z());
        }
    }
    return s;
}

template <class Root, class M> void add_message(offers& all, std::string const& name, M const& m, std::uint64_t expected)
{
    auto const builder = std::make_shared<flatbuffers::FlatBufferBuilder>(1 << 16);
    build(*builder, m);
    std::uint64_t const size = builder->GetSize();
    auto const bytes = std::make_shared<std::vector<std::uint8_t>>(builder->GetBufferPointer(), builder->GetBufferPointer() + size);
    add(all, name, "serialize", "flatbuffers", size, size, [&m, builder] {
        build(*builder, m);
        return static_cast<std::uint64_t>(builder->GetSize());
    });
    add(
        all, name, "view", "flatbuffers", size, expected, [=] { return sum(*flatbuffers::GetRoot<Root>(bytes->data())); }, "unverified");
    add(
        all, name, "view", "flatbuffers", size, expected,
        [=]() -> std::uint64_t {
            flatbuffers::Verifier verifier(bytes->data(), bytes->size());
            return verifier.VerifyBuffer<Root>(nullptr) ? sum(*flatbuffers::GetRoot<Root>(bytes->data())) : 0;
        },
        "verified");
}

} // namespace

void register_flatbuffers(offers& all, messages::message_a const& a, messages::message_b const& b)
{
    add_message<flat::MessageA>(all, "A", a, messages::sum_a(a));
    add_message<flat::MessageB>(all, "B", b, messages::sum_b(b));
}

} // namespace serializers
