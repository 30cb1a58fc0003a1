// Operations over lanes whose blocks are of any size: gatherv, scatterv, alltoallv and those of neighbours.

#include "collective/lanes/lane_builder.hpp"
#include "collective/lanes/lane_tables.hpp"
#include "unit/collective/list_jobs.hpp"
#include "unit/collective/threads.hpp"

#include <algorithm>
#include <array>
#include <span>

using namespace simulated;
using state = col::lane_run::state;

namespace {

constexpr std::uint64_t KiB = 1024;

struct lists : testing::Test {
    std::uint64_t const seed = base_seed();
    testing::ScopedTrace const trace{__FILE__, __LINE__, "seed " + std::to_string(seed)};
};

std::function<void(col::schedule&, col::team&, int)> builder_of(std::vector<list_job>& jobs)
{
    return [&jobs](col::schedule& s, col::team& t, int i) { jobs[static_cast<std::size_t>(i)].build(s, t); };
}

/// Makes one rank expect less than comes, or another give less than is expected. The rank that cannot get what it expects; -1: nobody.
int spoil(std::vector<list_job>& jobs, list_jobs& draw)
{
    auto const victim = static_cast<std::size_t>(draw.below(jobs.size()));
    list_job& j = jobs[victim];
    auto const less = [&](std::uint64_t& bytes) { bytes = bytes < 2 ? bytes : 1 + draw.below(bytes - 1); };
    auto const root = static_cast<std::size_t>(j.root);
    switch (j.what) {
    case list_operation::gatherv: {
        std::uint64_t& given = j.send_counts[0];
        if (victim == root || given < 2)
            return -1;
        if (draw.below(3) == 0)
            given = 0;
        else
            less(draw.below(2) == 0 ? given : jobs[root].counts[victim]);
        return j.root;
    }
    case list_operation::scatterv: {
        std::uint64_t& given = jobs[root].send_counts[victim];
        if (victim == root || given < 2)
            return -1;
        if (draw.below(3) == 0)
            given = 0;
        else
            less(draw.below(2) == 0 ? given : j.counts[0]);
        return static_cast<int>(victim);
    }
    case list_operation::alltoallv: {
        std::size_t const from = (victim + 1 + draw.below(jobs.size() - 1)) % jobs.size();
        if (j.counts[from] < 2)
            return -1;
        less(j.counts[from]);
        return static_cast<int>(victim);
    }
    case list_operation::neighbour_allgatherv:
    case list_operation::neighbour_alltoallv:
        for (std::size_t i = 0; i < j.sources.size(); ++i) {
            if (j.sources[i] < 0 || j.counts[i] < 2)
                continue;
            less(j.counts[i]);
            return static_cast<int>(victim);
        }
        return -1;
    default: return -1;
    }
}

} // namespace

TEST_F(lists, every_operation_and_size_goes_over_lanes)
{
    for (int const p : {2, 3, 4, 5, 9}) {
        for (std::uint64_t turn = 0; turn < 120; ++turn) {
            std::mt19937_64 random(seed + turn * 1000 + static_cast<std::uint64_t>(p));
            world w(p, 0, seed + turn, true);
            list_jobs draw(random, p, p < 5 && turn % 4 == 0 ? 300 * KiB : 9000);
            auto jobs = draw.draw();
            w.run(builder_of(jobs));
            if (HasFatalFailure())
                return;
            expect_jobs(jobs, std::to_string(p) + " ranks, turn " + std::to_string(turn));
            ASSERT_EQ(w.net.messages, 0u);
        }
    }
}

