// How long a message takes from one layout to another within one process: memory is warm as far as it fits the caches, and no other core
// takes part. What is measured takes turns, so that whatever else the machine does meanwhile hits all of it.

#include "layout.hpp"

#include "base/clock.hpp"
#include "crossing.hpp"
#include "layout/copy_plan.hpp"
#include "layout/serial.hpp"
#include "layout/stream.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>

namespace towline::tools {

namespace {

using namespace std::chrono_literals;

/// Memory that a layout lies in.
class ground {
public:
    ground(layout_span span, std::byte fill)
        : low_(span.low), bytes_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(span.high - span.low)))
    {
        std::memset(bytes_.get(), static_cast<int>(fill), static_cast<std::size_t>(span.high - span.low));
    }
    /// Where displacement 0 is, in this memory or not.
    [[nodiscard]] std::byte* buffer() const noexcept
    {
        return reinterpret_cast<std::byte*>(reinterpret_cast<std::intptr_t>(bytes_.get()) - low_);
    }

private:
    std::int64_t low_;
    std::unique_ptr<std::byte[]> bytes_;
};

struct subject {
    layout_time told;
    std::function<void()> run;
    std::uint64_t often = 1;  ///< in a turn
    std::vector<double> ns;
};

double time_of(subject const& s)
{
    auto const from = base::monotonic_ns();
    for (std::uint64_t i = 0; i < s.often; ++i)
        s.run();
    return static_cast<double>(base::monotonic_ns() - from) / static_cast<double>(s.often);
}

} // namespace

std::vector<layout_time> measure_layouts(layout_message const& from, layout_message const& to)
{
    auto const from_tree = layout::elements_of(from.type, from.count), to_tree = layout::elements_of(to.type, to.count);
    auto const size = std::min(from_tree.size(), to_tree.size());
    auto const bytes = static_cast<std::size_t>(size);
    layout_span const from_span = span_of(from), to_span = span_of(to);
    ground const source(from_span, std::byte{1}), target(to_span, std::byte{2});
    ground const row({0, size}, std::byte{3}), other_row({0, size}, std::byte{4});
    layout::stream const packing(from.type, from.count), unpacking(to.type, to.count);
    layout::copy_plan const known(to_tree, from_tree);
    // As peers read a form: its displacement 0 is the first byte that it touches.
    layout::segment const within{0, from_span.high - from_span.low};
    layout::placed sent = from_tree;
    sent.displacement -= from_span.low;
    std::byte* const sent_at = source.buffer() + from_span.low;
    auto const form = layout::serialize(sent);
    std::optional<layout::copy_plan> made;

    auto const pack = [&] { packing.pack(source.buffer(), 0, size, row.buffer()); };
    auto const unpack = [&] { unpacking.unpack(target.buffer(), 0, size, row.buffer()); };
    std::vector<subject> all;
    auto const add = [&](char const* name, char const* text, bool moves, std::function<void()> run) {
        all.push_back({{name, text, 0, moves}, std::move(run), 1, {}});
    };
    add("memcpy", "the same bytes, in a row", true, [&] { std::memcpy(other_row.buffer(), row.buffer(), bytes); });
    add("packing", "from the first layout into a row", true, pack);
    add("unpacking", "from a row into the second layout", true, unpack);
    add("writing", "writing the first layout down for a peer", false, [&] { (void)layout::serialize(sent); });
    add("reading", "reading and checking what was written", false, [&] { (void)layout::deserialize(form, from_tree.size(), within); });
    add("joining", "making the plan", false, [&] { made.emplace(to_tree, from_tree); });
    add("pack", "packed and unpacked", true, [&] { pack(), unpack(); });
    add("basic", "written, read, joined and copied by the plan", true, [&] {
        auto const words = layout::serialize(sent);
        layout::copy_plan(to_tree, layout::deserialize(words, from_tree.size(), within)).copy(target.buffer(), sent_at);
    });
    add("memo", "joined and copied by the plan", true, [&] {
        layout::copy_plan(to_tree, sent).copy(target.buffer(), sent_at);
    });
    add("optimized", "copied by a plan that is known", true, [&] { known.copy(target.buffer(), source.buffer()); });

    constexpr double turn_ns = 5e5;
    for (auto& s : all) {
        (void)time_of(s);
        s.often = static_cast<std::uint64_t>(std::clamp(turn_ns / std::max(time_of(s), 1.0), 1.0, 1e5));
    }
    auto const most = base::deadline(600ms);
    for (int turn = 0; turn < 41 && (turn < 3 || !most.passed()); ++turn)
        for (auto& s : all)
            s.ns.push_back(time_of(s));
    std::vector<layout_time> times;
    for (auto& s : all) {
        s.told.ns = median(s.ns);
        times.push_back(std::move(s.told));
    }
    return times;
}

} // namespace towline::tools
