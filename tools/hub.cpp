// A keeper tells the others of its ranks, and writes what it is told into the job file.

#include "hub.hpp"

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "job/questions.hpp"
#include "towline/error.hpp"
#include "views.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace towline::tools {

namespace {

using nlohmann::json;

std::string packed(json const& j)
{
    std::string text;
    json::to_cbor(j, nlohmann::detail::output_adapter<char>(text));
    return text;
}

bool has_room(std::uint32_t bytes, job::rank_slot const& slot)
{
    return bytes <= slot.card.size();
}

} // namespace

hub::hub(node_part const& part, job::control_view& view)
    : part_(part), view_(view), channel_(base::unique_fd(part.link), base::unique_fd(fcntl(part.link, F_DUPFD_CLOEXEC, 0))),
      told_(view.slots().size()), news_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
    if (!news_)
        throw system_error("eventfd", errno);
}

hub::~hub()
{
    stop_.store(true);
    auto& word = view_.header().news;
    word.fetch_add(1);
    base::futex_wake_all(word);
    if (watcher_.joinable())
        watcher_.join();
}

void hub::start()
{
    watcher_ = std::thread([this] {
        auto& word = view_.header().news;
        for (std::uint32_t seen = 0; !stop_.load();) {
            std::uint32_t const now = word.load(std::memory_order_seq_cst);
            if (now != seen) {
                std::uint64_t const one = 1;
                (void)!::write(news_.get(), &one, sizeof one);
                seen = now;
            } else {
                base::futex_wait(word, seen, std::chrono::seconds(60));
            }
        }
    });
}

void hub::tell()
{
    std::uint64_t count = 0;
    (void)!::read(news_.get(), &count, sizeof count);
    json slots = json::array();
    auto const all = view_.slots();
    for (std::size_t r = 0; r < all.size(); ++r) {
        if (part_.node_of[r] != part_.node)
            continue;
        auto const& slot = all[r];
        // The state is read first: a rank that is told to have left had arrived at all of its fences.
        told now;
        now.state = slot.state.load(std::memory_order_seq_cst);
        now.fences = slot.fences.load(std::memory_order_seq_cst);
        now.card_bytes = slot.card_bytes.load(std::memory_order_acquire);
        now.marks = slot.marks.load();
        now.status = slot.status.load();
        if (now == told_[r] || !has_room(now.card_bytes, slot))
            continue;
        json one{{"rank", r}, {"state", now.state}, {"fences", now.fences}, {"marks", now.marks}, {"status", now.status}};
        if (now.card_bytes != told_[r].card_bytes)
            one["card"] = json::binary({slot.card.begin(), slot.card.begin() + now.card_bytes});
        slots.push_back(std::move(one));
        told_[r] = now;
    }
    if (!slots.empty())
        channel_.send(frame::news, packed({{"slots", std::move(slots)}}));
    if (std::uint32_t const asked = view_.header().asked.load(std::memory_order_acquire); asked != asked_) {
        asked_ = asked;
        channel_.send(frame::news, packed({{"look", asked}}));
    }
}

void hub::tell_end(int code)
{
    tell();
    channel_.send(frame::news, packed({{"code", code}, {"end", true}}));
}

void hub::tell_code(int code)
{
    channel_.send(frame::news, packed({{"code", code}}));
}

void hub::tell_counters()
{
    json all = json::array();
    auto const slots = view_.slots();
    for (std::size_t r = 0; r < slots.size(); ++r) {
        if (part_.node_of[r] != part_.node)
            continue;
        json one = json::array();
        for (auto const& counter : slots[r].counters)
            one.push_back(counter.load(std::memory_order_relaxed));
        all.push_back({{"rank", r}, {"counters", std::move(one)}});
    }
    channel_.send(frame::news, packed({{"counters", std::move(all)}}));
}

void hub::finish()
{
    base::deadline const end(std::chrono::seconds(1));
    while (channel_.flush() && channel_.waiting() > 0 && !end.passed()) {
        pollfd writable{channel_.out(), POLLOUT, 0};
        poll(&writable, 1, 100);
    }
}

hub::orders hub::look()
{
    orders out;
    channel_.flush();
    out.lost = !channel_.receive();
    while (auto const m = channel_.next()) {
        if (m->kind != frame::news)
            continue;
        json const j = json::from_cbor(m->payload);
        out.end = out.end || j.value("end", false);
        out.timeout = out.timeout || j.value("timeout", false);
        if (j.contains("slots"))
            take_slots(j["slots"]);
        take_question(j);
    }
    return out;
}

void hub::take_slots(json const& slots)
{
    for (auto const& one : slots) {
        auto const rank = one.at("rank").get<std::size_t>();
        if (rank >= part_.node_of.size() || part_.node_of[rank] == part_.node)
            throw error("the front of the job sends news of a rank that is not elsewhere");
        auto& slot = view_.slots()[rank];
        if (one.contains("card")) {
            auto const& card = one["card"].get_binary();
            std::size_t const size = std::min(card.size(), slot.card.size());
            std::memcpy(slot.card.data(), card.data(), size);
            slot.card_bytes.store(static_cast<std::uint32_t>(size), std::memory_order_release);
        }
        slot.marks.store(one.at("marks").get<std::uint32_t>());
        slot.fences.store(one.at("fences").get<std::uint32_t>(), std::memory_order_seq_cst);
        if (auto const state = one.at("state").get<std::uint32_t>(); state == static_cast<std::uint32_t>(job::rank_state::dead))
            view_.mark_dead(static_cast<int>(rank), one.at("status").get<int>());
        else
            slot.state.store(state, std::memory_order_seq_cst);
    }
    view_.wake_fences();
}

void hub::take_question(json const& j)
{
    if (j.contains("views")) {
        take_views(view_.slots(), j["views"], j.at("look").get<std::uint32_t>(), part_.node);
    } else if (j.contains("look")) {
        channel_.send(frame::news, packed({{"views", views_of(view_.slots(), part_.node)}, {"look", j["look"]}, {"from", j.at("from")}}));
    } else if (j.contains("looked")) {
        auto& answered = view_.header().answered;
        answered.store(j["looked"].get<std::uint32_t>(), std::memory_order_release);
        base::futex_wake_all(answered);
    }
}

void take_counters(job::control_view& view, std::string const& news)
{
    json const j = json::from_cbor(news);
    if (!j.contains("counters"))
        return;
    for (auto const& one : j["counters"]) {
        auto const rank = one.at("rank").get<std::size_t>();
        auto const& values = one.at("counters");
        if (rank >= view.slots().size())
            continue;
        auto& counters = view.slots()[rank].counters;
        for (std::size_t i = 0; i < counters.size() && i < values.size(); ++i)
            counters[i].store(values[i].get<std::uint64_t>());
    }
}

} // namespace towline::tools