TEST_F(lists, many_are_under_way)
{
    constexpr int p = 4;
    constexpr std::size_t many = 80;
    for (std::uint64_t turn = 0; turn < 3; ++turn) {
        std::mt19937_64 random(seed + turn);
        world w(p, 0, seed + turn, true);
        list_jobs draw(random, p, 20 * KiB);
        std::vector<std::vector<list_job>> jobs;
        for (std::size_t n = 0; n < many; ++n)
            jobs.push_back(draw.draw());
        // Each rank starts its own in the same order; how far the others are is chance.
        std::vector<std::vector<std::unique_ptr<operation>>> all(p);
        std::size_t idle = 0;
        auto const is_over = [&](auto const& mine) {
            return mine.size() == many && std::ranges::all_of(mine, [](auto const& o) { return o->done(); });
        };
        while (!std::ranges::all_of(all, is_over) && ++idle < 100000) {
            auto const i = static_cast<std::size_t>(w.net.draw(p));
            auto& mine = all[i];
            if (std::size_t const n = mine.size(); n < many && w.net.draw(4) == 0) {
                col::team& t = w.teams[i];
                mine.push_back(std::make_unique<operation>());
                mine.back()->schedule().allow(t.lanes());
                jobs[n][i].build(mine.back()->schedule(), t);
                mine.back()->start(w.end(static_cast<int>(i)), t, t.next_sequence());
            }
            for (auto const& o : mine)
                (void)o->poll();
        }
        ASSERT_LT(idle, 100000u) << "hangs";
        for (auto const& mine : all)
            for (auto const& o : mine)
                ASSERT_EQ(o->result(), col::ending::ok);
        for (std::size_t n = 0; n < many; ++n)
            expect_jobs(jobs[n], "number " + std::to_string(n));
    }
}

TEST_F(lists, different_sizes_end_as_a_mismatch_and_the_next_operation_is_well)
{
    std::array<int, static_cast<std::size_t>(list_operation::count_)> spoiled{};
    for (int const p : {2, 3, 5}) {
        for (std::uint64_t turn = 0; turn < 400; ++turn) {
            std::mt19937_64 random(seed + turn * 1000 + static_cast<std::uint64_t>(p));
            world w(p, 0, seed + turn, true);
            list_jobs draw(random, p, turn % 8 == 0 ? 100 * KiB : 3000);
            auto jobs = draw.draw();
            int const victim = spoil(jobs, draw);
            {
                auto operations = w.make(builder_of(jobs));
                w.start(operations);
                w.run_dry(operations);
                for (std::size_t i = 0; i < operations.size(); ++i) {
                    ASSERT_TRUE(operations[i]->done()) << i << " hangs, turn " << turn;
                    auto const how = operations[i]->result();
                    bool const must_fail = static_cast<int>(i) == victim;
                    EXPECT_TRUE(how == col::ending::mismatch || (!must_fail && how == col::ending::ok))
                        << "rank " << i << " of " << p << ", turn " << turn << ", operation " << static_cast<int>(jobs[0].what);
                    ASSERT_TRUE(jobs[i].data.receive.intact() && jobs[i].data.send.intact());
                    ASSERT_TRUE(jobs[i].data.send.content() == jobs[i].data.send_after);
                }
            }
            if (victim >= 0)
                ++spoiled[static_cast<std::size_t>(jobs[0].what)];
            auto next = draw.draw();
            w.run(builder_of(next));
            if (HasFatalFailure())
                return;
            expect_jobs(next, "behind the mismatch");
        }
    }
    for (auto const what : {list_operation::gatherv, list_operation::scatterv, list_operation::alltoallv,
                            list_operation::neighbour_allgatherv, list_operation::neighbour_alltoallv})
        EXPECT_NE(spoiled[static_cast<std::size_t>(what)], 0);
}

