#pragma once
// What a serializer must be able to do to take part. One file a subject; each adds its figures in register_NAME().

#include "bench/harness.hpp"
#include "messages.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace serializers {

struct offer {
    bench::figure figure;
    std::function<void(bench::sampler&)> turn;
};
using offers = std::vector<offer>;

/// Offers a figure of `subject` on message `message` ("A", "B"). `column` is serialize, decode_reused, decode_fresh or view; `size` is that
/// of the archive in bytes. `operation` does it once: decoding and viewing read every field and return their sum, which must be `expected`;
/// serializing returns what it can tell cheaply.
inline void add(offers& all, std::string const& message, std::string const& column, std::string const& subject, std::uint64_t size,
                std::uint64_t expected, std::function<std::uint64_t()> const& operation, std::string const& variant = "")
{
    all.push_back({{.name = message + "." + column, .size = size, .subject = subject, .variant = variant}, [=](bench::sampler& s) {
        std::uint64_t wrong = 0;
        s.batch(20, [&] { wrong |= operation() ^ expected; });
        s.check(wrong == 0, "the fields read are not those that were written");
    }});
}

/// Offers both ways of decoding: into an object that was decoded into before, and into a new one. `read` fills an M.
template <class M, class Read, class Sum>
void add_decoders(offers& all, std::string const& message, std::string const& subject, std::uint64_t size, std::uint64_t expected, Read read, Sum sum)
{
    auto const reused = std::make_shared<M>();
    add(all, message, "decode_reused", subject, size, expected, [=] {
        read(*reused);
        return sum(*reused);
    });
    add(all, message, "decode_fresh", subject, size, expected, [=] {
        M fresh;
        read(fresh);
        return sum(fresh);
    });
}

void register_towline(offers&, messages::message_a const&, messages::message_b const&);
void register_append(offers&, messages::message_a const&, messages::message_b const&);
void register_cereal(offers&, messages::message_a const&, messages::message_b const&);
void register_boost(offers&, messages::message_a const&, messages::message_b const&);
void register_msgpack(offers&, messages::message_a const&, messages::message_b const&);
void register_protobuf(offers&, messages::message_a const&, messages::message_b const&);
void register_flatbuffers(offers&, messages::message_a const&, messages::message_b const&);
void register_capnp(offers&, messages::message_a const&, messages::message_b const&);

} // namespace serializers
