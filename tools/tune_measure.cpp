// The two processes that measure. Each way is what the engine itself does when its sizes are set so that it has no other choice: a
// ping-pong of one lent block that is written anew before each send, as programs do. Rank 0 leads: it tells rank 1 the turn, then both
// play it. The ways of a question take turns, so that whatever else the machine does meanwhile hits all of them.

#include "tune.hpp"

#include "base/clock.hpp"
#include "crossing.hpp"
#include "engine/process_engine.hpp"
#include "engine/tuning.hpp"
#include "heap/heap.hpp"
#include "job/job.hpp"
#include "stats.hpp"
#include "towline/error.hpp"
#include "towline/version.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace towline::tools {

namespace {

using engine::thresholds::sizes;
using job::counter;
using namespace std::chrono_literals;

constexpr std::size_t never = std::size_t{1} << 40;
constexpr std::size_t largest = std::size_t{16} << 20;

enum class memory : std::uint32_t { shared, plain };

/// What both ranks do next.
struct turn {
    sizes chosen;
    std::uint64_t bytes = 0;
    std::uint32_t count = 0;  ///< there and back; 0: the end
    memory where = memory::shared;
};

class player {
public:
    player() : engine_(engine::process_engine(false, true)), other_(1 - engine_->rank())
    {
        turn_handler_ = engine_->add_handler(&on_turn, this);
        data_handler_ = engine_->add_handler(&on_data, this);
        for (auto& b : buffers_) {
            b.shared = static_cast<std::byte*>(heap::allocate(largest, 4096));
            void* const plain = ::mmap(nullptr, largest, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (plain == MAP_FAILED)
                throw system_error("memory to measure with", errno);
            b.plain = static_cast<std::byte*>(plain);
        }
    }

    /// Rank 0: plays a turn; nanoseconds for one way.
    double lead(turn const& t)
    {
        wait([this] { return sent_; });
        engine_->send_small(other_, turn_handler_, {reinterpret_cast<std::byte const*>(&t), sizeof t});
        begin(t);
        auto const from = base::monotonic_ns();
        for (std::uint32_t i = 0; i < t.count; ++i) {
            send();
            wait_for(i + 1);
        }
        return static_cast<double>(base::monotonic_ns() - from) / (2.0 * std::max(t.count, 1U));
    }

    /// Rank 1: plays what it is told, until the end.
    void follow()
    {
        for (std::uint64_t seen = 0;; ++seen) {
            wait([&] { return turns_ > seen; });
            std::uint32_t const count = now_.count;
            if (count == 0)
                return;
            for (std::uint32_t i = 0; i < count; ++i) {
                wait_for(i + 1);
                send();
            }
        }
    }

    /// Of this rank, in this job.
    [[nodiscard]] std::uint64_t counted(counter c)
    {
        engine_->publish_counts();
        return job::membership::instance().self().counters[static_cast<std::size_t>(c)].load();
    }

private:
    struct buffer {
        std::byte* shared = nullptr;
        std::byte* plain = nullptr;
        [[nodiscard]] std::byte* at(memory where) const { return where == memory::shared ? shared : plain; }
    };

    static void on_turn(void* self, engine::engine&, engine::incoming& m)
    {
        turn t;
        if (m.head().size() == sizeof t) {
            std::memcpy(static_cast<void*>(&t), m.head().data(), sizeof t);
            static_cast<player*>(self)->begin(t);
        }
    }
    static void on_data(void* self, engine::engine&, engine::incoming& m)
    {
        auto& p = *static_cast<player*>(self);
        m.fetch(0, p.buffers_[1].at(p.now_.where));
        engine::incoming::when_ready(
            std::move(m),
            [](void* context, bool ok, engine::incoming&) {
                auto& of = *static_cast<player*>(context);
                ++of.arrived_;
                of.failed_ = of.failed_ || !ok;
            },
            self);
    }

    /// The other rank hears of a turn before anything of it arrives.
    void begin(turn const& t)
    {
        now_ = t;
        arrived_ = 0;
        ++turns_;
        engine_->set_sizes(t.chosen);
    }
    void send()
    {
        wait([this] { return sent_; });
        std::byte* const data = buffers_[0].at(now_.where);
        for (std::size_t i = 0; i < now_.bytes; i += 64)
            data[i] = static_cast<std::byte>(stamp_);
        ++stamp_;
        sent_ = false;
        engine::block const b{data, now_.bytes, engine::lending::lend, false};
        engine_->send({.to = other_,
                       .handler = data_handler_,
                       .blocks = {&b, 1},
                       .sent = {[](void* self, bool) { static_cast<player*>(self)->sent_ = true; }, this}});
    }
    void wait_for(std::uint32_t number)
    {
        wait([this, number] { return arrived_ >= number || failed_; });
        if (failed_)
            throw error("a block did not arrive");
    }
    template <class Ready>
    void wait(Ready&& ready)
    {
        if (!engine_->wait(ready, "the other process that measures", 20s))
            throw error("the other process does not answer");
    }

    std::unique_ptr<engine::engine> engine_;
    engine::peer other_;
    engine::handler_id turn_handler_ = 0;
    engine::handler_id data_handler_ = 0;
    buffer buffers_[2];  ///< to send from, and to receive into
    turn now_{};
    std::uint64_t turns_ = 0;
    std::uint32_t arrived_ = 0;  ///< in this turn
    bool sent_ = true;
    bool failed_ = false;
    unsigned stamp_ = 0;
};

struct way {
    std::function<void(sizes&)> force;
    std::vector<counter> proof;  ///< of rank 0: together they grow by the bytes where the way was really taken
};

/// A threshold between two ways.
struct question {
    std::size_t sizes::*threshold;
    memory where;
    std::vector<std::size_t> at;
    std::size_t beyond;  ///< the answer where the second way never pays
    way below;
    way above;
    char const* ways;    ///< what the ratios in the file compare
};

/// A size that is one of some.
struct choice {
    std::size_t sizes::*size;
    memory where;
    std::size_t bytes;  ///< of the block
    std::vector<std::size_t> values;
    way by;             ///< where the size plays a part
};

constexpr std::size_t operator""_k(unsigned long long n) { return static_cast<std::size_t>(n) << 10; }

std::vector<question> const& questions()
{
    static std::vector<question> const all{
        {&sizes::map_lent,
         memory::shared,
         {256, 512, 1_k, 1536, 2_k, 3_k, 4_k, 5_k, 6_k, 7_k},
         8_k,
         {[](sizes& s) { s.map_lent = never; }, {counter::bytes_inline}},
         {[](sizes& s) { s.map_lent = 1; }, {counter::bytes_mapped}},
         "read in place / copied into the message"},
        {&sizes::attach_lent,
         memory::plain,
         {10_k, 12_k, 16_k, 24_k, 32_k, 48_k, 64_k, 96_k, 128_k, 256_k, 512_k, 1024_k, 2048_k, 4096_k},
         8192_k,
         {[](sizes& s) { s.attach_lent = never; }, {counter::bytes_staged}},
         {[](sizes& s) { s.attach_lent = 1; }, {counter::bytes_cma, counter::bytes_xpmem, counter::bytes_pushed}},
         "read from the sender's address space, or pushed / staged"},
        {&sizes::cooperate,
         memory::shared,
         {8_k, 12_k, 16_k, 24_k, 32_k, 48_k, 64_k, 128_k, 256_k, 1024_k},
         2048_k,
         {[](sizes& s) { s.map_lent = 1, s.cooperate = never, s.take_alone = 1; }, {counter::bytes_mapped}},
         {[](sizes& s) { s.map_lent = 1, s.cooperate = 1, s.take_alone = 1; }, {counter::bytes_mapped}},
         "copied by both sides / by the receiver alone"},
        {&sizes::take_alone,
         memory::shared,
         {32_k, 64_k, 128_k, 256_k, 512_k, 1024_k},
         2048_k,
         {[](sizes& s) { s.map_lent = 1, s.cooperate = 1, s.take_alone = never; }, {counter::bytes_mapped}},
         {[](sizes& s) { s.map_lent = 1, s.cooperate = 1, s.take_alone = 1; }, {counter::bytes_mapped}},
         "copied by both sides / by the receiver alone, which takes the lines"},
    };
    return all;
}

std::vector<choice> const& choices()
{
    auto const together = [](sizes& s) { s.map_lent = 1, s.cooperate = 1, s.take_alone = 1; };
    static std::vector<choice> const all{
        {&sizes::attach_chunk,
         memory::plain,
         4096_k,
         {64_k, 256_k, 1024_k, 4096_k},
         {[](sizes& s) { s.attach_lent = 1, s.push_most = 1; }, {counter::bytes_cma}}},
        {&sizes::share_least, memory::shared, 64_k, {4_k, 8_k, 16_k, 32_k}, {together, {counter::bytes_mapped}}},
        {&sizes::share_most, memory::shared, 2048_k, {32_k, 64_k, 128_k, 256_k, 512_k}, {together, {counter::bytes_mapped}}},
    };
    return all;
}

/// What came of one question.
struct answer {
    engine::tuning::threshold const* about;
    decision decided;
    std::vector<comparison> measured;
    char const* ways;
};

class director {
public:
    director(player& p, bool quick) : player_(p), quick_(quick) {}

