// Cap'n Proto RPC over a Unix socket: two pinned processes. An argument is a Data field, as long as it is in one piece.

#include "harness.hpp"
#include "harness/data.hpp"
#include "harness/pair.hpp"

#include "service.capnp.h"

#include <capnp/ez-rpc.h>
#include <capnp/message.h>

#include <unistd.h>

namespace {

using bench::word;

capnp::ReaderOptions limits()
{
    capnp::ReaderOptions o;
    o.traversalLimitInWords = std::uint64_t{1} << 40;
    return o;
}

class service final : public Service::Server {
    kj::Promise<void> echo(EchoContext context) override
    {
        context.getResults().setNumber(context.getParams().getNumber());
        return kj::READY_NOW;
    }
    kj::Promise<void> take(TakeContext context) override
    {
        auto const params = context.getParams();
        auto const data = params.getData();
        context.getResults().setSum(
            params.getRead() ? bench::sum({reinterpret_cast<word const*>(data.begin()), data.size() / sizeof(word)}) : data.size());
        return kj::READY_NOW;
    }
};

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "peer-capnp", "Cap'n Proto RPC over a Unix socket between two pinned processes.");
    bench::socket_path path;
    auto const address = "unix:" + path.str();
    bench::partner server([&] {
        capnp::EzRpcServer s(kj::heap<service>(), address.c_str(), 0, limits());
        kj::NEVER_DONE.wait(s.getWaitScope());
    });
    bench::pin(0);
    while (access(path.str().c_str(), F_OK) != 0)
        usleep(1000);
    capnp::EzRpcClient client(address.c_str(), 0, limits());
    auto& scope = client.getWaitScope();
    auto peer = client.getMain<Service>();

    word count = 0;
    auto echo = [&] {
        auto request = peer.echoRequest();
        request.setNumber(++count);
        return request.send();
    };
    program.add({.name = "null_call", .size = 8, .subject = "capnp"}, [&](bench::sampler& b) {
        word last = 0;
        b.batch(10, [&] { last = echo().wait(scope).getNumber(); });
        b.check(last == count, "the echo is not what was sent");
    });
    program.add({.name = "outstanding64", .size = 8, .subject = "capnp"}, [&](bench::sampler& b) {
        word last = 0;
        b.timed([&] {
            auto const begin = bench::clock::now();
            kj::Vector<capnp::RemotePromise<Service::EchoResults>> calls;
            for (int i = 0; i < 64; ++i)
                calls.add(echo());
            for (auto& c : calls)
                last = c.wait(scope).getNumber();
            return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / 64;
        });
        b.check(last == count, "the echoes are not what was sent");
    });

    std::vector<word> data;
    word seed = 0;
    for (auto const size : bench::argument_sizes)
        for (std::string const mode : bench::modes)
            program.add({.name = "argument", .size = size, .mode = mode, .subject = "capnp"}, [&, size, mode](bench::sampler& b) {
                auto const n = bench::words(size);
                if (data.size() < n)
                    data.resize(n);
                std::span<word> const field(data.data(), n);
                auto pass = [&](bool read) {
                    auto request = peer.takeRequest(capnp::MessageSize{bench::words(size) + 64, 0});
                    request.setData({reinterpret_cast<kj::byte const*>(data.data()), static_cast<std::size_t>(size)});
                    request.setRead(read);
                    return request.send().wait(scope).getSum();
                };
                bool const rewritten = mode == "rewritten";
                bool good = true;
                bench::rewrite(field, ++seed);
                b.each(bench::repeats(size), [&] {
                    if (rewritten)
                        bench::rewrite(field, ++seed);
                }, [&] { good = pass(rewritten) == (rewritten ? bench::expected(n, seed) : size) && good; });
                b.check(good && pass(true) == bench::expected(n, seed), "the data did not arrive as they were sent");
            });
    return program.run();
}
