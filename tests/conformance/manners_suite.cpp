// What a transport says of itself, and what wrong use gets.
#include "conformance/traffic.hpp"

#include "towline/error.hpp"

namespace conformance {

namespace {

class manners : public over_every_transport {};

TEST_P(manners, capabilities_make_sense)
{
    run(1, [](place& p) {
        auto const& c = p.it.caps();
        EXPECT_FALSE(p.it.name().empty());
        EXPECT_GE(c.max_eager, 64u);  // an engine's own head and some bytes
        EXPECT_LE(c.max_inline, c.max_eager);
        EXPECT_GT(c.latency_ns, 0);
        EXPECT_GT(c.bandwidth, 0);
        EXPECT_EQ(&c, &p.it.caps());
    });
}

TEST_P(manners, too_long_is_refused_and_harmless)
{
    run(2, [](place& p) {
        hearing ears(p, sizes::small);
        p.barrier();
        if (p.rank() == 0) {
            std::vector<std::byte> const bytes(p.it.caps().max_eager + 1);
            ears.say(p.next(), 0);
            EXPECT_THROW(static_cast<void>(p.it.try_send(p.next(), 1, bytes, {})), towline::limit_error);
            EXPECT_THROW(static_cast<void>(p.it.try_send(p.next(), 1, {}, bytes)), towline::limit_error);
            EXPECT_THROW(static_cast<void>(p.it.try_send(p.next(), 1, std::span(bytes).first(1), std::span(bytes).subspan(1))),
                         towline::limit_error);
            ears.say(p.next(), 1);
        }
        if (p.rank() == p.size() - 1)
            p.until([&] { return ears.total() == 2; }, "the messages around");
        p.barrier();
    });
}

TEST_P(manners, strangers_are_unreachable)
{
    run(2, [](place& p) {
        for (peer stranger : {p.size(), p.size() + 1000, ~peer{0}}) {
            EXPECT_EQ(p.it.try_send(stranger, 1, {}, {}), send_status::unreachable);
            EXPECT_NE(p.it.why_not(stranger), "");
            p.it.peer_died(stranger);
        }
        EXPECT_EQ(p.it.why_not(p.next()), "");
        p.barrier();
    });
}

TEST_P(manners, an_unknown_handler_is_reported)
{
    run(2, [](place& p) {
        struct told {
            peer who = 0;
            std::string why;
        } t;
        p.it.set_failure_handler(
            [](void* context, peer who, std::string_view why) { *static_cast<told*>(context) = {who, std::string(why)}; }, &t);
        p.barrier();
        if (p.rank() == 0)
            p.send(p.next(), 200, {});
        if (p.rank() == p.size() - 1) {
            p.until([&] { return !t.why.empty(); }, "the report");
            EXPECT_EQ(t.who, 0u);
            EXPECT_NE(t.why.find("200"), std::string::npos) << t.why;
        }
        p.barrier();
    });
}

INSTANTIATE_TEST_SUITE_P(over, manners, testing::ValuesIn(subjects()), subject_name{});

} // namespace

} // namespace conformance
