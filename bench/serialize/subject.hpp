#pragma once
// What a serializer must be able to do to take part. One file a subject; each adds its figures in register_NAME().

#include "bench/harness.hpp"
#include "messages.hpp"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

namespace serialize {

/// Adds a figure of `subject` on message `message` ("A", "B"). `column` is serialize, decode_reused, decode_fresh or view; `operation` does it once and, unless
/// it serializes, reads every field and returns their sum, which must be `expected`.
inline void add(bench::program& program, std::string const& message, std::string const& column, std::string const& subject, std::uint64_t size,
                std::uint64_t expected, std::function<std::uint64_t()> const& operation)
{
    program.add({.name = message + "." + column, .size = size, .subject = subject}, [=](bench::sampler& s) {
        std::uint64_t wrong = 0;
        s.batch(20, [&] { wrong |= operation() ^ expected; });
        s.check(wrong == 0, "the fields read are not those that were written");
    });
}

void register_towline(bench::program&, messages::message_a const&, messages::message_b const&);
void register_append(bench::program&, messages::message_a const&, messages::message_b const&);
void register_cereal(bench::program&, messages::message_a const&, messages::message_b const&);
void register_boost(bench::program&, messages::message_a const&, messages::message_b const&);
void register_msgpack(bench::program&, messages::message_a const&, messages::message_b const&);
void register_protobuf(bench::program&, messages::message_a const&, messages::message_b const&);
void register_flatbuffers(bench::program&, messages::message_a const&, messages::message_b const&);
void register_capnp(bench::program&, messages::message_a const&, messages::message_b const&);

} // namespace serialize
