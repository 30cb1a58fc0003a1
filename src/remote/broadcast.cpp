// Broadcast calls: arguments are encoded once and travel down a binomial tree; results travel up.
//
// A rank gets a broadcast for a list of ranks, itself and its subtree. It sends the upper half of the list to the first rank of that half,
// and so on until it is alone. Then it runs the function, waits for its branches, and sends all results unchanged to where the call came
// from.

#include "remote/message.hpp"

#include "base/copy.hpp"
#include "base/log.hpp"
#include "heap/heap.hpp"

#include <towline/remote_error.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <unordered_set>

namespace towline::remoting {
namespace {

constexpr std::size_t rounded(std::size_t n, std::size_t to) noexcept
{
    return (n + to - 1) / to * to;
}

void append(std::vector<std::byte>& to, void const* data, std::size_t size, std::size_t padded_to = 1)
{
    auto const* const p = static_cast<std::byte const*>(data);
    to.insert(to.end(), p, p + size);
    to.resize(rounded(to.size(), padded_to));
}

/// The encoded answer of a subtree.
class subtree_reply final : public state_base {
public:
    subtree_reply() : state_base(2) {}
    static void take(state_base& s, detail::message_view& m)
    {
        auto& self = static_cast<subtree_reply&>(s);
        engine::incoming& message = static_cast<reply_message&>(m).message;
        message.keep();
        self.message.emplace(std::move(message));
        self.complete();
    }
    std::optional<engine::incoming> message;
};

/// One encoded result inside its message.
struct result_entry {
    int rank = 0;
    wire::status outcome = wire::status::ok;
    std::uint16_t flags = 0;
    std::span<std::byte const> bytes;
    engine::incoming* message = nullptr;
    std::size_t first_block = 0, blocks = 0;
};

/// A source of blocks in memory of this process.
class memory_source final : public chunk_source {
public:
    explicit memory_source(std::span<engine::block const> blocks) noexcept : blocks_(blocks) {}
    [[nodiscard]] std::size_t count() const override { return blocks_.size(); }
    [[nodiscard]] std::uint64_t size(std::size_t i) const override { return blocks_[i].size; }
    [[nodiscard]] void const* view(std::size_t i) override { return blocks_[i].data; }
    [[nodiscard]] void* take(std::size_t) override { return nullptr; }
    void fetch(std::size_t i, void* to) override { base::copy_block(to, blocks_[i].data, blocks_[i].size); }

private:
    std::span<engine::block const> blocks_;
};

/// The function's result at this rank, kept until it is sent upwards.
class local_call final : public detail::invocation {
public:
    void wait_for_blocks() override {}
    bool reply_packed(std::byte* values, std::size_t size) override
    {
        flags = wire::packed;
        append(result, values, size);
        return true;
    }
    void reply(detail::parcel& p) override
    {
        std::span<std::byte const> const head = p.close(0);
        append(result, head.data(), head.size());
        for (chunk const& c : p.writer().chunks())
            blocks.push_back({c.data, c.size, c.kind == chunk_kind::rma_given ? engine::lending::give : engine::lending::lend, false});
        p.given_away();
        held = p.release_held();
    }
    ~local_call()
    {
        while (held != nullptr)
            delete std::exchange(held, held->next);
        if (!sent)
            for (engine::block const& b : blocks)
                if (b.how == engine::lending::give)
                    heap::deallocate(const_cast<void*>(b.data));
    }
    wire::status outcome = wire::status::ok;
    std::uint16_t flags = 0;
    std::vector<std::byte> result;
    std::vector<engine::block> blocks;
    detail::held* held = nullptr;
    bool sent = false;
};

struct heap_block : detail::held {
    explicit heap_block(std::size_t size) : data(heap::allocate(size)) {}
    ~heap_block() override { heap::deallocate(data); }
    void* data;
};

/// A broadcast at one rank: its branches, and the step after they have answered. Counts itself down; the last step is a separate task.
class spread : public task, public detail::pooled {
public:
    spread(runtime& r, action_entry const* e, std::uint64_t id, std::uint16_t f, bool reply_wanted)
        : runtime_(r), entry_(e), action_id_(id), flags_(f), wanted_(reply_wanted)
    {
        task::run = [](task* t) noexcept { static_cast<spread*>(t)->finish(); };
    }
    spread(spread const&) = delete;
    virtual ~spread()
    {
        while (held_ != nullptr)
            delete std::exchange(held_, held_->next);
    }

protected:
    struct branch : detail::waiter {
        spread* owner = nullptr;
        std::vector<int> ranks;
        detail::state_ref<subtree_reply> reply;
    };
    virtual void finish() noexcept = 0;

