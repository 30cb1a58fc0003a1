// What a job's memory does in bad luck. memory dump: rank 0 aborts while it holds a pattern in memory of malloc.
// memory refused: says where big blocks lie when the kernel grants no more (see refuse.cpp).

#include <towline/rma_vector.hpp>
#include <towline/world.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <unistd.h>

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

bool in_the_heap(void const* pointer)
{
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::size_t begin = 0;
        std::size_t end = 0;
        auto const at = reinterpret_cast<std::size_t>(pointer);
        if (std::sscanf(line.c_str(), "%zx-%zx", &begin, &end) == 2 && begin <= at && at < end)
            return line.find("towline-job") != std::string::npos;
    }
    return false;
}

} // namespace

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    if (argc > 1 && std::strcmp(argv[1], "dump") == 0) {
        auto* const block = static_cast<char*>(std::malloc(mib));
        if (!in_the_heap(block))
            return 3;
        for (std::size_t i = 0; i + 16 <= mib; i += 16)
            std::memcpy(block + i, i / 16 % 2 == 0 ? "what a debugger " : "wants to see ...", 16);
        if (w.rank() == 0)
            std::abort();
        pause();
    }
    auto* const small = static_cast<char*>(std::malloc(mib));
    auto* const big = static_cast<char*>(std::malloc(16 * mib));
    std::memset(small, 1, mib);
    std::memset(big, 1, 16 * mib);
    std::printf("small: %s\nbig: %s\n", in_the_heap(small) ? "heap" : "plain", in_the_heap(big) ? "heap" : "plain");
    try {
        towline::rma_vector<char> v(16 * mib);
        std::printf("rma_vector: heap\n");
    } catch (std::bad_alloc const& e) {
        std::printf("rma_vector: %s\n", e.what());
    }
    std::free(big);
    std::free(small);
    return 0;
}
