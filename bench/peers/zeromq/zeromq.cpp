// ZeroMQ over a Unix socket: two pinned processes, a pair of PAIR sockets, blocking receives.
// An argument is sent from the user's memory without a copy of ours (zmq_msg_init_data), the reply is one word.

#include "harness.hpp"
#include "harness/data.hpp"
#include "harness/pair.hpp"

#include <cstring>

#include <zmq.hpp>

namespace {

using bench::word;

/// First byte of a message: what to do with it. An argument follows in a part of its own.
enum class op : char { echo, take, read };

void serve(std::string const& address)
{
    zmq::context_t context(1);
    zmq::socket_t socket(context, zmq::socket_type::pair);
    socket.set(zmq::sockopt::rcvhwm, 0);
    socket.set(zmq::sockopt::sndhwm, 0);
    socket.connect(address);
    zmq::message_t head, argument;
    while (socket.recv(head)) {
        if (*head.data<op>() == op::echo) {
            socket.send(head, zmq::send_flags::none);
            continue;
        }
        static_cast<void>(socket.recv(argument));
        word const answer =
            *head.data<op>() == op::read ? bench::sum({argument.data<word const>(), argument.size() / sizeof(word)}) : argument.size();
        socket.send(zmq::buffer(&answer, sizeof answer), zmq::send_flags::none);
    }
}

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "peer-zeromq", "ZeroMQ over a Unix socket between two pinned processes.");
    bench::socket_path path;
    auto const address = "ipc://" + path.str();
    bench::partner server([&] { serve(address); });
    bench::pin(0);
    zmq::context_t context(1);
    zmq::socket_t socket(context, zmq::socket_type::pair);
    socket.set(zmq::sockopt::rcvhwm, 0);
    socket.set(zmq::sockopt::sndhwm, 0);
    socket.set(zmq::sockopt::linger, 0);
    socket.bind(address);

    word count = 0;
    struct call {
        op what;
        char fill[7];
        word number;
    };
    auto send = [&] {
        call const c{op::echo, {}, ++count};
        socket.send(zmq::buffer(&c, sizeof c), zmq::send_flags::none);
    };
    auto receive = [&] {
        zmq::message_t answer;
        static_cast<void>(socket.recv(answer));
        call c;
        std::memcpy(&c, answer.data(), sizeof c);
        return c.number;
    };
    program.add({.name = "null_call", .size = 8, .subject = "zeromq"}, [&](bench::sampler& b) {
        word last = 0;
        b.batch(10, [&] { send(); last = receive(); });
        b.check(last == count, "the echo is not what was sent");
    });
    program.add({.name = "outstanding64", .size = 8, .subject = "zeromq"}, [&](bench::sampler& b) {
        word last = 0;
        b.timed([&] {
            auto const begin = bench::clock::now();
            for (int i = 0; i < 64; ++i)
                send();
            for (int i = 0; i < 64; ++i)
                last = receive();
            return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / 64;
        });
        b.check(last == count, "the echoes are not what was sent");
    });

    std::vector<word> data;
    word seed = 0;
    for (auto const size : bench::argument_sizes)
        for (std::string const mode : bench::modes)
            program.add({.name = "argument", .size = size, .mode = mode, .subject = "zeromq"}, [&, size, mode](bench::sampler& b) {
                auto const n = bench::words(size);
                if (data.size() < n)
                    data.resize(n);
                std::span<word> const field(data.data(), n);
                auto pass = [&](op what) {
                    socket.send(zmq::buffer(&what, 1), zmq::send_flags::sndmore);
                    socket.send(zmq::message_t(data.data(), size, [](void*, void*) {}, nullptr), zmq::send_flags::none);
                    word answer = 0;
                    static_cast<void>(socket.recv(zmq::buffer(&answer, sizeof answer)));
                    return answer;
                };
                bool const rewritten = mode == "rewritten";
                bool good = true;
                bench::rewrite(field, ++seed);
                b.each(bench::repeats(size), [&] {
                    if (rewritten)
                        bench::rewrite(field, ++seed);
                }, [&] { good = pass(rewritten ? op::read : op::take) == (rewritten ? bench::expected(n, seed) : size) && good; });
                b.check(good && pass(op::read) == bench::expected(n, seed), "the data did not arrive as they were sent");
            });
    return program.run();
}