    void arrive() noexcept
    {
        if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            runtime_.pool().push(*this);
    }

    /// Splits the ranks among branches and sends to each. The blocks stay until the last step.
    void send_down(std::vector<int> ranks, std::span<std::byte const> arguments, std::span<engine::block const> blocks)
    {
        while (!ranks.empty()) {
            std::size_t const half = ranks.size() / 2;
            branches_.push_back(std::make_unique<branch>());
            branches_.back()->ranks.assign(ranks.begin() + static_cast<std::ptrdiff_t>(half), ranks.end());
            ranks.resize(half);
        }
        left_.fetch_add(branches_.size() * ((wanted_ ? 1u : 0u) + (blocks.empty() ? 0u : 1u)), std::memory_order_relaxed);
        for (auto& b : branches_)
            send_branch(*b, arguments, blocks);
    }

    /// Collects the results of the branches, by rank. A missing or invalid result becomes an error of that rank, whose bytes are in
    /// `errors`.
    void collect(std::vector<result_entry>& results, std::vector<std::vector<std::byte>>& errors)
    {
        for (auto& b : branches_) {
            std::unordered_set<int> missing(b->ranks.begin(), b->ranks.end());
            std::string wrong;
            if (b->reply->error())
                wrong.clear();
            else if (!parse(*b, missing, results))
                wrong = fmt::format("rank {} answered a broadcast with results that cannot be read", b->ranks.front());
            if (missing.empty())
                continue;
            caught c{wire::status::archive, b->ranks.front(), {}, std::move(wrong)};
            if (b->reply->error()) {
                try {
                    std::rethrow_exception(b->reply->error());
                } catch (...) {
                    c = describe_current_exception(runtime_, false);
                }
            }
            errors.push_back(encode_error(c.where, c.type, c.text));
            for (int const r : missing)
                results.push_back({r, c.outcome, 0, errors.back(), nullptr, 0, 0});
        }
    }

    runtime& runtime_;
    action_entry const* entry_;
    std::uint64_t action_id_;
    std::uint16_t flags_;
    bool wanted_;
    std::vector<std::unique_ptr<branch>> branches_;
    detail::held* held_ = nullptr;
    std::atomic<std::size_t> left_{1};

private:
    void send_branch(branch& b, std::span<std::byte const> arguments, std::span<engine::block const> blocks)
    {
        int const to = b.ranks.front();
        call_id id;
        if (wanted_) {
            b.owner = this;
            b.notify = [](detail::waiter* w) noexcept { static_cast<branch*>(w)->owner->arrive(); };
            b.reply = detail::state_ref<subtree_reply>(new subtree_reply);
            static_cast<void>(b.reply->add(b));
            id = runtime_.calls().acquire({b.reply.get(), &subtree_reply::take, entry_}, static_cast<std::uint32_t>(to));
        }
        std::vector<std::byte> head;
        head.reserve(arguments.size() + b.ranks.size() * 4 + 64);
        append(head, arguments.data(), arguments.size(), 8);
        for (std::size_t i = 1; i < b.ranks.size(); ++i) {
            auto const rank = static_cast<std::uint32_t>(b.ranks[i]);
            append(head, &rank, sizeof rank);
        }
        head.resize(rounded(head.size(), 8));
        wire::tree_footer const f{
            action_id_, arguments.size(), id.slot, id.generation, static_cast<std::uint32_t>(b.ranks.size() - 1), flags_, 0};
        append(head, &f, sizeof f);
        runtime_.count_sent(to);
        try {
            runtime_.check_callable(to);
            engine::completion sent;
            if (!blocks.empty())
                sent = {[](void* self, bool) { static_cast<spread*>(self)->arrive(); }, this};
            runtime_.send_bytes(to, wire::tree_request, head, blocks, sent);
        } catch (...) {
            runtime_.count_unsent(to);
            if (!blocks.empty())
                arrive();
            if (!wanted_)
                base::log(base::log_level::warning, "a broadcast post did not reach rank {}", to);
            else if (auto const call = runtime_.calls().take(id, static_cast<std::uint32_t>(to))) {
                call->state->set_error(std::current_exception());
                call->state->release();
                runtime_.calls().ended();
            }
        }
    }

