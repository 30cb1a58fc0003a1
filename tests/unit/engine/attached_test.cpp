// Lent plain memory: whose process is read, and what happens where that is not the peer's.

#include "engine/peer_process.hpp"
#include "unit/engine/rank_zero.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <signal.h>
#include <vector>

using namespace scripted;

namespace {

constexpr std::size_t size = 20000;
constexpr std::uint64_t here = 4711;  ///< the namespace of these processes

/// What peer 1 tells of its process.
std::optional<eng::process_card> told;

bool allowed()
{
    int const mine = 1;
    return eng::engine::probe_cross_memory_attach(getpid(), &mine, sizeof mine);
}

/// A process with memory at the same addresses as ours, and other bytes there.
class twin {
public:
    explicit twin(std::vector<std::byte>& block, std::function<void()> const& also = nullptr)
    {
        (void)eng::own_process();  // the word is in both
        ranks::board const ready;
        pid_ = fork();
        if (pid_ == 0) {
            std::fill(block.begin(), block.end(), std::byte{0xbb});
            if (also)
                also();
            ready[0].store(1);
            for (;;)
                pause();
        }
        ready.wait(0);
    }
    twin(twin const&) = delete;
    twin& operator=(twin const&) = delete;
    ~twin() { end(); }
    void end()
    {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            ranks::status_of(std::exchange(pid_, 0));
        }
    }
    [[nodiscard]] eng::process_card card() const
    {
        auto c = eng::own_process();
        c.pid = pid_;
        c.pid_namespace = here;
        return c;
    }

private:
    pid_t pid_;
};

/// Rank 0 receives what peer 1 lends at an address that the twin has, too. Asked for the bytes, peer 1 sends bytes of 0xaa.
struct receiver : rank_zero {
    std::vector<std::byte> block = std::vector<std::byte>(size, std::byte{0xaa});
    std::vector<std::byte> got = std::vector<std::byte>(size);

    receiver()
        : rank_zero(true, [](eng::setup& s) {
              s.sizes.push_most = 0;
              s.pid_namespace = here;
              s.process_of = [](void*, peer p) { return p == 1 ? told : std::nullopt; };
          })
    {
        into = got.data();
        script.on_send = [this](scripted::message const& m) {
            if (m.id != wire::pull)
                return;
            auto const ask = *wire::read<wire::pull_message>(m.bytes);
            for (std::uint64_t at = ask.offset; at != ask.offset + ask.bytes;) {
                std::uint64_t const n = std::min<std::uint64_t>(ask.offset + ask.bytes - at, 400);
                auto piece = bytes(wire::piece_header{ask.fetch, at});
                auto const first = block.begin() + static_cast<std::ptrdiff_t>(at);
                piece.insert(piece.end(), first, first + static_cast<std::ptrdiff_t>(n));
                script.arriving.push_back({1, wire::piece, std::move(piece)});
                at += n;
            }
        };
    }
    /// The bytes that came, all alike: those of the twin, of the peer, or none.
    int receive()
    {
        std::fill(got.begin(), got.end(), std::byte{});
        int const before = ended;
        lend_plain(block.data(), size);
        settle();
        CHECK_THAT(ended == before + 1);
        CHECK_THAT(!ok || std::all_of(got.begin(), got.end(), [this](auto b) { return b == got[0]; }));
        return ok ? static_cast<int>(got[0]) : -1;
    }
    void check_counts(std::uint64_t read, std::uint64_t asked_for)
    {
        CHECK_THAT(count(counter::bytes_cma) == read * size && count(counter::bytes_copied_once) == read * size);
        CHECK_THAT(count(counter::copied_once) == read && count(counter::copied_twice) == asked_for);
        CHECK_THAT(count(counter::bytes_copied_twice) == asked_for * size);
    }
};

TEST(engine_attached, is_read_in_the_process_that_shows_the_word)
{
    in_a_job([] {
        receiver r;
        twin const peer_1(r.block);
        told = peer_1.card();
        if (!allowed()) {
            CHECK_THAT(r.receive() == 0xaa && r.receive() == 0xaa);
            return r.check_counts(0, 2);
        }
        CHECK_THAT(r.receive() == 0xbb && r.receive() == 0xbb);
        r.check_counts(2, 0);
    });
}

TEST(engine_attached, is_asked_for_where_the_pid_is_somebody_elses)
{
    in_a_job([] {
        for (int const what : {0, 1, 2, 3, 4, 5}) {
            receiver r;
            twin const somebody(r.block);
            told = somebody.card();
            switch (what) {
            case 0: told->word ^= 1; break;                       // another process of the same program
            case 1: told->address = 8; break;                     // one that has nothing there
            case 2: told->pid_namespace = here + 1; break;        // the number counts elsewhere
            case 3: told->pid = 0x7ffffffe; break;                // nobody
            case 4: told->word = 0, told->address = reinterpret_cast<std::uintptr_t>(&told->word); break;
            case 5: told->pid = -1; break;
            }
            CHECK_THAT(r.receive() == 0xaa && r.receive() == 0xaa);
            r.check_counts(0, 2);
        }
    });
}

TEST(engine_attached, an_unknown_namespace_is_proven_by_the_word)
{
    in_a_job([] {
        receiver r;
        twin const peer_1(r.block);
        told = peer_1.card();
        told->pid_namespace = 0;
        CHECK_THAT(r.receive() == (allowed() ? 0xbb : 0xaa));
    });
}