    [[nodiscard]] std::vector<answer> run()
    {
        std::vector<answer> all;
        std::size_t const number = questions().size() + choices().size();
        for (auto const& q : questions())
            all.push_back(tell(ask(q), number, all.size()));
        for (auto const& c : choices())
            all.push_back(tell(ask(c), number, all.size()));
        (void)player_.lead({});
        return all;
    }

private:
    [[nodiscard]] static engine::tuning::threshold const& about(std::size_t sizes::*member)
    {
        auto const all = engine::tuning::table();
        return *std::find_if(all.begin(), all.end(), [&](auto const& t) { return t.value == member; });
    }

    answer tell(answer a, std::size_t number, std::size_t before)
    {
        std::size_t const shipped = sizes{}.*a.about->value;
        if (a.decided.value)
            best_.*a.about->value = *a.decided.value;
        bool const plain = a.decided.value || a.decided.why == "as shipped";
        fmt::print(stderr, "towline tune: {}/{} {}: {} ({})\n", before + 1, number, a.about->name, best_.*a.about->value,
                   plain ? a.decided.why : fmt::format("the shipped {}: {}", shipped, a.decided.why));
        return a;
    }

    /// As often as fits the time of a turn.
    [[nodiscard]] std::uint32_t count_for(turn t)
    {
        constexpr std::uint32_t most = 2000;
        t.count = 2;
        (void)player_.lead(t);  // first touches
        double const once = 2 * player_.lead(t);
        return static_cast<std::uint32_t>(std::clamp(turn_ns() / once, 1.0, static_cast<double>(most)));
    }
    /// Whether a turn goes by the way that was meant.
    [[nodiscard]] bool goes_by(turn t, std::vector<counter> const& proof)
    {
        auto const counted = [&] {
            std::uint64_t sum = 0;
            for (counter const c : proof)
                sum += player_.counted(c);
            return sum;
        };
        t.count = 1;
        std::uint64_t const before = counted();
        (void)player_.lead(t);
        return counted() - before >= t.bytes;
    }

