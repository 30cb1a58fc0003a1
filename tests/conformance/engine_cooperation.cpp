// Blocks that sender and receiver move together, both at work at the same time: those of the heap are copied from both ends, plain memory
// is pushed. Alone, late, both directions at once, from many threads, and with a kill in the middle.

#include "base/machine.hpp"
#include "conformance/engine_worlds.hpp"

#include <csignal>
#include <cstring>
#include <ctime>
#include <vector>

using namespace engine_worlds;
namespace heap = towline::heap;

namespace {

enum class memory { arena, plain };

std::byte* get(memory kind, std::size_t size)
{
    return kind == memory::arena ? static_cast<std::byte*>(heap::allocate(size)) : static_cast<std::byte*>(std::malloc(size));
}
void put(memory kind, std::byte* block)
{
    if (kind == memory::arena)
        heap::deallocate(block);
    else
        std::free(block);
}

/// Fetches what comes; the head is the pattern's number.
struct catcher {
    memory kind = memory::arena;
    eng::incoming::pace pace = eng::incoming::pace::usual;
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> lagged{0};  ///< had not ended when fetch returned
    std::atomic<bool> wrong{false};

    struct landing {
        catcher* self;
        std::byte* into;
        std::size_t size;
        std::uint64_t number;
    };
    static void on(void* context, eng::engine&, eng::incoming& m)
    {
        auto& self = *static_cast<catcher*>(context);
        ++self.begun;
        std::uint64_t number = 0;
        std::memcpy(&number, m.head().data(), sizeof number);
        std::size_t const size = m.block_size(0);
        // Not at the begin of a block, nor of a line.
        auto* l = new landing{&self, get(self.kind, size + 128), size, number};
        std::memset(l->into, 0, 128);
        std::memset(l->into + size, 0, 128);
        m.fetch(0, l->into + 100, self.pace);
        self.lagged += m.ready() ? 0 : 1;
        eng::incoming::when_ready(
            std::move(m),
            [](void* c, bool ok, eng::incoming&) {
                std::unique_ptr<landing> const done(static_cast<landing*>(c));
                if (!ok)
                    ++done->self->failed;
                else if (!filled(done->into + 100, done->size, done->number))
                    done->self->wrong = true;
                for (std::size_t i = 0; i < 100; ++i)
                    done->self->wrong = done->self->wrong || done->into[i] != std::byte{0};
                for (std::size_t i = done->size + 100; i < done->size + 128; ++i)
                    done->self->wrong = done->self->wrong || done->into[i] != std::byte{0};
                put(done->self->kind, done->into);
                ++done->self->ended;
            },
            l);
    }
};

/// Lends a block, and spoils it as soon as that is allowed.
struct loan {
    memory kind = memory::arena;
    std::byte* kept = nullptr;  ///< memory of the caller's for the block
    std::byte* data = nullptr;
    std::size_t size = 0;
    std::atomic<bool> back{false};
    std::atomic<bool> ok{false};