TEST(engine_attached, is_asked_for_before_the_peer_has_told_of_itself)
{
    in_a_job([] {
        receiver r;
        twin const peer_1(r.block);
        told.reset();
        CHECK_THAT(r.receive() == 0xaa);
        told = peer_1.card();
        CHECK_THAT(r.receive() == (allowed() ? 0xbb : 0xaa));
    });
}

TEST(engine_attached, is_asked_for_where_reading_fails)
{
    in_a_job([] {
        receiver r;
        // The peer's second half is not there, as memory of a device is not for the kernel.
        auto* const there = static_cast<std::byte*>(mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        twin const peer_1(r.block, [there] { munmap(there + 8192, (1 << 16) - 8192); });
        told = peer_1.card();
        r.lend_plain(there, size);
        r.settle();
        CHECK_THAT(r.ended == 1 && r.ok && r.got == r.block);
        r.check_counts(0, 1);
        CHECK_THAT(r.receive() == (allowed() ? 0xbb : 0xaa));  // other blocks of it are read all the same
    });
}

TEST(engine_attached, nothing_is_read_of_the_dead_whose_pid_may_be_anothers)
{
    in_a_job([] {
        receiver r;
        twin const peer_1(r.block);
        told = peer_1.card();
        CHECK_THAT(r.receive() == (allowed() ? 0xbb : 0xaa));
        r.script.on_send = nullptr;  // it answers no more
        r.one_is_dead = true;        // its pid lives on
        std::fill(r.got.begin(), r.got.end(), std::byte{});
        r.lend_plain(r.block.data(), size);
        r.settle();
        CHECK_THAT(r.ended == 1);
        r.deaths = 1;
        r.settle();
        CHECK_THAT(r.ended == 2 && !r.ok && std::all_of(r.got.begin(), r.got.end(), [](auto b) { return b == std::byte{}; }));
    });
}

TEST(engine_attached, a_process_that_has_ended_is_asked_and_nobody_hangs)
{
    in_a_job([] {
        receiver r;
        twin peer_1(r.block);
        told = peer_1.card();
        CHECK_THAT(r.receive() == (allowed() ? 0xbb : 0xaa));
        peer_1.end();
        CHECK_THAT(r.receive() == 0xaa);
    });
}

// The sender.

struct sender : rank_zero {
    std::vector<std::byte> block = std::vector<std::byte>(100'000, std::byte{7});
    int freed = 0;
    explicit sender(bool namespaces_differ)
        : rank_zero(true, [namespaces_differ](eng::setup& s) {
              s.pid_namespace = namespaces_differ ? here + 1 : here;
              s.process_of = [](void*, peer p) { return p == 1 ? told : std::nullopt; };
          })
    {
    }
    wire::how lend(void const* data)
    {
        eng::block const b{data, size};
        script.sent.clear();
        engine->send({.to = 1, .handler = id, .blocks = {&b, 1}, .sent = {[](void* c, bool) { ++*static_cast<int*>(c); }, &freed}});
        wire::descriptor d;
        std::memcpy(&d, script.sent.at(0).bytes.data() + sizeof(wire::message_header), sizeof d);
        return d.kind();
    }
};

TEST(engine_attached, is_not_lent_to_who_cannot_read_it)
{
    in_a_job([] {
        for (bool const apart : {false, true}) {
            sender s(apart);
            twin const peer_1(s.block);
            told.reset();
            CHECK_THAT(s.lend(s.block.data()) == wire::how::attached && s.freed == 0);  // it has not joined
            told = peer_1.card();
            bool const reads = !apart && allowed();
            CHECK_THAT(s.lend(s.block.data()) == (reads ? wire::how::attached : wire::how::staged));
            CHECK_THAT(s.freed == (reads ? 0 : 1));
        }
    });
}

TEST(engine_attached, memory_that_is_not_there_is_not_sent_and_nobody_dies)
{
    in_a_job([] {
        sender s(false);
        told.reset();
        auto* const there = static_cast<std::byte*>(mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        munmap(there + 65536, (1 << 20) - 65536);
        for (bool const missing : {false, true}) {
            CHECK_THAT(s.lend(missing ? there + 60000 : there + 1000) == wire::how::attached);
            auto const h = *wire::read<wire::message_header>(s.script.sent[0].bytes);
            s.script.arrive(1, wire::pull, bytes(wire::pull_message{h.id_flags >> wire::flag_bits, 5, 0, 400, 0}));
            s.settle();
            CHECK_THAT(s.script.sent.back().id == wire::piece);
            auto const piece = *wire::read<wire::piece_header>(s.script.sent.back().bytes);
            CHECK_THAT(piece.fetch == 5 && piece.offset == (missing ? wire::refused : 0));
        }
    });
}

TEST(process_card, words_are_read_back)
{
    auto const mine = eng::own_process();
    EXPECT_EQ(mine.pid, getpid());
    EXPECT_NE(mine.word, 0U);
    EXPECT_EQ(eng::own_process().word, mine.word);
    eng::process_card read;
    ASSERT_TRUE(eng::read_word(eng::text_of_word(mine), read));
    EXPECT_EQ(read.address, mine.address);
    EXPECT_EQ(read.word, mine.word);
    for (char const* bad : {"", ":", "12", "12:", ":12", "x:12", "12:x", "12:34 ", "12:34:5", "1ffffffffffffffff:1", "-1:1"})
        EXPECT_FALSE(eng::read_word(bad, read)) << bad;
    if (allowed()) {
        EXPECT_EQ(eng::prove(mine, 0), 0);
        auto other = mine;
        other.pid_namespace = 1;
        EXPECT_EQ(eng::prove(other, 1), 0);
        EXPECT_EQ(eng::prove(other, 2), ESRCH);
    }
}

} // namespace