    [[nodiscard]] answer ask(question const& q)
    {
        struct pair {
            turn below, above;
            std::vector<double> below_ns, above_ns;
        };
        std::vector<pair> pairs;
        for (std::size_t const bytes : q.at) {
            pair p;
            p.below = p.above = {best_, bytes, 1, q.where};
            q.below.force(p.below.chosen);
            q.above.force(p.above.chosen);
            if (!goes_by(p.below, q.below.proof) || !goes_by(p.above, q.above.proof))
                continue;
            p.below.count = p.above.count = count_for(p.below);
            pairs.push_back(std::move(p));
        }
        for_turns([&](bool odd) {
            for (auto& p : pairs) {
                if (odd)
                    p.above_ns.push_back(player_.lead(p.above));
                p.below_ns.push_back(player_.lead(p.below));
                if (!odd)
                    p.above_ns.push_back(player_.lead(p.above));
            }
        });
        answer a{&about(q.threshold), {}, {}, q.ways};
        for (auto const& p : pairs)
            a.measured.push_back(compare(p.below.bytes, p.below_ns, p.above_ns));
        a.decided = find_crossing(a.measured, sizes{}.*q.threshold, q.beyond);
        if (pairs.empty())
            a.decided.why = "not measured: one of the two ways does not work here";
        return a;
    }