    void send(eng::engine& e, peer to, eng::handler_id id, std::size_t bytes, std::uint64_t number)
    {
        size = bytes;
        data = (kept != nullptr ? kept : get(kind, size + 64)) + 8;
        fill(data, size, number);
        eng::block const b{data, size, eng::lending::lend, false};
        e.send({.to = to, .handler = id, .head = std::as_bytes(std::span(&number, 1)), .blocks = {&b, 1}, .sent = {&loan::on_sent, this}});
    }
    static void on_sent(void* c, bool fine)
    {
        auto& self = *static_cast<loan*>(c);
        std::memset(self.data, 0xee, self.size);
        if (self.kept == nullptr)
            put(self.kind, self.data - 8);
        self.ok = fine;
        self.back = true;
    }
};

struct place {
    fabric world;
    memory kind;
};

class engine_cooperation : public testing::TestWithParam<place> {
protected:
    static void run(body const& f)
    {
        options o;
        o.oversubscribed = false;  // where cores are shared nobody cooperates
        o.cores = 4;
        run_ranks(GetParam().world, 2, o, f);
    }
};
INSTANTIATE_TEST_SUITE_P(over, engine_cooperation,
                         testing::Values(place{fabric::shm_threads, memory::arena}, place{fabric::shm_processes, memory::arena},
                                         place{fabric::shm_threads, memory::plain}, place{fabric::shm_processes, memory::plain}),
                         [](auto const& p) { return name_of(p.param.world) + (p.param.kind == memory::plain ? "_plain" : ""); });

/// Whether a sender can come at once: on a single core the receiver that calls is the one that runs.
bool may_run_together()
{
    return towline::base::allowed_cpus().size() > 1;
}

/// How much of a core the calling thread has had since this was made.
class share_of_core {
public:
    [[nodiscard]] double now() const
    {
        return static_cast<double>(cpu() - cpu_) / static_cast<double>((std::chrono::steady_clock::now() - begun_).count() + 1);
    }

private:
    static std::int64_t cpu()
    {
        timespec t{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
    }
    std::int64_t const cpu_ = cpu();
    std::chrono::steady_clock::time_point const begun_ = std::chrono::steady_clock::now();
};

/// Whether plain memory is lent at all, and not copied by its sender.
bool lends(memory kind)
{
    int const here = 1;
    return kind == memory::arena || eng::engine::probe_cross_memory_attach(getpid(), &here, sizeof here);
}

TEST_P(engine_cooperation, the_sender_helps_while_it_waits)
{
    run([](rank_context& c) {
        memory const kind = GetParam().kind;
        catcher in{kind};
        auto const id = c.engine.add_handler(&catcher::on, &in);
        c.barrier();
        // How much the other side gets done is a matter of luck, that it never does anything is not. Most of it is past the portion that
        // a sender copies at once. Who waits here spins, and yields only when nothing comes: both are at work at the same time soon, on
        // a machine that has other work, too.
        auto const together = kind == memory::arena ? counter::bytes_cooperated : counter::bytes_pushed;
        bool const lent = lends(kind);
        bool const helped = lent && may_run_together();
        auto& all = c.board[rank_context::first_word];  // messages, when that is known
        auto& starved = c.board[rank_context::first_word + 1];
        share_of_core const share;
        auto const late = std::chrono::steady_clock::now() + 30s;
        std::uint64_t n = 0;
        // Pushed is what is rewritten in one place, and a sanitizer's malloc gives another one each time.
        std::vector<std::byte> kept(kind == memory::plain ? std::size_t{512} << 10 : 0);
        if (c.rank == 0) {
            for (bool last = false; !last; ++n) {
                last = n >= 20 && (!helped || c.total(together) != 0 || std::chrono::steady_clock::now() > late);
                if (last)
                    all.store(n + 1);
                loan l{kind, kept.empty() ? nullptr : kept.data()};
                // Past the first, plain ones are small: a sender that did not come is called again only after a number of blocks.
                std::size_t const least = kind == memory::arena ? std::size_t{5} << 20 : std::size_t{10} << 10;
                l.send(c.engine, 1, id, least + (kind == memory::arena || n < 20 ? n * 20000 % 400000 : 0) + 1, n);
                c.until([&] { return l.back.load(); });
                require(l.ok, "sent");
            }
        } else {
            c.until([&] { return all.load() != 0 && in.ended == all.load(); });
            n = all.load();
        }
        // Who waits spins: both together had less than a core, so that they never ran at the same time.
        if (share.now() < 0.5)
            starved.store(1);
        c.barrier();
        require(!in.wrong && in.failed == 0, "bytes");
        require(!helped || c.total(together) > 0 || starved.load() != 0, "nobody ever helped");
        if (kind == memory::arena) {
            require(c.total(together) < c.total(counter::bytes_mapped), "the receiver copies, too");
            require(c.total(counter::bytes_mapped) == c.total(counter::bytes_copied_once) && c.total(counter::copied_once) == n,
                    "accounting");
        } else {
            require(c.total(counter::copied_once) + c.total(counter::copied_twice) == n, "accounting of blocks");
            require(!lent || (c.total(counter::bytes_pushed) == c.total(counter::bytes_copied_twice) &&
                              c.total(counter::bytes_cma) == c.total(counter::bytes_copied_once)),
                    "accounting of bytes");
        }
        c.barrier();
    });
}

// A sender that was interrupted in its part would make them wait.
TEST_P(engine_cooperation, handlers_that_cannot_go_on_without_it_copy_alone)
{
    if (GetParam().kind != memory::arena)
        GTEST_SKIP() << "plain memory is not in reach";
    run([](rank_context& c) {
        catcher in{memory::arena, eng::incoming::pace::now};
        auto const id = c.engine.add_handler(&catcher::on, &in);
        c.barrier();
        constexpr std::uint64_t many = 20;
        if (c.rank == 0) {
            for (std::uint64_t n = 0; n < many; ++n) {
                loan l;
                l.send(c.engine, 1, id, (std::size_t{5} << 20) + n, n);
                c.until([&] { return l.back.load(); });  // it polls, and would help
                require(l.ok, "sent");
            }
        } else {
            c.until([&] { return in.ended == many; });
        }
        c.barrier();
        require(!in.wrong && in.failed == 0 && in.lagged == 0, "bytes, at once");
        require(c.total(counter::bytes_cooperated) == 0 && c.total(counter::copied_once) == many, "alone");
        c.barrier();
    });
}

TEST_P(engine_cooperation, a_sender_that_is_away_is_not_needed)
{
    if (onloaded())
        GTEST_SKIP() << "its helper is there";
    if (!lends(GetParam().kind))
        GTEST_SKIP() << "who may not read its memory needs it";
    run([](rank_context& c) {
        memory const kind = GetParam().kind;
        // Away: without progress.
        auto const look_for = [&](std::atomic<std::uint64_t> const& word) {
            while (word.load() == 0) {
                require(c.board[1].load() == 0, "another rank failed");
                sched_yield();
            }
        };
        catcher in{kind};
        auto const id = c.engine.add_handler(&catcher::on, &in);
        c.barrier();
        std::deque<loan> loans;
        constexpr std::uint64_t many = 8;
        auto& sent = c.board[rank_context::first_word + 1];
        if (c.rank == 0) {
            for (std::uint64_t n = 0; n < many; ++n)
                loans.emplace_back(kind).send(c.engine, 1, id, 300000 + n, n);
            sent.store(1);
            // It computes, and comes late to find nothing left to do.
            look_for(c.board[rank_context::first_word]);
            c.until([&] { return std::all_of(loans.begin(), loans.end(), [](loan const& l) { return l.back && l.ok; }); });
        } else {
            // A sender polls while it sends, and would help.
            look_for(sent);
            c.until([&] { return in.ended == many; });
            c.board[rank_context::first_word].store(1);
        }
        c.barrier();
        require(!in.wrong && in.failed == 0, "bytes");
        require(c.total(counter::bytes_cooperated) + c.total(counter::bytes_pushed) == 0, "nobody helped");
        require(c.total(counter::copied_once) == many, "accounting");
        c.barrier();
    });
}

TEST_P(engine_cooperation, both_directions_and_many_at_once)
{
    run([](rank_context& c) {
        memory const kind = GetParam().kind;
        catcher in{kind};
        auto const id = c.engine.add_handler(&catcher::on, &in);
        c.barrier();
        std::mt19937_64 random(test_seed() + c.rank);
        constexpr std::uint64_t n = 150;
        std::deque<loan> loans;
        for (std::uint64_t i = 0; i < n; ++i) {
            loans.emplace_back(kind).send(c.engine, 1 - c.rank, id, 30000 + random() % (std::uint64_t{1} << random() % 22), i);
            if (i % 16 == 15)
                c.until([&] { return std::all_of(loans.begin(), loans.end(), [](loan const& l) { return l.back.load(); }); });
        }
        c.until([&] { return in.ended == n && std::all_of(loans.begin(), loans.end(), [](loan const& l) { return l.back && l.ok; }); });
        require(!in.wrong && in.failed == 0, "bytes");
        c.barrier();
        require(c.total(counter::copied_once) + c.total(counter::copied_twice) == 2 * n, "accounting");
        c.barrier();
    });
}

TEST_P(engine_cooperation, threads_fetch_while_others_poll)
{
    run([](rank_context& c) {
        memory const kind = GetParam().kind;
        struct keeper {
            std::mutex mutex;
            std::deque<eng::incoming> messages;
            static void on(void* context, eng::engine&, eng::incoming& m)
            {
                auto& self = *static_cast<keeper*>(context);
                m.keep();
                std::lock_guard const lock(self.mutex);
                self.messages.push_back(std::move(m));
            }
        } in;
        auto const id = c.engine.add_handler(&keeper::on, &in);
        c.barrier();
        constexpr std::uint64_t n = 60;
        std::atomic<std::uint64_t> done{0};
        std::atomic<bool> wrong{false};
        std::vector<std::thread> workers;
        for (int w = 0; w < 3; ++w) {
            workers.emplace_back([&] {
                while (done.load() < n && !wrong) {
                    std::optional<eng::incoming> m;
                    {
                        std::lock_guard const lock(in.mutex);
                        if (!in.messages.empty()) {
                            m.emplace(std::move(in.messages.front()));
                            in.messages.pop_front();
                        }
                    }
                    if (!m) {
                        sched_yield();
                        continue;
                    }
                    std::uint64_t number = 0;
                    std::memcpy(&number, m->head().data(), sizeof number);
                    auto* const into = get(kind, m->block_size(0));
                    m->fetch(0, into);
                    if (!c.engine.wait([&] { return m->ready(); }, "a fetch", 60s) || m->failed() ||
                        !filled(into, m->block_size(0), number))
                        wrong = true;
                    m.reset();
                    put(kind, into);
                    done.fetch_add(1);
                }
            });
        }
        std::deque<loan> loans;
        for (std::uint64_t i = 0; i < n; ++i)
            loans.emplace_back(kind).send(c.engine, 1 - c.rank, id, 20000 + i * 9000, i);
        c.until([&] { return done.load() == n || wrong.load(); });
        for (auto& t : workers)
            t.join();
        require(!wrong, "a thread fetched something else");
        c.until([&] { return std::all_of(loans.begin(), loans.end(), [](loan const& l) { return l.back && l.ok; }); });
        c.barrier();
    });
}

// Senders and receivers are killed at any moment, in the middle of a share, too.
TEST(engine_cooperation_of_processes, killed_at_any_moment)
{
    std::mt19937_64 random(test_seed());
    for (int round = 0; round < 12; ++round) {
        auto const file = towline::job::create_job_file(3, {.segment_bytes = std::uint64_t{1} << 28, .cores = 8, .keep_going = true});
        towline::job::control_view control(file.get());
        ranks::board const board;
        std::vector<pid_t> children;
        for (int r = 0; r < 3; ++r) {
            children.push_back(ranks::spawn_rank(file.get(), r, [&](int) {
                memory const kind = round % 4 < 2 ? memory::arena : memory::plain;
                catcher in{kind};
                std::atomic<int> deaths{0};
                auto const e = eng::process_engine(round % 2 == 0);
                // Before the handler: adding one orders it for the background thread.
                e->on_death([](void* c, peer) { ++*static_cast<std::atomic<int>*>(c); }, &deaths);
                auto const id = e->add_handler(&catcher::on, &in);
                towline::job::membership::instance().fence();
                board[2].fetch_add(1);
                for (std::uint64_t number = 0; deaths == 0 || number < 20; ++number) {
                    // What is captured is back at once: then nothing below polls, and nobody would ever tell of the death.
                    e->progress();
                    loan l{kind};
                    peer const to = static_cast<peer>((e->rank() + 1 + number % 2) % 3);
                    try {
                        l.send(*e, to, id, (kind == memory::arena ? std::size_t{700000} : std::size_t{70000}) << number % 3, number);
                    } catch (towline::peer_error const&) {
                        put(l.kind, l.data - 8);
                        continue;
                    }
                    require(e->wait([&] { return l.back.load(); }, "a loan", 30s), "loans come back, death or not");
                }
                require(e->wait([&] { return in.ended == in.begun && deaths == 1; }, "fetches", 30s), "fetches end");
                require(e->drain(30s) && !in.wrong, "bytes");
                board[3].fetch_add(1);
                require(e->wait([&] { return board[3].load() == 2; }, "the other", 30s), "the other");
            }));
        }
        board.wait(2, 3);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
        kill(children[1], SIGKILL);
        int const status = ranks::status_of(children[1]);
        EXPECT_TRUE(WIFSIGNALED(status));
        control.mark_dead(1, status);
        for (int const r : {0, 2}) {
            int const of_survivor = ranks::status_of(children[static_cast<std::size_t>(r)]);
            EXPECT_EQ(of_survivor, 0) << "rank " << r;
            if (of_survivor != 0)
                control.mark_dead(r, of_survivor);  // for the other, who may wait for it
        }
    }
}

} // namespace
