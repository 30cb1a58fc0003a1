// gRPC over a Unix socket: two pinned processes. Single calls use the synchronous client, outstanding ones a completion queue;
// the server answers in callbacks. An argument is a bytes field, kept from call to call so that it is not allocated again.

#include "harness.hpp"
#include "harness/data.hpp"
#include "harness/pair.hpp"

#include "service.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <climits>
#include <cstring>

#include <unistd.h>

namespace {

using bench::word;

class service final : public bench::Calls::CallbackService {
    grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, bench::Number const* in, bench::Number* out) override
    {
        out->set_number(in->number());
        auto* const reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
    grpc::ServerUnaryReactor* Take(grpc::CallbackServerContext* context, bench::Block const* in, bench::Number* out) override
    {
        auto const& data = in->data();
        out->set_number(in->read() ? bench::sum({reinterpret_cast<word const*>(data.data()), data.size() / sizeof(word)}) : data.size());
        auto* const reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
};

void require(grpc::Status const& s)
{
    if (!s.ok())
        throw std::runtime_error("gRPC: " + s.error_message());
}

} // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv, "peer-grpc", "gRPC over a Unix socket between two pinned processes.");
    bench::socket_path path;
    auto const address = "unix:" + path.str();
    bench::partner server([&] {
        service s;
        grpc::ServerBuilder b;
        b.SetMaxReceiveMessageSize(INT_MAX);
        b.SetMaxSendMessageSize(INT_MAX);
        b.AddListeningPort(address, grpc::InsecureServerCredentials());
        b.RegisterService(&s);
        b.BuildAndStart()->Wait();
    });
    bench::pin(0);
    while (access(path.str().c_str(), F_OK) != 0)
        usleep(1000);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(INT_MAX);
    arguments.SetMaxSendMessageSize(INT_MAX);
    auto stub = bench::Calls::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));

    word count = 0;
    program.add({.name = "null_call", .size = 8, .subject = "grpc"}, [&](bench::sampler& b) {
        bench::Number in, out;
        b.batch(10, [&] {
            grpc::ClientContext context;
            in.set_number(++count);
            require(stub->Echo(&context, in, &out));
        });
        b.check(out.number() == count, "the echo is not what was sent");
    });
    program.add({.name = "outstanding64", .size = 8, .subject = "grpc"}, [&](bench::sampler& b) {
        struct call {
            grpc::ClientContext context;
            bench::Number in, out;
            grpc::Status status;
            std::unique_ptr<grpc::ClientAsyncResponseReader<bench::Number>> reader;
        };
        bool good = true;
        grpc::CompletionQueue done;
        b.timed([&] {
            std::vector<call> calls(64);
            auto const begin = bench::clock::now();
            for (auto& c : calls) {
                c.in.set_number(++count);
                c.reader = stub->AsyncEcho(&c.context, c.in, &done);
                c.reader->Finish(&c.out, &c.status, &c);
            }
            for (std::size_t i = 0; i < calls.size(); ++i) {
                void* tag = nullptr;
                bool ok = false;
                done.Next(&tag, &ok);
                auto const& c = *static_cast<call*>(tag);
                good = good && ok && c.status.ok() && c.out.number() == c.in.number();
            }
            return static_cast<double>(std::chrono::nanoseconds(bench::clock::now() - begin).count()) / 64;
        });
        b.check(good, "the echoes are not what was sent");
    });

    std::vector<word> data;
    word seed = 0;
    bench::Block block;
    for (auto const size : bench::argument_sizes)
        for (std::string const mode : bench::modes)
            program.add({.name = "argument", .size = size, .mode = mode, .subject = "grpc"}, [&, size, mode](bench::sampler& b) {
                auto const n = bench::words(size);
                if (data.size() < n)
                    data.resize(n);
                std::span<word> const field(data.data(), n);
                auto pass = [&](bool read) {
                    grpc::ClientContext context;
                    bench::Number out;
                    block.mutable_data()->assign(reinterpret_cast<char const*>(data.data()), static_cast<std::size_t>(size));
                    block.set_read(read);
                    require(stub->Take(&context, block, &out));
                    return out.number();
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
