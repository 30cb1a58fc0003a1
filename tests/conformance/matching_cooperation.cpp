// Data with gaps that both sides copy, each at its own speed: one way, both ways at once, by threads that progress for each other.
#include "conformance/matching_worlds.hpp"

#include "heap/heap.hpp"
#include "layout/copy_plan.hpp"
#include "matching/laid.hpp"
#include "matching/thresholds.hpp"

namespace {

using namespace matching_worlds;
namespace layout = towline::layout;

class matching_cooperation : public every_matching {};
EVERY_FABRIC(matching_cooperation);

/// Words in the heap, `step` apart from each other.
struct spread {
    std::int64_t words, step;
    layout::datatype type = layout::vector(words, 1, step, layout::datatype::of(layout::kind::int64));
    std::int64_t* data = static_cast<std::int64_t*>(towline::heap::allocate(static_cast<std::size_t>(words * step) * 8));
    std::shared_ptr<match::shown_layout const> shown = match::shown_layout::make(type, 1);

    spread(std::int64_t n, std::int64_t apart) : words(n), step(apart) {}
    spread(spread const&) = delete;
    spread& operator=(spread const&) = delete;
    ~spread() { towline::heap::deallocate(data); }

    [[nodiscard]] std::uint64_t bytes() const { return static_cast<std::uint64_t>(words) * 8; }
    void write(std::int64_t seed)
    {
        for (std::int64_t i = 0; i < words * step; ++i)
            data[i] = i % step == 0 ? seed + i / step * 3 : -seed;
    }
    void empty() { std::fill(data, data + words * step, -1); }
    [[nodiscard]] bool holds(std::int64_t seed) const
    {
        for (std::int64_t i = 0; i < words * step; ++i)
            if (data[i] != (i % step == 0 ? seed + i / step * 3 : -1))
                return false;
        return true;
    }
    [[nodiscard]] match::sink sink()
    {
        return {this, bytes(),
                [](void* self, std::span<std::byte const> from) {
                    auto& s = *static_cast<spread*>(self);
                    for (std::size_t i = 0; i < from.size() / 8; ++i)
                        std::memcpy(&s.data[static_cast<std::int64_t>(i) * s.step], &from[i * 8], 8);
                    return true;
                },
                [](void* self, std::uint64_t, match::laid_sink& where) {
                    auto& s = *static_cast<spread*>(self);
                    where = {&s.type, 1, s.data, [](void* owner) { return static_cast<spread*>(owner)->shown; }, &s};
                    return true;
                }};
    }
};

void send(player& p, match::request& r, peer to, std::int32_t tag, spread const& from, std::vector<std::byte>& packed)
{
    if (p.m.start_send_laid(r, to, p.letter(tag), {&from.type, 1, from.data, from.bytes(), from.shown.get()}))
        return;
    packed.resize(from.bytes());  // the layout could not be shown
    for (std::int64_t i = 0; i < from.words; ++i)
        std::memcpy(&packed[static_cast<std::size_t>(i) * 8], &from.data[i * from.step], 8);
    p.m.start_send(r, to, p.letter(tag), packed.data(), packed.size());
}

void exchange(player& p, bool both)
{
    peer const other = 1 - p.world.rank;
    // How a peer is reached is known since the first message.
    p.send(other, 99, bytes(8, 1));
    (void)p.receive(static_cast<std::int32_t>(other), 99, 8, 1);
    constexpr auto least = static_cast<std::int64_t>(match::thresholds::laid_together / 8);
    for (std::int64_t const words : {least, 3 * least + 7}) {
        spread out(words, 2), in(words, p.world.rank == 0 ? 3 : 4);
        for (int i = 0; i < 20; ++i) {
            bool const sends = both || p.world.rank == 0, receives = both || p.world.rank == 1;
            match::request s, r;
            std::vector<std::byte> packed;
            out.write(100 * i + p.world.rank);
            in.empty();
            if (receives && i % 2 == 0)
                p.m.start_receive(r, player::from(static_cast<std::int32_t>(other), i), other, in.sink());
            p.world.barrier();
            if (sends)
                send(p, s, other, i, out, packed);
            if (receives && i % 2 != 0)
                p.m.start_receive(r, player::from(static_cast<std::int32_t>(other), i), other, in.sink());
            if (sends)
                p.m.wait(s);
            out.write(-5);  // it is the sender's again
            if (receives) {
                p.m.wait(r);
                player::check(r.result(), in.bytes());
                require(in.holds(100 * i + other), "content");
            }
        }
    }
}

TEST_P(matching_cooperation, every_word_arrives_once)
{
    if (!maps(GetParam()))
        GTEST_SKIP() << "ranks without shared memory do not copy together";
    for (bool const background : {false, true}) {
        for (bool const both : {false, true}) {
            match::options mo;
            mo.way = match::send_way::direct;
            options o;
            o.oversubscribed = false;  // where cores are shared nobody cooperates
            o.cores = 4;
            o.background = background;
            run_matching(2, [both](player& p) { exchange(p, both); }, mo, o);
        }
    }
}

} // namespace
