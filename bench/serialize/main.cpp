// Serialization: messages A and B (messages.hpp), by Towline, by hand, and by those of the other libraries that are installed. Every
// decoding column reads every field and checks their sum. Everything is copied into one buffer: chunks, which would leave big blocks where
// they are, are off.

#include "subject.hpp"

#include <algorithm>

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "serialize", "messages A and B through Towline's archive, by hand and through other serializers");
    auto const a = messages::make_a();
    auto const b = messages::make_b();
    serializers::offers all;
    serializers::register_towline(all, a, b);
    serializers::register_append(all, a, b);
#ifdef WITH_CEREAL
    serializers::register_cereal(all, a, b);
#endif
#ifdef WITH_BOOST
    serializers::register_boost(all, a, b);
#endif
#ifdef WITH_MSGPACK
    serializers::register_msgpack(all, a, b);
#endif
#ifdef WITH_PROTOBUF
    serializers::register_protobuf(all, a, b);
#endif
#ifdef WITH_FLATBUFFERS
    serializers::register_flatbuffers(all, a, b);
#endif
#ifdef WITH_CAPNP
    serializers::register_capnp(all, a, b);
#endif
    // Those of one column get their turns next to each other.
    std::stable_sort(all.begin(), all.end(), [](auto const& x, auto const& y) { return x.figure.name < y.figure.name; });
    for (auto& o : all) {
        program.add(std::move(o.figure), std::move(o.turn));
    }
    return program.run();
}
