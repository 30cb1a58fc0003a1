// What hosts of a job share.

#include "job/launch/host_facts.hpp"
#include "towline/error.hpp"

#include <gtest/gtest.h>

namespace {

using towline::job::launch::host_facts;
using towline::job::launch::ranks_beside;

host_facts host(std::string kernel, std::vector<int> cpus, std::uint32_t cores)
{
    host_facts f;
    f.kernel = std::move(kernel);
    f.cpus = std::move(cpus);
    f.cores = cores;
    return f;
}

} // namespace

TEST(ranks_beside, counts_those_on_the_same_processors_of_one_machine)
{
    std::vector<host_facts> const hosts{host("a", {0, 1}, 2), host("a", {1, 2}, 2), host("a", {2, 3}, 2), host("b", {0, 1, 2, 3}, 4)};
    std::vector<std::uint32_t> const node_of{0, 1, 1, 2, 2, 2, 3, 3, 3, 3};
    EXPECT_EQ(ranks_beside(hosts, node_of, 0), 2u);
    EXPECT_EQ(ranks_beside(hosts, node_of, 1), 4u);
    EXPECT_EQ(ranks_beside(hosts, node_of, 2), 2u);
    EXPECT_EQ(ranks_beside(hosts, node_of, 3), 0u);
}

TEST(ranks_beside, unknown_kernels_are_not_one)
{
    EXPECT_EQ(ranks_beside({host("", {0, 1}, 2), host("", {0, 1}, 2)}, {0, 1}, 0), 0u);
}

TEST(ranks_beside, a_quota_is_a_hosts_own)
{
    std::vector<host_facts> const hosts{host("a", {0, 1, 2, 3}, 2), host("a", {0, 1, 2, 3}, 4), host("a", {0, 1, 2, 3}, 4)};
    std::vector<std::uint32_t> const node_of{0, 0, 1, 2};
    EXPECT_EQ(ranks_beside(hosts, node_of, 0), 0u);
    EXPECT_EQ(ranks_beside(hosts, node_of, 1), 1u);
}

TEST(facts_of_a_host, survive_as_text)
{
    using namespace towline::job::launch;
    host_facts f = facts_of_host();
    EXPECT_FALSE(f.machine.empty());
    EXPECT_FALSE(f.cpus.empty());
    EXPECT_EQ(facts_in(to_text(f)), f);
    f.name = "a name";
    f.addresses = {{"eth0", "10.1.2.3", 8}, {"lo", "::1", 128}};
    EXPECT_EQ(facts_in(to_text(f) + "something new 1 2\n"), f);
}

TEST(facts_of_a_host, broken_text_is_refused)
{
    using namespace towline::job::launch;
    std::string const good = "version 1\nmachine a 1\ncores 2\ncpus 0 1\naddress 10.0.0.1 24 eth0\n";
    EXPECT_NO_THROW((void)facts_in(good));
    for (char const* line : {"cores many\n", "cpus 0 x\n", "address 10.0.0.1 24\n", "address 10.0.0.256 24 eth0\n", "address eth0 10.0.0.1 24\n"})
        EXPECT_THROW((void)facts_in(good + line), towline::error) << line;
    EXPECT_THROW((void)facts_in(""), towline::error);
    EXPECT_THROW((void)facts_in("version 1\n"), towline::error);
}