    bool parse(branch& b, std::unordered_set<int>& missing, std::vector<result_entry>& results)
    {
        if (!b.reply->message)
            return false;
        engine::incoming& m = *b.reply->message;
        auto const f = wire::tail<wire::reply_footer>(m.head());
        std::span<std::byte const> rest = m.head().first(m.head().size() - sizeof *f);
        std::size_t block = 0;
        for (std::uint32_t i = 0; i < f->entries; ++i) {
            wire::tree_entry e{};
            if (rest.size() < sizeof e)
                return false;
            std::memcpy(&e, rest.data(), sizeof e);
            rest = rest.subspan(sizeof e);
            if (e.bytes > rest.size() || e.blocks > m.blocks() - block || e.outcome >= wire::status::count_ ||
                missing.erase(static_cast<int>(e.rank)) != 1)
                return false;
            results.push_back({static_cast<int>(e.rank), e.outcome, e.flags, rest.first(e.bytes), &m, block, e.blocks});
            rest = rest.subspan(std::min<std::size_t>(rounded(e.bytes, 16), rest.size()));
            block += e.blocks;
        }
        return true;
    }
};

/// The rank that made the call.
class spread_root final : public spread {
public:
    spread_root(runtime& r, action_entry const& e, std::uint16_t f, std::vector<int> ranks, state_base* s,
                detail::complete_all_function complete)
        : spread(r, &e, e.id, f, s != nullptr), ranks_(std::move(ranks)), state_(s), complete_(complete)
    {
    }
    detail::state_ref<detail::state<void>> start(std::span<std::byte const> packed, detail::parcel* p)
    {
        std::vector<engine::block> blocks;
        bool lent = false;
        std::vector<std::byte> arguments;
        if (p != nullptr) {
            std::span<std::byte const> const index = p->close(0);
            arguments.assign(index.begin(), index.end());
            for (std::size_t i = 0; i < p->writer().chunks().size(); ++i) {
                chunk const& c = p->writer().chunks()[i];
                void const* data = c.data;
                if (p->captured(i) || !heap::contains(c.data)) {
                    // Several branches read the block: one copy into shared memory replaces one for each branch.
                    auto* const copy = new heap_block(c.size);
                    copy->next = std::exchange(held_, copy);
                    base::copy_block(copy->data, c.data, c.size);
                    data = copy->data;
                } else
                    lent = true;
                blocks.push_back({data, c.size, engine::lending::lend, c.viewed});
            }
            if (lent)
                for (detail::held* h = p->release_held(); h != nullptr;) {
                    detail::held* const following = h->next;
                    h->next = std::exchange(held_, h);
                    h = following;
                }
        } else
            arguments.assign(packed.begin(), packed.end());
        detail::state_ref<detail::state<void>> sent;
        if (lent) {
            sent = detail::state_ref<detail::state<void>>(new detail::state<void>);
            sent_ = sent;
        }
        send_down(ranks_, arguments, blocks);
        arrive();
        return sent;
    }

private:
    void finish() noexcept override
    {
        if (sent_)
            sent_->set_value();
        if (state_ != nullptr) {
            try {
                deliver();
            } catch (...) {
                state_->set_error(std::current_exception());
            }
            state_->release();
        }
        delete this;
    }
    void deliver()
    {
        std::vector<result_entry> results;
        std::vector<std::vector<std::byte>> errors;
        collect(results, errors);
        std::vector<std::optional<entry_view>> views(ranks_.size());
        std::vector<std::size_t> position(static_cast<std::size_t>(runtime_.size()), 0);
        for (std::size_t i = 0; i < ranks_.size(); ++i)
            position[static_cast<std::size_t>(ranks_[i])] = i;
        std::vector<result_entry const*> ordered(ranks_.size());
        for (result_entry const& e : results)
            ordered[position[static_cast<std::size_t>(e.rank)]] = &e;
        std::vector<detail::message_view*> pointers;
        for (std::size_t i = 0; i < ordered.size(); ++i) {
            result_entry const& e = *ordered[i];
            if (e.outcome != wire::status::ok)
                return state_->set_error(decode_error(runtime_, e.outcome, e.bytes, e.rank, entry_->name));
            views[i].emplace(runtime_, e);
            pointers.push_back(&*views[i]);
        }
        complete_(*state_, pointers);
    }
    class entry_view final : public detail::message_view {
    public:
        entry_view(runtime& r, result_entry const& e)
            : runtime_(r), message_(*e.message), source_(*e.message, e.first_block, e.blocks, patience::may_wait)
        {
            bytes = e.bytes;
            packed = (e.flags & wire::packed) != 0;
            chunks = &source_;
            max_bytes = r.max_message();
        }
        entry_view(entry_view const&) = delete;
        void wait_for_blocks() override
        {
            source_.start();
            remoting::wait_for_blocks(runtime_, message_);
        }

