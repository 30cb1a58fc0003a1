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

namespace {

/// Hosts with interfaces, each on a kernel of its own.
std::vector<host_facts> hosts_with(std::vector<std::vector<host_facts::address>> const& addresses)
{
    std::vector<host_facts> all;
    for (auto const& a : addresses) {
        all.push_back(host("kernel " + std::to_string(all.size()), {0}, 1));
        all.back().machine = all.back().kernel;
        all.back().addresses = a;
        all.back().addresses.push_back({"lo", "127.0.0.1", 8});
    }
    return all;
}

std::vector<std::string> choose(std::vector<host_facts> const& hosts, std::string const& wished)
{
    std::vector<std::string> names;
    for (std::size_t h = 0; h < hosts.size(); ++h)
        names.push_back("host" + std::to_string(h));
    return towline::job::launch::choose_addresses(hosts, names, wished);
}

} // namespace

TEST(addresses, of_one_network_that_all_hosts_have_or_of_those_that_are_wished)
{
    using list = std::vector<std::string>;
    auto const hosts = hosts_with({{{"docker0", "172.17.0.1", 16}, {"eth0", "10.0.0.1", 24}, {"eth0", "fd00::1", 64}, {"eth1", "10.1.0.1", 24}},
                                   {{"docker0", "172.17.0.1", 16}, {"ens3", "10.0.0.2", 24}, {"ens3", "fd00::2", 64}, {"ens4", "10.1.0.2", 24}}});
    EXPECT_EQ(choose(hosts, ""), (list{"10.0.0.1", "10.0.0.2"}));
    EXPECT_EQ(choose(hosts, "10.1.0.0/24"), (list{"10.1.0.1", "10.1.0.2"}));
    EXPECT_EQ(choose(hosts, "10.1.0.0/24,10.0.0.0/24"), (list{"10.1.0.1,10.0.0.1", "10.1.0.2,10.0.0.2"}));
    EXPECT_EQ(choose(hosts, "10.0.0.0/8"), (list{"10.0.0.1,10.1.0.1", "10.0.0.2,10.1.0.2"}));
    EXPECT_EQ(choose(hosts, "eth0,ens3"), (list{"10.0.0.1", "10.0.0.2"})) << "an interface is used once";
    EXPECT_EQ(choose(hosts, "eth0,eth1,ens3,ens4"), (list{"10.0.0.1,10.1.0.1", "10.0.0.2,10.1.0.2"}));
    EXPECT_EQ(choose(hosts, "fd00::/64"), (list{"fd00::1", "fd00::2"}));
    EXPECT_THROW((void)choose(hosts, "none0"), towline::usage_error);
}

TEST(addresses, of_networks_that_one_host_lacks_are_left_out)
{
    auto const hosts = hosts_with({{{"eth0", "10.0.0.1", 24}, {"eth1", "10.1.0.1", 24}}, {{"eth0", "10.0.0.2", 24}}});
    EXPECT_EQ(choose(hosts, "eth0,eth1"), (std::vector<std::string>{"10.0.0.1", "10.0.0.2"}));
    EXPECT_EQ(choose(hosts_with({{{"eth0", "10.0.0.1", 24}}, {{"eth0", "10.2.0.2", 24}}}), ""), (std::vector<std::string>{"10.0.0.1", "10.2.0.2"}))
        << "routers may join them";
}

TEST(addresses, are_at_most_as_many_as_a_job_uses)
{
    std::vector<std::vector<host_facts::address>> many(2);
    for (int h = 0; h < 2; ++h)
        for (int i = 0; i < 6; ++i)
            many[static_cast<std::size_t>(h)].push_back(
                {"eth" + std::to_string(i), "10." + std::to_string(i) + ".0." + std::to_string(h + 1), 24});
    EXPECT_EQ(choose(hosts_with(many), "10.0.0.0/8")[1], "10.0.0.2,10.1.0.2,10.2.0.2,10.3.0.2");
}