TEST_F(lists, both_ranks_of_a_lent_block_are_told_that_its_size_differs)
{
    std::vector<std::byte> in(202 * KiB), out(202 * KiB);
    for (int const what : {0, 1, 2}) {
        world w(3, 0, seed, true);
        std::vector<std::uint64_t> const offsets{0, 0, 100 * KiB}, nothing{0, 0, 0};
        auto operations = w.make([&](col::schedule& s, col::team& t, int i) {
            // Rank 2 gives rank 0 a KiB more than that expects.
            std::uint64_t const given = i == 0 ? 0 : i == 1 ? 100 * KiB : 101 * KiB;
            std::vector<std::uint64_t> const expected{0, 100 * KiB, 100 * KiB}, gives{given, 0, 0};
            if (what == 0)
                return col::build(s, t, col::gatherv(in.data(), given, out.data(), expected, offsets, 0));
            std::vector<std::uint64_t> const& get = i == 0 ? expected : nothing;
            if (what == 1)
                return col::build(s, t, col::alltoallv(in.data(), gives, nothing, out.data(), get, offsets));
            std::vector<int> const zero{0}, others{1, 2};
            std::vector<std::uint64_t> const sizes{100 * KiB, 100 * KiB}, places{0, 100 * KiB};
            if (i == 0)
                return col::build(s, t, col::exchange({others, {}}, nullptr, {0, 0}, out.data(), {sizes, places}));
            col::build(s, t, col::exchange({{}, zero}, in.data(), {given, 0}, nullptr, col::layout_of_blocks()));
        });
        w.start(operations);
        w.run_dry(operations);
        for (std::size_t const i : {0u, 2u}) {
            ASSERT_TRUE(operations[i]->done());
            EXPECT_EQ(operations[i]->result(), col::ending::mismatch) << "operation " << what << ", rank " << i;
        }
        EXPECT_TRUE(operations[1]->done());
    }
}

namespace {

/// Operations that rank 0 begins, and the others later.
class one_by_one {
public:
    one_by_one(world& w, std::function<void(col::schedule&, col::team&, int)> const& build) : world_(w), all_(w.make(build)) {}
    void start(std::size_t i)
    {
        all_[i]->start(world_.end(static_cast<int>(i)), world_.teams[i], world_.teams[i].next_sequence());
        world_.run_dry(all_);
    }
    [[nodiscard]] bool done(std::size_t i) const { return all_[i]->done(); }
    [[nodiscard]] col::ending result(std::size_t i) const { return all_[i]->result(); }

private:
    world& world_;
    std::vector<std::unique_ptr<operation>> all_;
};

} // namespace

TEST_F(lists, who_copied_goes_on_and_who_lent_stays)
{
    std::vector<std::byte> in(200 * KiB), out(200 * KiB);
    for (std::uint64_t turn = 0; turn < 20; ++turn) {
        for (std::uint64_t const n : {std::uint64_t{1}, 100 * KiB}) {
            bool const is_big = n > col::lanes::payload_bytes;
            std::vector<std::uint64_t> const counts{0, n, n}, offsets{0, 0, n};
            {
                world w(3, 0, seed + turn, true);
                one_by_one o(w, [&](col::schedule& s, col::team& t, int i) {
                    col::build(s, t, col::scatterv(in.data(), counts, offsets, out.data() + (i == 2 ? n : 0), i == 0 ? 0 : n, 0));
                });
                o.start(0);
                EXPECT_TRUE(!is_big || !o.done(0)) << "two have not read";
                o.start(1);
                EXPECT_TRUE(!is_big || !o.done(0)) << "one has not read";
                EXPECT_TRUE(o.done(1));
                o.start(2);
                EXPECT_TRUE(o.done(0) && o.done(2));
            }
            world w(3, 0, seed + turn, true);
            one_by_one o(w, [&](col::schedule& s, col::team& t, int i) {
                col::build(s, t, col::gatherv(in.data(), i == 0 ? 0 : n, out.data(), counts, offsets, 0));
            });
            o.start(1);
            EXPECT_TRUE(!is_big || !o.done(1)) << "nobody has said where its block belongs";
            o.start(0);
            EXPECT_FALSE(o.done(0)) << "one block has not come";
            EXPECT_TRUE(!is_big || o.done(1)) << "who writes waits for no other";
            o.start(2);
            EXPECT_TRUE(o.done(0) && o.done(1) && o.done(2));
        }
    }
}

namespace {

/// Two ranks, whose operations are run by hand.
struct two {
    two()
    {
        std::vector<std::uint64_t> const words{l[0].own_word(), l[1].own_word()};
        for (col::lanes& each : l)
            EXPECT_TRUE(each.open(words));
    }
    /// As far as it goes.
    struct run {
        run(two& t, int rank, std::function<void(col::schedule&, col::team&)> const& build)
        {
            s.allow(&t.l[rank]);
            col::team who(7, rank, {.size = 2});
            build(s, who);
            r.start(t.l[rank], s.lane_operation());
        }
        [[nodiscard]] state advance() { return r.advance(s.lane_steps(), s.operation()); }
        col::schedule s;
        col::lane_run r;
    };