    private:
        runtime& runtime_;
        engine::incoming& message_;
        message_source source_;
    };

    std::vector<int> ranks_;
    state_base* state_;
    detail::complete_all_function complete_;
    detail::state_ref<detail::state<void>> sent_;
};

/// Every other rank of the tree.
class spread_node final : public spread {
public:
    spread_node(runtime& r, action_entry const* e, wire::tree_footer const& f, std::vector<int> subtree, engine::incoming&& m)
        : spread(r, e, f.action_id, f.flags, f.generation != 0), footer_(f), subtree_(std::move(subtree)), message_(std::move(m))
    {
        starting_.owner = this;
        starting_.run = [](task* t) noexcept { static_cast<starter*>(t)->owner->start(); };
    }
    [[nodiscard]] task& starting() noexcept { return starting_; }

private:
    void start() noexcept
    {
        try {
            reach_blocks();
            std::span<std::byte const> const arguments = message_.head().first(footer_.argument_bytes);
            send_down(std::move(subtree_), arguments, blocks_);
            if (entry_ == nullptr)
                throw unknown_action_error(fmt::format("rank {} runs another program, which does not have the function", runtime_.rank()));
            run_here(arguments);
        } catch (...) {
            fail(false);
        }
        arrive();
    }
    void fail(bool running)
    {
        caught const c = describe_current_exception(runtime_, running);
        own_.outcome = c.outcome;
        own_.flags = 0;
        own_.result = encode_error(c.where, c.type, c.text);
        own_.blocks.clear();
        if (!wanted_)
            base::log(base::log_level::warning, "a posted {} from rank {} failed with {}: {}",
                      entry_ != nullptr ? entry_->name : "function", message_.source(), c.type, c.text);
    }
    void reach_blocks()
    {
        // Allocate all destinations before the first fetch begins.
        std::vector<std::pair<std::size_t, void*>> fetches;
        for (std::size_t i = 0; i < message_.blocks(); ++i) {
            void const* data = message_.view(i);
            if (data == nullptr) {
                auto* const copy = new heap_block(message_.block_size(i));
                copy->next = std::exchange(held_, copy);
                fetches.emplace_back(i, copy->data);
                data = copy->data;
                fetched_ = true;
            }
            blocks_.push_back({data, message_.block_size(i), engine::lending::lend, false});
        }
        for (auto const& [i, to] : fetches)
            message_.fetch(i, to);
        wait_for_blocks(runtime_, message_);
    }
    void run_here(std::span<std::byte const> arguments)
    {
        if (fiber* const f = fiber::current())
            f->rename(entry_->name, static_cast<int>(message_.source()));
        message_source direct(message_, 0, message_.blocks(), patience::none, false);
        memory_source copies(blocks_);
        own_.bytes = arguments;
        own_.packed = (footer_.flags & wire::packed) != 0;
        own_.max_bytes = runtime_.max_message();
        own_.chunks = fetched_ ? static_cast<chunk_source*>(&copies) : &direct;
        own_.source = static_cast<int>(message_.source());
        try {
            entry_->run(own_);
        } catch (...) {
            fail(own_.running);
        }
    }
    void finish() noexcept override
    {
        if (!wanted_) {
            delete this;
            return;
        }
        call_id const id{footer_.slot, footer_.generation};
        int const to = static_cast<int>(message_.source());
        try {
            if (answer(to, id))
                return;  // destroyed when the engine reports that everything is sent
        } catch (peer_error const&) {
            // The caller has died.
        } catch (std::exception const& e) {
            runtime_.reply_error(to, id, wire::status::limit, runtime_.rank(), "", e.what());
        }
        delete this;
    }
    /// Sends the results. True if blocks are lent to the engine; then `this` lives until they are sent.
    bool answer(int to, call_id id)
    {
        std::vector<result_entry> results;
        std::vector<std::vector<std::byte>> errors;
        collect(results, errors);
        std::vector<std::byte> head;
        std::vector<engine::block> blocks = own_.blocks;
        auto const put = [&](int rank, wire::status outcome, std::uint16_t flags, std::span<std::byte const> bytes, std::size_t n) {
            wire::tree_entry const e{static_cast<std::uint32_t>(rank), outcome, flags, static_cast<std::uint32_t>(n), 0, bytes.size(), 0};
            append(head, &e, sizeof e);
            append(head, bytes.data(), bytes.size(), 16);
        };
        put(runtime_.rank(), own_.outcome, own_.flags, own_.result, own_.blocks.size());
        for (result_entry const& e : results) {
            put(e.rank, e.outcome, e.flags, e.bytes, e.blocks);
            for (std::size_t i = e.first_block; i < e.first_block + e.blocks; ++i)
                blocks.push_back(pass_on(*e.message, i));
        }
        for (result_entry const& e : results)
            if (e.message != nullptr)
                wait_for_blocks(runtime_, *e.message);
        wire::reply_footer const f{id.slot, id.generation, wire::status::ok, 0, static_cast<std::uint32_t>(results.size() + 1)};
        append(head, &f, sizeof f);
        own_.sent = true;
        bool const lends = std::any_of(blocks.begin(), blocks.end(), [](engine::block const& b) { return b.how == engine::lending::lend; });
        engine::completion sent;
        if (lends)
            sent = {[](void* self, bool) { delete static_cast<spread_node*>(self); }, this};
        runtime_.send_bytes(to, wire::reply, head, blocks, sent);
        return lends;
    }
    engine::block pass_on(engine::incoming& m, std::size_t i)
    {
        std::size_t const size = m.block_size(i);
        if (void* const mine = m.take(i))
            return {mine, size, engine::lending::give, false};
        if (void const* const seen = m.view(i))
            return {seen, size, engine::lending::lend, false};
        void* const copy = heap::allocate(size);
        m.fetch(i, copy);
        return {copy, size, engine::lending::give, false};
    }

