#include "fuzz/rich.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>

namespace towline::test {

rich make_rich(int variant)
{
    rich r;
    if (variant == 0) {
        return r;
    }
    r.yes = true;
    r.i8 = -8;
    r.u16 = 0xABCD;
    r.i32 = -123456;
    r.u64 = 0x0123456789ABCDEF;
    r.f = 1.5F;
    r.d = -2.25;
    r.ld = 3.5L;
    r.ch = u'\u00e9';
    r.any_color = color::blue;
    r.some_level = level::high;
    r.grid[1][2] = 7;
    r.names = {"first", ""};
    r.text = "some text";
    r.wide = U"wide";
    std::size_t const n = variant == 2 ? 40 : 3; // 40 doubles are a chunk at the smallest threshold, 3 are not
    r.doubles.assign(n, 0.5);
    r.bytes.assign(n, 0xEE);
    r.flags = {true, false, true, true, false, false, true, false, true};
    r.points.assign(n, vec3{1, 2, 3});
    r.pads = {{'x', 2.0, true}};
    r.strings = {"a", "", std::string(variant == 2 ? 300 : 20, 's')};
    r.nothings.resize(4);
    r.nested = {{1, 2}, {}, {3}};
    r.pairs = {pair_of_names("a", "b")};
    r.by_name = {{"k", {1, 2}}, {"l", {}}};
    r.levels = {{1, level::low}, {1, level::high}};
    r.words = {"w", "z"};
    r.by_number = {{7, "seven"}};
    r.unordered = {"u"};
    r.queue = {"q", "r"};
    r.list = {1, 2, 3};
    r.maybe = 5;
    r.maybe_more = std::vector<std::string>{"m"};
    r.one_of = std::vector<float>{1, 2};
    r.three = {1, "t", true};
    r.two = {"p", color::green};
    r.pointed = std::make_unique<std::string>("pointed");
    tree* t = &r.root;
    for (int depth = 0; depth < (variant == 3 ? 10 : 2); ++depth) {
        t->name = "node";
        t->children.resize(2);
        t->other = std::make_unique<tree>();
        t = depth % 2 == 0 ? t->other.get() : &t->children[1];
    }
    r.time = std::chrono::nanoseconds(12345);
    r.number = {1, -1};
    r.bits = 0x1555;
    r.path = "/a/path";
    r.buffer = serialize_buffer<std::int32_t>(std::vector<std::int32_t>(n, 9).data(), n);
    r.custom = {{1, 2, 3}, 4};
    return r;
}

ranges make_ranges(int variant)
{
    auto const r = make_rich(variant);
    return {r.text, r.doubles, r.strings, r.points};
}

void decode(std::span<std::byte const> index, std::span<chunk const> chunks, unsigned type)
{
    memory_chunks source(chunks);
    archive_limits const limits{.max_bytes = decode_budget, .max_depth = 32};
    auto const both = [&]<class T>(T& used) {
        auto const refill = [&] {
            archive_reader again(index, &source, limits);
            again.read_into(used);
            again.finish();
        };
        T value{};
        auto const make = [&] {
            archive_reader fresh(index, &source, limits);
            value = fresh.read<T>();
            fresh.finish();
        };
        auto const error_of = [](auto const& decoding) -> std::string {
            try {
                decoding();
                return "";
            } catch (archive_error const& e) {
                return e.what();
            }
        };
        // The second time everything up to the fault has the sizes that it needs: another way through the decoder.
        std::string const errors[] = {error_of(refill), error_of(refill), error_of(make)};
        auto const budget = [](std::string const& e) { return e.find("budget") != std::string::npos; }; // depends on what is there
        if (std::none_of(std::begin(errors), std::end(errors), budget) &&
            (errors[0].empty() != errors[1].empty() || errors[1].empty() != errors[2].empty())) {
            throw std::logic_error("what an object held decides whether an archive is accepted: '" + errors[0] + "', '" + errors[1] +
                                   "', '" + errors[2] + "'");
        }
        if (!errors[2].empty()) {
            throw archive_error(errors[2]);
        }
        if constexpr (std::is_same_v<T, range_views>) { // every byte that a view shows must be there
            std::size_t sum = value.text.size() + value.strings.size();
            for (char const c : value.text) {
                sum += static_cast<unsigned char>(c);
            }
            for (double const d : value.doubles) {
                sum += d > 0 ? 1U : 0U;
            }
            for (auto const& s : value.strings) {
                sum += s.empty() ? 0U : static_cast<unsigned char>(s.back());
            }
            for (vec3 const& p : value.points) {
                sum += p.z > 0 ? 1U : 0U;
            }
            [[maybe_unused]] std::size_t const volatile kept = sum;
        }
    };
    if (type == 0) {
        rich used = make_rich(1);
        both(used);
    } else if (type == 1) {
        range_views used;
        both(used);
    } else {
        ranges used = make_ranges(2);
        both(used);
    }
}

bool decode_file(std::span<std::uint8_t const> file)
{
    if (file.empty()) {
        return false;
    }
    unsigned const type = file[0] & 3U;
    std::size_t const count = file[0] >> 2 & 15U;
    std::size_t at = 1 + 2 * count;
    std::vector<chunk> chunks;
    std::vector<std::vector<std::byte>> blocks; // each in memory of its own size, for the sanitizer to see its end
    for (std::size_t i = 0; i < count && at <= file.size(); ++i) {
        std::size_t const size = std::min<std::size_t>(file[1 + 2 * i] | file[2 + 2 * i] << 8U, file.size() - at);
        auto const bytes = std::as_bytes(file.subspan(at, size));
        blocks.emplace_back(bytes.begin(), bytes.end());
        at += size;
    }
    if (at > file.size()) {
        return false;
    }
    for (auto const& block : blocks) {
        chunks.push_back({.data = block.data(), .size = block.size()});
    }
    auto const rest = std::as_bytes(file.subspan(at));
    std::vector<std::byte> const index(rest.begin(), rest.end());
    try {
        decode(index, chunks, type);
        return true;
    } catch (archive_error const&) {
        return false;
    } catch (version_error const&) {
        return false;
    }
}

std::vector<std::uint8_t> make_file(int type, int variant)
{
    std::vector<std::byte> room;
    archive_writer w(room, variant == 2 ? min_chunk_threshold : default_chunk_threshold);
    rich const a = make_rich(variant);
    ranges const b = make_ranges(variant);
    if (type == 0) {
        w.write(a);
    } else {
        w.write(b);
    }
    auto const index = w.index();
    auto const chunks = w.chunks();
    std::vector<std::uint8_t> file{static_cast<std::uint8_t>(static_cast<std::size_t>(type) | chunks.size() << 2U)};
    for (auto const& c : chunks) {
        file.push_back(static_cast<std::uint8_t>(c.size));
        file.push_back(static_cast<std::uint8_t>(c.size >> 8U));
    }
    for (auto const& c : chunks) {
        auto const* bytes = static_cast<std::uint8_t const*>(c.data);
        file.insert(file.end(), bytes, bytes + c.size);
    }
    auto const* bytes = reinterpret_cast<std::uint8_t const*>(index.data());
    file.insert(file.end(), bytes, bytes + index.size());
    return file;
}

} // namespace towline::test