    threads_memory memory;
    static constexpr col::lanes::limits limits{.payloads = 8};
    col::lanes l[2]{{memory, 0, {0, 1}, limits}, {memory, 1, {0, 1}, limits}};
};

} // namespace

TEST_F(lists, who_copies_runs_ahead_as_far_as_there_is_room)
{
    constexpr std::uint64_t beside = col::lanes::slot_bytes - sizeof(col::lane_entry);
    for (std::uint64_t const n : {beside, beside + 1}) {  // beside the entry in the slot, or behind it
        std::uint64_t const most = n == beside ? two::limits.slots : two::limits.payloads;
        two t;
        std::vector<std::uint64_t> const none{0, 0}, given{0, n}, taken{n, 0};
        std::vector<bytes> out;
        std::deque<two::run> ahead;
        for (std::uint64_t k = 0; k <= most; ++k) {
            out.push_back(filled(n, k));
            ahead.emplace_back(t, 0, [&](auto& s, auto& who) { col::build(s, who,
                col::alltoallv(out[k].data(), given, none, nullptr, none, none)); });
            ASSERT_EQ(ahead.back().advance(), k < most ? state::ended : state::waits) << k;
        }
        for (std::uint64_t k = 0; k <= most; ++k) {
            bytes in(n);
            two::run r(t, 1, [&](auto& s, auto& who) { col::build(s, who, col::alltoallv(nullptr, none, none, in.data(), taken, none)); });
            ASSERT_EQ(r.advance(), state::ended);
            EXPECT_EQ(in, out[k]);
            if (k == 0) {
                ASSERT_EQ(ahead.back().advance(), state::ended);
            }
        }
    }
}

TEST_F(lists, what_was_lent_long_ago_is_not_written)
{
    two t;
    bytes const data = filled(100 * KiB, 1);
    guarded first(data.size());
    std::vector<std::uint64_t> const counts{0, data.size()}, none{0, 0};
    auto const scatter = [&](std::vector<std::uint64_t> const& given, void* to, std::uint64_t expected, state how) {
        two::run root(t, 0, [&](auto& s, auto& who) { col::build(s, who, col::scatterv(data.data(), given, none, nullptr, 0, 0)); });
        two::run other(t, 1, [&](auto& s, auto& who) { col::build(s, who, col::scatterv(nullptr, {}, {}, to, expected, 0)); });
        state left = state::waits, right = state::waits;
        for (int i = 0; i < 9 && (left == state::waits || right == state::waits); ++i) {
            left = left == state::waits ? root.advance() : left;
            right = right == state::waits ? other.advance() : right;
        }
        EXPECT_EQ(left, how);
        EXPECT_EQ(right, state::ended);
    };
    scatter(counts, first.data(), data.size(), state::ended);
    EXPECT_EQ(first.content(), data);
    for (std::uint64_t n = 1; n < two::limits.slots; ++n)
        scatter(none, nullptr, 0, state::ended);
    first = guarded(data.size());
    scatter(counts, nullptr, 0, state::failed_mismatch);
    EXPECT_EQ(first.content(), guarded(data.size()).content());
}

TEST_F(lists, who_has_failed_takes_back_what_others_have_not_begun_to_write)
{
    world w(3, 0, seed, true);
    std::vector<std::uint64_t> const expected{0, 8, 100 * KiB}, offsets{0, 0, 8};
    std::vector<std::byte> in(100 * KiB), out(100 * KiB + 8);
    one_by_one o(w, [&](col::schedule& s, col::team& t, int i) {
        col::build(s, t, col::gatherv(in.data(), i == 0 ? 0 : i == 1 ? 7 : 100 * KiB, out.data(), expected, offsets, 0));
    });
    o.start(1);
    o.start(0);
    EXPECT_TRUE(o.done(1));
    EXPECT_TRUE(o.done(0)) << "rank 2 is not writing";
    o.start(2);
    ASSERT_TRUE(o.done(0) && o.done(2));
    EXPECT_EQ(o.result(0), col::ending::mismatch);
    EXPECT_EQ(o.result(2), col::ending::mismatch);
}

