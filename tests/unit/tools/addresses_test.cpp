// What hosts of a job share.

#include "description.hpp"

#include <gtest/gtest.h>

namespace {

using towline::tools::host_facts;
using towline::tools::ranks_beside;

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
