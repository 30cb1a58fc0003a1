#pragma once
// A type with everything that the archive knows, some values of it, and a guarded decode: shared by the fuzzers, the replay of their corpus
// and the tests of hostile archives.

#include <towline/archive_all.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace towline::test {

enum class color : std::uint8_t { red, green, blue };
enum class level : std::int16_t { low = -5, high = 5 };
struct nothing {
    bool operator==(nothing const&) const = default;
};
struct vec3 {
    float x, y, z;
    bool operator==(vec3 const&) const = default;
};
struct padded {
    char c;
    double d;
    bool flag;
    bool operator==(padded const&) const = default;
};
struct tree {
    std::string name;
    std::vector<tree> children;
    std::unique_ptr<tree> other;
};
class pair_of_names { // no default constructor
public:
    pair_of_names(std::string a, std::string b) : a_(std::move(a)), b_(std::move(b)) {}
    auto members() const { return std::tie(a_, b_); }
    bool operator==(pair_of_names const&) const = default;

private:
    std::string a_, b_;
};
struct by_serializer {
    std::vector<int> values;
    int more = 0;
    bool operator==(by_serializer const&) const = default;
};

struct rich {
    bool yes = false;
    std::int8_t i8 = 0;
    std::uint16_t u16 = 0;
    std::int32_t i32 = 0;
    std::uint64_t u64 = 0;
    float f = 0;
    double d = 0;
    long double ld = 0;
    char16_t ch = 0;
    color any_color{};
    level some_level{};
    int grid[2][3]{};
    std::array<std::string, 2> names;
    nothing none;
    std::string text;
    std::u32string wide;
    std::vector<double> doubles;
    std::vector<std::uint8_t> bytes;
    std::vector<bool> flags;
    std::vector<vec3> points;
    std::vector<padded> pads;
    std::vector<std::string> strings;
    std::vector<nothing> nothings;
    std::vector<std::vector<std::uint16_t>> nested;
    std::vector<pair_of_names> pairs;
    std::map<std::string, std::vector<int>> by_name;
    std::multimap<int, level> levels;
    std::set<std::string> words;
    std::unordered_map<std::uint32_t, std::string> by_number;
    std::unordered_set<std::string> unordered;
    std::deque<std::string> queue;
    std::list<int> list;
    std::optional<int> maybe;
    std::optional<std::vector<std::string>> maybe_more;
    std::variant<std::monostate, int, std::string, std::vector<float>> one_of;
    std::tuple<int, std::string, bool> three{};
    std::pair<std::string, color> two{};
    std::unique_ptr<std::string> pointed;
    tree root;
    std::chrono::nanoseconds time{};
    std::complex<float> number;
    std::bitset<13> bits;
    std::filesystem::path path;
    serialize_buffer<std::int32_t> buffer;
    by_serializer custom;
};

/// What a handler with views would take of the same bytes: the ranges of `rich` that can be views, and one that cannot.
struct ranges {
    std::string text;
    std::vector<double> doubles;
    std::vector<std::string> strings;
    std::vector<vec3> points;
};
struct range_views {
    std::string_view text;
    std::span<double const> doubles;
    std::vector<std::string_view> strings;
    std::span<vec3 const> points;
};

rich make_rich(int variant); ///< variants 0 to 3: empty, small, with ranges around the thresholds, deep
ranges make_ranges(int variant);

/// Decodes a file of the corpus, which is any bytes: byte 0 selects the type and says how many chunks (up to 15) there are; their lengths
/// in 2 bytes each, their bytes, and the index. Both fresh and into an object that was filled before. Returns true if the archive was
/// accepted. Throws nothing.
bool decode_file(std::span<std::uint8_t const> file);
/// The same for an archive at hand. Throws what decoding throws.
void decode(std::span<std::byte const> index, std::span<chunk const> chunks, unsigned type);
/// A file for decode_file.
std::vector<std::uint8_t> make_file(int type, int variant);

inline constexpr std::uint64_t decode_budget = 1 << 20;

} // namespace towline::test

template <> struct towline::enum_range<towline::test::level> {
    static constexpr test::level min = test::level::low, max = test::level::high;
};
template <> struct towline::serializer<towline::test::by_serializer> {
    static void save(archive_writer& w, test::by_serializer const& v)
    {
        w.write(v.values);
        w.write(v.more);
    }
    static test::by_serializer load(archive_reader& r)
    {
        auto values = r.read<std::vector<int>>();
        return {std::move(values), r.read<int>()};
    }
};
