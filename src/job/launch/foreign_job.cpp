// Joining the job of a launcher that is not ours.

#include "job/launch/foreign_job.hpp"

#include "base/machine.hpp"
#include "base/settings.hpp"
#include "job/file.hpp"
#include "job/job.hpp"
#include "job/launch/host_facts.hpp"
#include "job/launch/meeting.hpp"
#include "job/launch/process_mapping.hpp"
#include "towline/error.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <string>

namespace towline::job::launch {

namespace {

constexpr char const* job_text = "towline-job";    // of rank 0: version, id, key
constexpr char const* node_text = "towline-node";  // of the first rank of a node: the name of its socket
constexpr char const* host_text = "towline-host";  // of each rank, where the launcher does not tell the nodes: host_facts::machine
constexpr char const* facts_text = "towline-facts";  // of the first rank of a node, where there are several: TOWLINE_INTERFACES, facts

std::string text_of_key(job_key const& key)
{
    std::string text;
    for (std::byte const b : key)
        text += fmt::format("{:02x}", static_cast<unsigned>(b));
    return text;
}

/// What rank 0 said of the job.
struct identity {
    std::string id;
    job_key key{};
};

identity parse_identity(std::string const& text)
{
    // VERSION ID KEY
    auto const first = text.find(' ');
    auto const second = text.find(' ', first + 1);
    identity i;
    unsigned version = 0;
    if (first != text.npos && std::from_chars(text.data(), text.data() + first, version).ptr == text.data() + first &&
        version != control_version)
        throw version_error(fmt::format("rank 0 has another version of Towline (its job files are of version {}, not {})", version,
                                        control_version));
    if (second == text.npos || text.size() - second - 1 != 2 * i.key.size() || second - first - 1 > 31)
        throw error("what rank 0 says of the job is not of Towline's form");
    i.id = text.substr(first + 1, second - first - 1);
    for (std::size_t b = 0; b < i.key.size(); ++b) {
        unsigned value = 0;
        char const* const digits = text.data() + second + 1 + 2 * b;
        if (std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2)
            throw error("what rank 0 says of the job is not of Towline's form");
        i.key[b] = static_cast<std::byte>(value);
    }
    return i;
}

std::vector<std::uint32_t> nodes_by_hosts(launcher& l)
{
    std::vector<std::string> seen;
    std::vector<std::uint32_t> nodes;
    for (int r = 0; r < l.size(); ++r) {
        auto const host = l.get(r, host_text);
        auto const at = std::ranges::find(seen, host) - seen.begin();
        if (at == static_cast<std::ptrdiff_t>(seen.size()))
            seen.push_back(host);
        nodes.push_back(static_cast<std::uint32_t>(at));
    }
    return nodes;
}

/// Cores for the ranks of a node, each of which sees those to which its launcher bound it.
void count_cores(std::vector<host::guest> const& guests, job_options& options)
{
    auto const own = base::allowed_cpus();
    std::set<int> all(own.begin(), own.end());
    for (auto const& g : guests)
        all.insert(g.cpus.begin(), g.cpus.end());
    auto const bounded = [quota = base::cpu_quota()](std::size_t cores) {
        return quota ? std::min(cores, static_cast<std::size_t>(std::ceil(*quota))) : cores;
    };
    options.cores = static_cast<std::uint32_t>(std::max<std::size_t>(1, bounded(all.size())));
    options.bound = own.size() < all.size();
}

void go_on_while_all_live(void const* context)
{
    auto const& job = *static_cast<membership const*>(context);
    for (int r = 0; r < job.size(); ++r)
        if (job.slot(r).state.load(std::memory_order_seq_cst) == static_cast<std::uint32_t>(rank_state::dead))
            throw peer_error(fmt::format("fence: rank {} has died", r), r);
}

void go_on(void const*) {}

} // namespace

std::unique_ptr<foreign_job> foreign_job::join(std::function<void(base::unique_fd, int)> const& join)
{
    auto l = connect();
    if (l == nullptr)
        return nullptr;
    std::unique_ptr<foreign_job> job(new foreign_job(std::move(l)));
    if (job->launcher_->size() == 1)
        join(create_job_file(1), 0);
    else
        job->meet_node(join);
    return job;
}

void foreign_job::meet_node(std::function<void(base::unique_fd, int)> const& join)
{
    launcher& l = *launcher_;
    int const rank = l.rank();
    node_of_ = l.nodes();
    if (node_of_.empty()) {
        l.put(host_text, facts_of_host().machine);
        l.meet(base::deadline(patience_.ranks), &go_on, nullptr);
        node_of_ = nodes_by_hosts(l);
    }
    std::uint32_t const node = node_of_[static_cast<std::size_t>(rank)];
    std::vector<int> here;
    for (int r = 0; r < l.size(); ++r)
        if (node_of_[static_cast<std::size_t>(r)] == node)
            here.push_back(r);
    first_ = here.front() == rank;
    std::optional<host> listening;
    if (first_ && here.size() > 1)
        l.put(node_text, listening.emplace().name());
    bool const several = here.size() < node_of_.size();
    if (first_ && several)
        l.put(facts_text, fmt::format("{}\n{}", base::setting("TOWLINE_INTERFACES").value_or(""), to_text(facts_of_host())));
    if (rank == 0)
        l.put(job_text, fmt::format("{} {} {}", control_version, new_id(), text_of_key(new_key())));
    l.meet(base::deadline(patience_.ranks), &go_on, nullptr);
    identity const job = parse_identity(l.get(0, job_text));
    base::deadline const end(patience_.answer);
    if (!first_)
        return visit(l.get(here.front(), node_text), rank, job.key, base::allowed_cpus(), end,
                     [&](base::unique_fd file) { join(std::move(file), rank); });

    std::vector<host::guest> guests;
    if (listening)
        guests = listening->receive({here.begin() + 1, here.end()}, job.key, end);
    job_options options;
    options.id = job.id;
    options.key = &job.key;
    if (several)
        tell_of_network(options, node);
    count_cores(guests, options);
    auto file = create_job_file(static_cast<std::uint32_t>(l.size()), options);
    int const shared = file.get();
    join(std::move(file), rank);
    host::hand_out(guests, shared, end);
}

/// What the first ranks of all nodes have told of their hosts: each node chooses the same addresses from it, by the wish of rank 0.
void foreign_job::tell_of_network(job_options& options, std::uint32_t node) const
{
    std::vector<host_facts> facts(1 + *std::ranges::max_element(node_of_));
    std::vector<std::string> names(facts.size());
    std::string wished;
    for (std::uint32_t n = 0; n < facts.size(); ++n) {
        auto const text = launcher_->get(static_cast<int>(std::ranges::find(node_of_, n) - node_of_.begin()), facts_text);
        auto const end = std::min(text.find('\n'), text.size());
        if (n == node_of_[0])
            wished = text.substr(0, end);
        facts[n] = facts_in(text.substr(std::min(end + 1, text.size())));
        names[n] = facts[n].name;
        options.hosts += names[n] + '\0';
    }
    options.node_of = node_of_;
    options.node = node;
    options.addresses = choose_addresses(facts, names, wished)[node];
    options.beside = ranks_beside(facts, node_of_, node);
}

void foreign_job::fence(membership& job, std::uint32_t number, std::chrono::milliseconds timeout)
{
    if (job.header().nodes < 2)
        return;
    std::lock_guard const lock(one_);
    auto const key = [number](int) { return fmt::format("towline-card-{}", number); };
    auto& own = job.self();
    launcher_->put(key(job.rank()), {own.card.data(), std::min<std::size_t>(own.card_bytes.load(), own.card.size())});
    launcher_->meet(base::deadline(std::min(timeout, patience_.ranks)), &go_on_while_all_live, &job);
    if (!first_)
        return;
    for (int r = 0; r < job.size(); ++r) {
        if (job.is_here(r))
            continue;
        auto& slot = job.slot(r);
        auto const card = launcher_->get(r, key(r));
        if (card.size() > slot.card.size())
            throw error(fmt::format("the card of rank {} is too long: {} bytes", r, card.size()));
        std::memcpy(slot.card.data(), card.data(), card.size());
        slot.card_bytes.store(static_cast<std::uint32_t>(card.size()), std::memory_order_release);
        auto expected = static_cast<std::uint32_t>(rank_state::empty);
        slot.state.compare_exchange_strong(expected, static_cast<std::uint32_t>(rank_state::joined));
        slot.fences.store(number, std::memory_order_seq_cst);
    }
    control_view(job.fd()).wake_fences();
}

void foreign_job::abort(int code, std::string_view why) noexcept
{
    // Another thread may wait for the launcher's answer: it is not waited for.
    launcher_->abort(code, why);
}

void foreign_job::finalize() noexcept
{
    std::lock_guard const lock(one_);
    launcher_->finalize();
}

} // namespace towline::job::launch