    struct starter : task {
        spread_node* owner = nullptr;
    };
    wire::tree_footer footer_;
    std::vector<int> subtree_;
    engine::incoming message_;
    std::vector<engine::block> blocks_;
    bool fetched_ = false;
    local_call own_;
    starter starting_;
};

} // namespace

void runtime::on_tree(engine::incoming& m)
{
    auto const f = wire::tail<wire::tree_footer>(m.head());
    if (!f || !active()) {
        ++hostile_;
        return;
    }
    int const source = static_cast<int>(m.source());
    std::size_t const before = m.head().size() - sizeof *f;
    std::uint64_t const ranks_at = before - std::min<std::uint64_t>(before, rounded(std::size_t{f->ranks} * 4, 8));
    bool sound =
        f->ranks < static_cast<std::uint32_t>(size()) && rounded(std::size_t{f->ranks} * 4, 8) <= before && f->argument_bytes <= ranks_at;
    std::vector<int> subtree;
    for (std::uint32_t i = 0; sound && i < f->ranks; ++i) {
        std::uint32_t r = 0;
        std::memcpy(&r, m.head().data() + ranks_at + i * 4, 4);
        sound = r < static_cast<std::uint32_t>(size()) && static_cast<int>(r) != rank() &&
                std::find(subtree.begin(), subtree.end(), static_cast<int>(r)) == subtree.end();
        subtree.push_back(static_cast<int>(r));
    }
    if (sound) {
        m.keep();
        pool().push((new spread_node(*this, actions_.find(f->action_id), *f, std::move(subtree), std::move(m)))->starting());
    } else
        reply_error(source, {f->slot, f->generation}, wire::status::archive, rank(), "", "a broadcast whose list of ranks cannot be read");
    handled(source);
}

detail::state_ref<detail::state<void>> runtime::send_to_all(action_entry const& e, std::span<int const> ranks, state_base* s,
                                                            detail::complete_all_function complete, std::span<std::byte const> packed,
                                                            detail::parcel* p)
{
    check_rank(rank());
    std::vector<bool> seen(static_cast<std::size_t>(size()));
    for (int const r : ranks) {
        check_rank(r);
        if (seen[static_cast<std::size_t>(r)])
            throw usage_error(fmt::format("rank {} is twice among the localities of one call", r));
        seen[static_cast<std::size_t>(r)] = true;
    }
    std::vector<int> list(ranks.begin(), ranks.end());
    if (list.empty()) {
        if (s != nullptr) {
            complete(*s, {});
            s->release();
        }
        return {};
    }
    auto* const root = new spread_root(*this, e, static_cast<std::uint16_t>(p == nullptr ? wire::packed : 0), list, s, complete);
    return root->start(packed, p);
}

} // namespace towline::remoting

namespace towline::detail {

state_ref<state<void>> send_to_all(action_entry const& e, std::span<int const> ranks, state_base* s, complete_all_function complete,
                                   std::span<std::byte const> packed, parcel* p)
{
    return remoting::runtime::current().send_to_all(e, ranks, s, complete, packed, p);
}

} // namespace towline::detail
