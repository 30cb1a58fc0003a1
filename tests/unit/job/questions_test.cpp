// Questions to other nodes and their answers, in a job file of a node.

#include "base/futex.hpp"
#include "job/file.hpp"
#include "job/questions.hpp"
#include "job/waits.hpp"
#include "towline/error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace {

using namespace towline;
using namespace std::chrono_literals;

/// Node 1 of two nodes with two ranks each.
struct node {
    std::array<std::uint32_t, 4> node_of{0, 0, 1, 1};
    [[nodiscard]] base::unique_fd made(std::string const& hosts) const
    {
        job::job_options o;
        o.segment_bytes = job::min_segment_bytes;
        o.node_of = node_of;
        o.node = 1;
        o.hosts = hosts;
        return job::create_job_file(4, o);
    }
    base::unique_fd file = made({"near\0far\0", 9});
    job::control_view view{file.get()};

    [[nodiscard]] job::rank_slot& slot(std::size_t rank) const { return view.slots()[rank]; }
    [[nodiscard]] job::rank_view seen(std::size_t rank, std::uint32_t question) const
    {
        auto v = job::view_of(slot(rank));
        job::complete(v, slot(rank), question);
        return v;
    }
};

TEST(questions, an_answer_counts_for_its_question_alone)
{
    node n;
    n.slot(0).state = static_cast<std::uint32_t>(job::rank_state::joined);
    std::uint32_t const news = n.view.header().news;
    std::uint32_t const first = job::ask_other_nodes(n.view.header());
    EXPECT_NE(first, 0u);
    EXPECT_NE(n.view.header().news, news) << "the keeper sleeps there";
    EXPECT_FALSE(job::is_answered(n.view.header(), first));
    EXPECT_EQ(n.seen(0, first).process.is, job::process_state::kind::silent);

    job::wait_report wait;
    wait.threads = 1;
    job::set_text(wait.call, "MPI_Recv");
    job::note_answer(n.slot(0), first, {&wait, 77, {job::process_state::kind::sleeps, "futex: a lock, a condition or a thread's end"}});
    auto const v = n.seen(0, first);
    EXPECT_EQ(v.process.is, job::process_state::kind::sleeps);
    EXPECT_EQ(v.process.call, "futex");
    EXPECT_EQ(v.active_ns, 77);
    ASSERT_TRUE(v.wait.has_value());
    EXPECT_EQ(job::text_of(v.wait->call), "MPI_Recv");

    std::uint32_t const second = job::ask_other_nodes(n.view.header());
    EXPECT_EQ(n.seen(0, second).process.is, job::process_state::kind::silent);
    EXPECT_FALSE(n.seen(0, second).wait.has_value());
    job::note_answer(n.slot(0), second, {nullptr, 0, {job::process_state::kind::computes, {}}});
    EXPECT_EQ(n.seen(0, second).process.is, job::process_state::kind::computes);
    EXPECT_FALSE(n.seen(0, second).wait.has_value());
    // A hostile rank may write any kind.
    n.slot(0).waits.answer[1] = 1000;
    EXPECT_EQ(n.seen(0, second).process.is, job::process_state::kind::silent);
}

TEST(questions, waiting_for_answers_ends)
{
    node n;
    auto& header = n.view.header();
    std::uint32_t const question = job::ask_other_nodes(header);
    EXPECT_FALSE(job::wait_for_answers(header, question, 20ms));
    std::thread keeper([&] {
        std::this_thread::sleep_for(20ms);
        header.answered = question;
        base::futex_wake_all(header.answered);
    });
    EXPECT_TRUE(job::wait_for_answers(header, question, 60s));
    keeper.join();
    header.asked = ~std::uint32_t{0};
    EXPECT_EQ(job::ask_other_nodes(header), 1u) << "0 is no question";
}

TEST(questions, hosts_have_names)
{
    node n;
    auto const about = job::read_header(n.file.get());
    EXPECT_EQ(about.nodes, 2u);
    EXPECT_EQ(about.hosts, (std::vector<std::string>{"near", "far"}));
    std::string many;
    for (int i = 0; i < 1000; ++i)
        many += "host" + std::to_string(i) + '\0';
    auto const file = n.made(many);
    auto const names = job::read_header(file.get()).hosts;
    ASSERT_GT(names.size(), 100u);
    for (std::size_t i = 0; i < names.size(); ++i)
        EXPECT_EQ(names[i], "host" + std::to_string(i)) << "only whole names";
}

} // namespace