TEST_F(lists, a_death_at_any_moment_ends_all_who_are_alive)
{
    std::array<int, static_cast<std::size_t>(list_operation::count_)> troubled{};
    for (int const p : {2, 3, 5, 9}) {
        for (std::uint64_t turn = 0; turn < 200; ++turn) {
            std::mt19937_64 random(seed + turn * 1000 + static_cast<std::uint64_t>(p));
            world w(p, 0, seed + turn, true);
            list_jobs draw(random, p, turn % 8 == 0 && p < 5 ? 100 * KiB : 3000);
            auto jobs = draw.draw();
            auto operations = w.make(builder_of(jobs));
            int const victim = static_cast<int>(draw.below(static_cast<std::uint64_t>(p)));
            bool const before = turn % 3 == 0;
            if (before)
                w.net.kill(w.peer_of_member(victim));
            w.start(operations);
            for (std::uint64_t steps = before ? 0 : w.net.draw(20); steps != 0; --steps)
                (void)w.step(operations);
            if (!before)
                w.net.kill(w.peer_of_member(victim));
            w.run_dry(operations);
            for (int i = 0; i < p; ++i) {
                auto const& o = *operations[static_cast<std::size_t>(i)];
                if (i == victim)
                    continue;
                ASSERT_TRUE(o.done()) << i << " of " << p << " hangs without " << victim << ", turn " << turn << ", operation "
                                      << static_cast<int>(jobs[0].what);
                if (o.result() == col::ending::ok)
                    continue;
                EXPECT_EQ(o.result(), col::ending::peer_died);
                ++troubled[static_cast<std::size_t>(jobs[0].what)];
            }
        }
    }
    for (int const n : troubled)
        EXPECT_NE(n, 0);
}

TEST_F(lists, more_neighbours_than_a_payload_has_entries)
{
    constexpr std::size_t many = 3000;
    for (std::size_t const n : {std::size_t{0}, std::size_t{3}, std::size_t{100}}) {
        for (std::uint64_t turn = 0; turn < 4; ++turn) {
            world w(3, 0, seed + turn, true);
            std::vector<part> parts(3);
            std::vector<int> sources[3], destinations[3];
            for (std::size_t i = 0; i < 3; ++i) {
                std::size_t met[3] = {};
                for (std::size_t k = 0; k < many; ++k) {
                    destinations[i].push_back(static_cast<int>((i + k) % 3));
                    append(parts[i].send_after, filled(n, i, k));
                    // The k-th of its blocks is for rank (from + k) % 3.
                    std::size_t const from = (i + 2 * k) % 3;
                    sources[i].push_back(static_cast<int>(from));
                    append(parts[i].receive_after, filled(n, from, (i + 3 - from) % 3 + 3 * met[from]++));
                }
                parts[i].send = guarded(parts[i].send_after);
                parts[i].receive = guarded(parts[i].receive_after.size());
            }
            w.run([&](col::schedule& s, col::team& t, int i) {
                auto const at = static_cast<std::size_t>(i);
                col::build(s, t,
                    col::exchange({sources[at], destinations[at]}, parts[at].send.data(), col::layout_of_blocks(n),
                    parts[at].receive.data(), col::layout_of_blocks(n)));
            });
            expect_parts(parts, std::to_string(n) + " bytes");
        }
    }
}

