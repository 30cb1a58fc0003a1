// The corpus, every prefix of it, and seeded mutations: decoding ends with a value or an archive_error, and never allocates more than its
// budget. The golden archives pin the format. TOWLINE_FUZZ_SEED=n repeats a run; TOWLINE_WRITE_GOLDEN=1 writes the golden files anew.

#include "fuzz/rich.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <random>

// The guard: what is allocated while it is armed, in all and at its peak.
namespace {
std::atomic<bool> armed{false};
std::atomic<std::uint64_t> biggest{0};
std::atomic<std::uint64_t> total{0};

void* guarded(std::size_t n)
{
    if (armed.load(std::memory_order_relaxed)) {
        biggest = std::max<std::uint64_t>(biggest, n);
        total += n;
    }
    void* const p = std::malloc(n);
    if (p == nullptr) {
        throw std::bad_alloc();
    }
    return p;
}
} // namespace

void* operator new(std::size_t n)
{
    return guarded(n);
}
void* operator new[](std::size_t n)
{
    return guarded(n);
}
// Not inlined: GCC would see new meet free, and warn.
[[gnu::noinline]] void operator delete(void* p) noexcept
{
    std::free(p);
}
[[gnu::noinline]] void operator delete[](void* p) noexcept
{
    std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept
{
    std::free(p);
}
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept
{
    std::free(p);
}

using namespace towline;
using namespace towline::test;

namespace {

using file = std::vector<std::uint8_t>;

struct golden {
    char const* name;
    int type, variant;
};
constexpr golden goldens[] = {{"rich_0", 0, 0},  {"rich_1", 0, 1},  {"rich_2", 0, 2},   {"rich_3", 0, 3},   {"views_0", 1, 0},
                              {"views_1", 1, 1}, {"views_2", 1, 2}, {"ranges_1", 2, 1}, {"ranges_2", 2, 2}};

file read_file(std::filesystem::path const& path)
{
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<file> corpus()
{
    std::vector<file> files;
    for (auto const& entry : std::filesystem::directory_iterator(TOWLINE_CORPUS)) {
        files.push_back(read_file(entry.path()));
    }
    return files;
}

/// Three readers with their budgets, the object that is filled again, the chunks' copies and the texts of errors.
constexpr std::uint64_t most = 3 * decode_budget + (256 << 10);

bool guarded_decode(file const& f)
{
    biggest = 0;
    total = 0;
    armed = true;
    bool const accepted = decode_file(f);
    armed = false;
    EXPECT_LE(biggest.load(), decode_budget + f.size());
    EXPECT_LE(total.load(), most + 4 * f.size());
    return accepted;
}

TEST(fuzz_replay, golden_archives_pin_the_format)
{
    for (auto const& g : goldens) {
        file const made = make_file(g.type, g.variant);
        std::filesystem::path const path = std::filesystem::path(TOWLINE_CORPUS) / g.name;
        if (std::getenv("TOWLINE_WRITE_GOLDEN") != nullptr) {
            std::ofstream(path, std::ios::binary)
                .write(reinterpret_cast<char const*>(made.data()), static_cast<std::streamsize>(made.size()));
        }
        EXPECT_EQ(read_file(path), made) << g.name << ": the format changed: that needs a new version in the header";
        EXPECT_TRUE(guarded_decode(made)) << g.name;
    }
}

TEST(fuzz_replay, corpus)
{
    ASSERT_GE(corpus().size(), std::size(goldens));
    for (file const& f : corpus()) {
        guarded_decode(f);
    }
}

TEST(fuzz_replay, every_prefix_of_a_golden_archive_fails)
{
    for (auto const& g : goldens) {
        file const whole = make_file(g.type, g.variant);
        for (std::size_t n = 0; n < whole.size(); ++n) {
            ASSERT_FALSE(guarded_decode(file(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))))
                << g.name << ", the first " << n << " bytes";
        }
        file longer = whole;
        longer.push_back(0);
        EXPECT_FALSE(guarded_decode(longer)) << g.name << " and a byte more";
    }
}

TEST(fuzz_replay, mutations)
{
    char const* const given = std::getenv("TOWLINE_FUZZ_SEED");
    auto const seed = given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10)) : std::random_device()();
    SCOPED_TRACE("repeat with TOWLINE_FUZZ_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    auto const files = corpus();
    constexpr std::uint8_t telling[] = {0x00, 0x01, 0x02, 0x7F, 0x80, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF};
    std::size_t accepted = 0;
    constexpr int rounds = 30000;
    for (int i = 0; i < rounds && !::testing::Test::HasFailure(); ++i) {
        file f = files[random() % files.size()];
        for (unsigned k = random() % 4 + 1; k > 0 && !f.empty(); --k) {
            std::size_t const at = random() % f.size();
            switch (random() % 6) {
            case 0:
                f[at] = static_cast<std::uint8_t>(random());
                break;
            case 1:
                f[at] ^= static_cast<std::uint8_t>(1U << random() % 8);
                break;
            case 2:
                f[at] = telling[random() % std::size(telling)];
                break;
            case 3: // a length lie
                for (std::size_t b = at; b < std::min(at + 9, f.size()); ++b) {
                    f[b] = b == at ? static_cast<std::uint8_t>(0xFC + random() % 4)
                                   : static_cast<std::uint8_t>(random() % 3 == 0 ? random() : 0);
                }
                break;
            case 4:
                f.erase(f.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            default:
                f.insert(f.begin() + static_cast<std::ptrdiff_t>(at), telling[random() % std::size(telling)]);
                break;
            }
        }
        accepted += guarded_decode(f) ? 1U : 0U;
    }
    EXPECT_GT(accepted, 0U);                                // some mutations change only a value
    EXPECT_LT(accepted, static_cast<std::size_t>(rounds)); // and most are noticed
}

} // namespace
