// cereal's binary archive over a stream buffer in memory.

#include "subject.hpp"
#include "streams.hpp"

#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>

#include <istream>
#include <memory>
#include <ostream>

namespace messages { // cereal wants one parameter
template <class Archive> void serialize(Archive& ar, vec3& v)
{
    ar(v.x, v.y, v.z);
}
template <class Archive> void serialize(Archive& ar, weapon& v)
{
    ar(v.name, v.damage);
}
template <class Archive> void serialize(Archive& ar, record& v)
{
    ar(v.name, v.x, v.y, v.z, v.hp, v.mana, v.look, v.inventory, v.weapons, v.equipped, v.path);
}
template <class Archive> void serialize(Archive& ar, message_a& v)
{
    ar(v.numbers, v.texts);
}
template <class Archive> void serialize(Archive& ar, message_b& v)
{
    ar(v.records);
}
} // namespace messages

namespace serializers {

namespace {

template <class M> std::size_t write(memory_out& out, M const& m)
{
    out.clear();
    std::ostream stream(&out);
    cereal::BinaryOutputArchive archive(stream);
    archive(m);
    return out.size();
}

template <class M> void read(std::string const& bytes, M& m)
{
    memory_in in(bytes);
    std::istream stream(&in);
    cereal::BinaryInputArchive archive(stream);
    archive(m);
}

template <class M, class Sum> void add_message(offers& all, std::string const& name, M const& m, Sum sum)
{
    auto const out = std::make_shared<memory_out>();
    std::uint64_t const size = write(*out, m);
    auto const bytes = std::make_shared<std::string>(out->data(), size);
    std::uint64_t const expected = sum(m);
    add(all, name, "serialize", "cereal", size, size, [&m, out] { return write(*out, m); });
    add_decoders<M>(all, name, "cereal", size, expected, [bytes](M& into) { read(*bytes, into); }, sum);
}

} // namespace

void register_cereal(offers& all, messages::message_a const& a, messages::message_b const& b)
{
    add_message(all, "A", a, [](auto const& m) { return messages::sum_a(m); });
    add_message(all, "B", b, [](auto const& m) { return messages::sum_b(m); });
}

} // namespace serializers