TEST_F(lists, among_threads)
{
    constexpr std::size_t turns = 150;
    for (col::lanes::limits const limits : {col::lanes::limits{}, col::lanes::limits{.posted = 1024, .shown = 8192}, {0, 0}}) {
        for (int const p : {2, 3, 4, 7}) {
            std::mt19937_64 random(seed + static_cast<std::uint64_t>(p));
            list_jobs draw(random, p, p < 4 ? 300 * KiB : 40 * KiB);
            std::vector<std::vector<list_job>> jobs;
            for (std::size_t n = 0; n < turns; ++n)
                jobs.push_back(draw.draw());
            threads_memory memory(seed | 1);
            among_threads(memory, p, limits, [&](std::unique_ptr<col::lanes> l, int rank) {
                col::lanes& mine = *l;
                col::team t(7, rank, {.size = p});
                t.set_lanes(std::move(l));
                col::schedule s;
                for (auto& job : jobs) {
                    s.clear();
                    s.allow(&mine);
                    job[static_cast<std::size_t>(rank)].build(s, t);
                    col::lane_run run;
                    run.start(mine, s.lane_operation());
                    for (state how = state::waits; how != state::ended; how = run.advance(s.lane_steps(), s.operation())) {
                        ASSERT_EQ(how, state::waits);
                        std::this_thread::yield();
                    }
                }
            });
            for (std::size_t n = 0; n < turns; ++n)
                expect_jobs(jobs[n], "turn " + std::to_string(n));
            EXPECT_GT(memory.all.posted, 0u);
            EXPECT_GT(memory.all.moved, 0u);
        }
    }
}

namespace {

/// Rank 1 of two, which expects eight bytes from rank 0 of which it knows nothing good, and of which we write the slot.
struct damaged_lanes {
    damaged_lanes()
    {
        memory.only_allocated = true;
        all = opened_lanes(memory, 2);
    }

    [[nodiscard]] col::lanes::slot& slot() { return all[0]->mine(1); }
    static void entries(std::byte* at, std::vector<col::lane_entry> const& e) { std::ranges::copy(std::as_bytes(std::span(e)), at); }
    void offer(col::lanes::offer o, std::uint64_t n)
    {
        slot().set({o, n, operation});
        all[0]->publish(1, 1, 1);
    }
    void in_slot(std::vector<col::lane_entry> const& e)
    {
        entries(slot().contents(), e);
        offer(col::lanes::offer::table_in_slot, e.size());
    }
    void behind(std::vector<col::lane_entry> const& e)
    {
        entries(all[0]->my_payload(1), e);
        offer(col::lanes::offer::table_behind, e.size());
    }

    state run(std::function<void(col::schedule&, col::team&)> const& build)
    {
        col::lanes& good = *all[1];
        col::team t(7, 1, {.size = 2});
        col::schedule s;
        s.allow(&good);
        build(s, t);
        col::lane_run r;
        r.start(good, s.lane_operation());
        state how = state::waits;
        for (int i = 0; i < 1000 && how == state::waits; ++i)
            how = r.advance(s.lane_steps(), s.operation());
        return how;
    }
    state take()
    {
        std::vector<std::uint64_t> const none{0, 0}, eight{8, 0};
        state const how =
            run([&](auto& s, auto& t) { col::build(s, t, col::alltoallv(nullptr, none, none, landing.data(), eight, none)); });
        EXPECT_TRUE(landing.intact());
        return how;
    }

    threads_memory memory;
    std::vector<std::unique_ptr<col::lanes>> all;
    col::called operation{col::routine::alltoallv, -1};  ///< of rank 0
    guarded landing{8};
};

using entry = col::lane_entry;
using offer_kind = col::lanes::offer;
constexpr std::uint64_t first_copy = sizeof(entry);

} // namespace

TEST(damaged, tables_that_are_good_are_taken)
{
    bytes const data = filled(8, 1);
    damaged_lanes d;
    std::memcpy(d.slot().contents() + first_copy, data.data(), data.size());
    d.in_slot({{1, entry::copied, first_copy, 8}});
    EXPECT_EQ(d.take(), state::ended);
    EXPECT_EQ(d.landing.content(), data);
}

