// Protobuf. Its messages are filled beforehand: serialize is SerializeToArray alone; decoding reads the fields from its message.

#include "messages.pb.h"
#include "subject.hpp"

#include <google/protobuf/arena.h>

#include <memory>

namespace serializers {

namespace {

using messages::bits;
using messages::sum_text;

proto::MessageA fill(messages::message_a const& m)
{
    proto::MessageA out;
    for (auto n : m.numbers) {
        out.add_numbers(n);
    }
    for (auto const& t : m.texts) {
        out.add_texts(t);
    }
    return out;
}

proto::MessageB fill(messages::message_b const& m)
{
    proto::MessageB out;
    for (auto const& r : m.records) {
        auto& p = *out.add_records();
        p.set_name(r.name);
        p.set_x(r.x);
        p.set_y(r.y);
        p.set_z(r.z);
        p.set_hp(r.hp);
        p.set_mana(r.mana);
        p.set_look(static_cast<proto::Record_Color>(r.look));
        p.set_inventory(r.inventory.data(), r.inventory.size());
        for (auto const& w : r.weapons) {
            auto& pw = *p.add_weapons();
            pw.set_name(w.name);
            pw.set_damage(w.damage);
        }
        p.mutable_equipped()->set_name(r.equipped.name);
        p.mutable_equipped()->set_damage(r.equipped.damage);
        for (auto const& v : r.path) {
            auto& pv = *p.add_path();
            pv.set_x(v.x);
            pv.set_y(v.y);
            pv.set_z(v.z);
        }
    }
    return out;
}

std::uint64_t sum(proto::MessageA const& m)
{
    std::uint64_t s = 0;
    for (auto n : m.numbers()) {
        s += static_cast<std::uint64_t>(n);
    }
    for (auto const& t : m.texts()) {
        s += sum_text(t);
    }
    return s;
}

std::uint64_t sum(proto::MessageB const& m)
{
    std::uint64_t s = 0;
    for (auto const& r : m.records()) {
        s += sum_text(r.name()) + bits(r.x()) + bits(r.y()) + bits(r.z()) + static_cast<std::uint64_t>(r.hp() + r.mana()) +
             static_cast<std::uint64_t>(r.look()) + sum_text(r.inventory());
        for (auto const& w : r.weapons()) {
            s += sum_text(w.name()) + static_cast<std::uint64_t>(w.damage());
        }
        s += sum_text(r.equipped().name()) + static_cast<std::uint64_t>(r.equipped().damage());
        for (auto const& p : r.path()) {
            s += bits(p.x()) + bits(p.y()) + bits(p.z());
        }
    }
    return s;
}

template <class M> void add_message(offers& all, std::string const& name, M const& original, std::uint64_t expected)
{
    auto const m = std::make_shared<decltype(fill(original))>(fill(original));
    using message = std::remove_reference_t<decltype(*m)>;
    auto const bytes = std::make_shared<std::string>(m->SerializeAsString());
    std::uint64_t const size = bytes->size();
    auto const out = std::make_shared<std::vector<char>>(1 << 16);
    add(all, name, "serialize", "protobuf", size, size, [=] {
        m->SerializeToArray(out->data(), static_cast<int>(out->size()));
        return static_cast<std::uint64_t>(m->GetCachedSize());
    });
    auto const reused = std::make_shared<message>();
    add(all, name, "decode_reused", "protobuf", size, expected, [=] {
        return reused->ParseFromArray(bytes->data(), static_cast<int>(size)) ? sum(*reused) : 0;
    });
    add(all, name, "decode_fresh", "protobuf", size, expected, [=] {
        message fresh;
        return fresh.ParseFromArray(bytes->data(), static_cast<int>(size)) ? sum(fresh) : 0;
    });
    add(
        all, name, "decode_fresh", "protobuf", size, expected,
        [=] {
            google::protobuf::Arena arena;
            auto& fresh = *google::protobuf::Arena::CreateMessage<message>(&arena);
            return fresh.ParseFromArray(bytes->data(), static_cast<int>(size)) ? sum(fresh) : 0;
        },
        "arena");
}

} // namespace

void register_protobuf(offers& all, messages::message_a const& a, messages::message_b const& b)
{
    add_message(all, "A", a, messages::sum_a(a));
    add_message(all, "B", b, messages::sum_b(b));
}

} // namespace serializers
