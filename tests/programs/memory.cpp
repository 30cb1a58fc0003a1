// What a job's memory does in bad luck. memory dump: rank 0 aborts while it holds a pattern in memory of malloc.
// memory refused: says where big blocks lie when the kernel grants no more (see refuse.cpp).
// memory grow KIB: the last rank fills rma_vectors of KIB until one is refused, says so, and frees them; the same with malloc until
// a block leaves the heap, which it does not touch. It says how many MiB it got of each.
// memory cost MIB: what the allocation of a block and the first touch of its pages cost.
// memory overrun KIB: the same with malloc, but touches every block, whatever it is; gets more than 4 GiB, or killed.

#include <towline/rma_vector.hpp>
#include <towline/world.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

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

char notes[1 << 16];

int grow(std::size_t bytes, bool whatever)
{
    constexpr std::size_t most = 4096 * mib;
    if (!whatever) {
        std::vector<towline::rma_vector<char>> all;
        try {
            while (all.size() * bytes < most)
                std::memset(all.emplace_back(bytes).data(), 1, bytes);
            std::printf("rma_vector: never\n");
        } catch (std::bad_alloc const& e) {
            std::printf("rma_vector: after %zu MiB: %s\n", all.size() * bytes / mib, e.what());
        }
    }
    std::size_t got = 0;
    bool plain = false;
    while (got < most && !plain) {
        auto* const block = static_cast<char*>(std::malloc(bytes));
        plain = block == nullptr || (!whatever && !in_the_heap(block));
        if (!plain)
            std::memset(block, 1, bytes);
        got += bytes;
    }
    std::printf("malloc: %s after %zu MiB\n", plain ? "plain" : "heap", (got - bytes) / mib);
    return 0;
}

int cost(std::size_t bytes)
{
    using clock = std::chrono::steady_clock;
    auto const begin = clock::now();
    towline::rma_vector<char> v(bytes, towline::no_init);
    auto const made = clock::now();
    for (std::size_t i = 0; i < bytes; i += 4096)
        v[i] = 1;
    auto const per_mib = [&](std::chrono::duration<double, std::micro> d) { return d.count() / static_cast<double>(bytes / mib); };
    std::printf("allocation %.1f us, first touch %.1f us a MiB\n", per_mib(made - begin), per_mib(clock::now() - made));
    return 0;
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
        for (std::size_t i = 0; i + 16 <= sizeof notes; i += 16)
            std::memcpy(notes + i, "static data, too", 16);
        if (w.rank() == 0)
            std::abort();
        pause();
    }
    if (argc > 2 && (std::strcmp(argv[1], "grow") == 0 || std::strcmp(argv[1], "overrun") == 0)) {
        std::setvbuf(stdout, nullptr, _IONBF, 0);
        if (w.rank() == w.size() - 1)
            return grow(std::size_t{1024} * std::strtoul(argv[2], nullptr, 10), std::strcmp(argv[1], "overrun") == 0);
        return 0;
    }
    if (argc > 2 && std::strcmp(argv[1], "cost") == 0)
        return cost(mib * std::max(std::strtoul(argv[2], nullptr, 10), 1ul));
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