TEST(damaged, blocks_for_others_of_another_size_or_kind_are_a_mismatch)
{
    std::vector<std::vector<entry>> const tables{{},
                                                 {{0, entry::copied, first_copy, 8}},
                                                 {{-1, entry::copied, first_copy, 8}, {2, entry::copied, first_copy, 8}},
                                                 {{1, entry::copied, first_copy, 9}},
                                                 {{1, entry::copied, first_copy, 0}},
                                                 {{1, entry::written, first_copy, 8}},
                                                 {{1, 77, first_copy, 8}}};
    for (auto const& table : tables) {
        for (bool const long_way : {false, true}) {
            damaged_lanes d;
            long_way ? d.behind(table) : d.in_slot(table);
            EXPECT_EQ(d.take(), state::failed_mismatch);
        }
    }
    for (auto const what : {offer_kind::nothing, offer_kind::in_slot, offer_kind::behind, offer_kind::lent}) {
        damaged_lanes d;
        d.offer(what, 8);
        EXPECT_EQ(d.take(), state::failed_mismatch);
    }
}

TEST(damaged, nothing_outside_is_read)
{
    auto const room = col::lanes::payload_bytes;
    auto const expect_lost = [](auto&& damage) {
        damaged_lanes d;
        damage(d);
        EXPECT_EQ(d.take(), state::failed_lost);
    };
    for (std::uint64_t const where : {std::uint64_t{0}, first_copy - 1, room - 7, room, room + 1, ~std::uint64_t{0}, ~std::uint64_t{7}})
        expect_lost([&](auto& d) { d.behind({{1, entry::copied, where, 8}}); });
    for (std::uint64_t const where : {std::uint64_t{0}, first_copy - 1, col::lanes::slot_bytes - 7, room - 8})
        expect_lost([&](auto& d) { d.in_slot({{1, entry::copied, where, 8}}); });
    for (std::uint64_t const word : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 47, ~std::uint64_t{0}}) {
        expect_lost([&](auto& d) { d.in_slot({{1, entry::read, word, 8}}); });
        expect_lost([&](auto& d) {
            d.slot().send = word;
            d.offer(offer_kind::table_lent, 1);
        });
    }
    for (std::uint64_t const count : {std::uint64_t{683}, std::uint64_t{1} << 32, ~std::uint64_t{0} >> 19}) {
        expect_lost([&](auto& d) { d.offer(offer_kind::table_in_slot, count); });
        expect_lost([&](auto& d) { d.offer(offer_kind::table_behind, count); });
        expect_lost([&](auto& d) {
            d.slot().send = d.memory.find(d.all[0]->my_payload(1), 1);
            d.offer(offer_kind::table_lent, std::min(count * 1000, ~std::uint64_t{0} >> 19));
        });
    }
    expect_lost([&](auto& d) { d.offer(offer_kind::table_in_slot, 11); });
}

TEST(damaged, tables_in_any_order_end)
{
    std::uint64_t const seed = base_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int turn = 0; turn < 300; ++turn) {
        damaged_lanes d;
        std::vector<entry> table(random() % 680);
        for (entry& e : table)
            e = {static_cast<int>(random() % 5) - 1, static_cast<std::uint32_t>(random() % 4), random() % 17000, random() % 3 * 4};
        d.behind(table);
        EXPECT_NE(d.take(), state::waits);
    }
}

TEST(damaged, nothing_outside_is_written)
{
    std::vector<std::byte> const big(100 * KiB);
    auto const push = [&](damaged_lanes& d) {
        return d.run([&](auto& s, auto& t) { col::build(s, t, col::gatherv(big.data(), big.size(), nullptr, {}, {}, 0)); });
    };
    // Of two ranks, where this one lends, too, and the other reads nothing.
    for (bool const has_left : {false, true}) {
        damaged_lanes d;
        d.slot().receive = ~std::uint64_t{0} / 2;
        d.slot().receive_size = big.size();
        d.operation = {col::routine::gatherv, 0};
        d.offer(offer_kind::lent, 0);
        if (has_left)
            d.all[0]->publish(1, 2, 1);
        EXPECT_EQ(push(d), state::failed_lost);
    }
    for (std::uint64_t const word : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        damaged_lanes d;
        d.operation = {};
        d.behind({{1, entry::written, word, big.size()}});
        EXPECT_EQ(d.run([&](auto& s, auto&) {
            col::lane_builder b(s, false);
            b.push_block(0, big.data(), big.size());
        }),
                  state::failed_lost);
    }
}
