// Boost.Serialization's binary archive over a stream buffer in memory, without header and object tracking.

#include "subject.hpp"
#include "streams.hpp"

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/is_bitwise_serializable.hpp>
#include <boost/serialization/level.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/tracking.hpp>
#include <boost/serialization/vector.hpp>

#include <memory>

namespace messages {

template <class Archive> void serialize(Archive& ar, vec3& v, unsigned)
{
    ar & v.x & v.y & v.z;
}
template <class Archive> void serialize(Archive& ar, weapon& v, unsigned)
{
    ar & v.name & v.damage;
}
template <class Archive> void serialize(Archive& ar, record& v, unsigned)
{
    ar & v.name & v.x & v.y & v.z & v.hp & v.mana & v.look & v.inventory & v.weapons & v.equipped & v.path;
}
template <class Archive> void serialize(Archive& ar, message_a& v, unsigned)
{
    ar & v.numbers & v.texts;
}
template <class Archive> void serialize(Archive& ar, message_b& v, unsigned)
{
    ar & v.records;
}

} // namespace messages

BOOST_CLASS_IMPLEMENTATION(messages::vec3, boost::serialization::object_serializable)
BOOST_CLASS_IMPLEMENTATION(messages::weapon, boost::serialization::object_serializable)
BOOST_CLASS_IMPLEMENTATION(messages::record, boost::serialization::object_serializable)
BOOST_CLASS_TRACKING(messages::vec3, boost::serialization::track_never)
BOOST_CLASS_TRACKING(messages::weapon, boost::serialization::track_never)
BOOST_CLASS_TRACKING(messages::record, boost::serialization::track_never)
BOOST_IS_BITWISE_SERIALIZABLE(messages::vec3)

namespace serializers {

namespace {

template <class M> std::size_t write(memory_out& out, M const& m)
{
    out.clear();
    boost::archive::binary_oarchive(out, boost::archive::no_header | boost::archive::no_codecvt) << m;
    return out.size();
}

template <class M> void read(std::string const& bytes, M& m)
{
    memory_in in(bytes);
    boost::archive::binary_iarchive(in, boost::archive::no_header | boost::archive::no_codecvt) >> m;
}

template <class M, class Sum> void add_message(offers& all, std::string const& name, M const& m, Sum sum)
{
    auto const out = std::make_shared<memory_out>();
    std::uint64_t const size = write(*out, m);
    auto const bytes = std::make_shared<std::string>(out->data(), size);
    std::uint64_t const expected = sum(m);
    add(all, name, "serialize", "boost", size, size, [&m, out] { return write(*out, m); });
    add_decoders<M>(all, name, "boost", size, expected, [bytes](M& into) { read(*bytes, into); }, sum);
}

} // namespace

void register_boost(offers& all, messages::message_a const& a, messages::message_b const& b)
{
    add_message(all, "A", a, [](auto const& m) { return messages::sum_a(m); });
    add_message(all, "B", b, [](auto const& m) { return messages::sum_b(m); });
}

} // namespace serializers