    [[nodiscard]] answer ask(choice const& c)
    {
        answer a{&about(c.size), {}, {}, "time with this value / with the shipped one"};
        std::size_t const shipped = sizes{}.*c.size;
        turn usual{best_, c.bytes, 1, c.where};
        c.by.force(usual.chosen);
        if (!goes_by(usual, c.by.proof)) {
            a.decided.why = "not measured: this way does not work here";
            return a;
        }
        struct rival {
            turn with;
            std::vector<double> ns;
        };
        std::vector<rival> rivals;
        for (std::size_t const value : c.values) {
            rivals.push_back({usual, {}});
            rivals.back().with.chosen.*c.size = value;
            rivals.back().with.count = count_for(usual);
        }
        for_turns([&](bool odd) {
            for (std::size_t i = 0; i < rivals.size(); ++i) {
                auto& r = rivals[odd ? rivals.size() - 1 - i : i];
                r.ns.push_back(player_.lead(r.with));
            }
        });
        auto const base = std::find_if(rivals.begin(), rivals.end(), [&](rival const& r) { return r.with.chosen.*c.size == shipped; });
        for (auto const& r : rivals)
            if (&r != &*base)
                a.measured.push_back(compare(r.with.chosen.*c.size, base->ns, r.ns));
        a.decided = find_best(a.measured, shipped);
        return a;
    }

    template <class Turn>
    void for_turns(Turn&& play)
    {
        auto const most = base::deadline(quick_ ? 1000ms : 3500ms);
        int const turns = quick_ ? 15 : 151;
        for (int i = 0; i < turns && (i < 5 || !most.passed()); ++i)
            play(i % 2 != 0);
    }
    [[nodiscard]] double turn_ns() const noexcept { return quick_ ? 3e5 : 1e6; }

    player& player_;
    bool quick_;
    sizes best_{};
};

std::string text_of(std::vector<answer> const& answers, double seconds)
{
    auto const here = engine::tuning::this_machine();
    auto const [major, minor, patch] = library_version();
    std::time_t const now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::array<char, 32> when{};
    std::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    std::string text = fmt::format("# Written by `towline tune` {}.{}.{} in {:.1f} s. `towline info` says what each line means; what is\n"
                                   "# missing is as shipped. TOWLINE_TUNING=off ignores this file, and so does another machine.\n\n"
                                   "[machine]\nprocessor = \"{}\"\ncores = {}\nkernel = \"{}\"\nwhen = \"{}\"\n\n[thresholds]  # bytes\n",
                                   major, minor, patch, seconds, here.processor, here.cores, here.kernel, when.data());
    for (auto const& a : answers) {
        std::string ratios;
        for (auto const& m : a.measured)
            ratios += fmt::format("{}{}: {:.2f}{}", ratios.empty() ? "" : ", ", human_bytes(m.size), m.ratio, m.clear ? "" : "?");
        if (!ratios.empty())
            text += fmt::format("# {} (? not clear): {}\n", a.ways, ratios);
        if (a.decided.value)
            text += fmt::format("{} = {}  # {}\n", a.about->name, *a.decided.value, a.decided.why);
        else
            text += fmt::format("# {} = {}  # {}\n", a.about->name, sizes{}.*a.about->value, a.decided.why);
    }
    return text;
}

/// Whole, or not at all.
void write_tuning(std::string const& path, std::string const& text)
{
    std::string const fresh = fmt::format("{}.new-{}", path, ::getpid());
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(fresh.c_str(), "we"), &std::fclose);
    bool good = file && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size() && std::fflush(file.get()) == 0;
    int why = errno;
    if (good && std::rename(fresh.c_str(), path.c_str()) != 0) {
        good = false;
        why = errno;
    }
    if (!good) {
        std::remove(fresh.c_str());
        throw system_error("writing " + path, why);
    }
}

} // namespace

int tune_as_rank(tune_options const& options)
{
    auto& job = job::membership::instance();
    if (job.size() != 2)
        throw usage_error("--as-rank is for the two processes that towline tune starts");
    player both;
    if (job.rank() != 0) {
        both.follow();
        return 0;
    }
    auto const here = engine::tuning::this_machine();
    fmt::print(stderr, "towline tune: measuring {}, {} cores, kernel {}; at most {} s, best while nothing else runs\n", here.processor,
               here.cores, here.kernel, options.quick ? 8 : 30);
    auto const from = base::monotonic_ns();
    director leader(both, options.quick);
    auto const answers = leader.run();
    double const seconds = static_cast<double>(base::monotonic_ns() - from) / 1e9;
    write_tuning(options.output, text_of(answers, seconds));
    auto const moved = std::count_if(answers.begin(), answers.end(), [](answer const& a) { return a.decided.value.has_value(); });
    fmt::print(stderr, "towline tune: {} of {} differ from what is shipped; written to {} after {:.1f} s\n", moved, answers.size(),
               options.output, seconds);
    return 0;
}

} // namespace towline::tools
