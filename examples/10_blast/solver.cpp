#include "solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace blast {

solver::solver(solver_settings const& settings, layout const& cut, exchange& others, sweep_function* sweep)
    : settings_(settings), cut_(cut), others_(others)
{
    for (int id = 0; id < cut.count(); ++id) {
        if (cut.owner(id, others.processes()) == others.process()) {
            ids_.push_back(id);
            blocks_.emplace_back(cut[id], settings.matter, sweep);
        }
    }
}

void solver::start(std::function<primitive(int, int, int)> const& at)
{
    fastest_ = 0;
    for (block& b : blocks_) {
        b.fill(at);
        fastest_ = std::max(fastest_, b.fastest());
    }
    others_.greatest({&fastest_, 1});
    for (std::size_t i = 0; i < blocks_.size(); ++i)
        publish(i);
}

/// Sends the faces of a block's present state, which becomes that of tick_.
void solver::publish(std::size_t i)
{
    for (int face = 0; face < faces; ++face) {
        if (cut_.neighbour(ids_[i], face) < 0)
            continue;
        blocks_[i].pack(face, others_.outgoing(ids_[i], face, blocks_[i].face_size(face)));
        others_.send(ids_[i], face, tick_);
    }
}

bool solver::ready(std::size_t i)
{
    for (int face = 0; face < faces; ++face)
        if (cut_.neighbour(ids_[i], face) >= 0 && !others_.arrived(ids_[i], face, tick_))
            return false;
    return true;
}

void solver::receive(std::size_t i)
{
    for (int face = 0; face < faces; ++face) {
        if (cut_.neighbour(ids_[i], face) < 0) {
            blocks_[i].continue_outwards(face);
        } else {
            blocks_[i].unpack(face, others_.incoming(ids_[i], face, tick_));
            others_.release(ids_[i], face, tick_);
        }
    }
}

void solver::discard(std::size_t i)
{
    for (int face = 0; face < faces; ++face) {
        if (cut_.neighbour(ids_[i], face) >= 0) {
            (void)others_.incoming(ids_[i], face, tick_);
            others_.release(ids_[i], face, tick_);
        }
    }
}

/// Advances every block as soon as its neighbours' faces are here, and sends its own at once: while some faces travel, other blocks
/// compute.
sweep_result solver::stage(double ratio, bool protect, bool second)
{
    sweep_result all;
    std::vector<std::size_t> waiting(blocks_.size());
    for (std::size_t i = 0; i < waiting.size(); ++i)
        waiting[i] = i;
    while (!waiting.empty()) {
        auto next = std::find_if(waiting.begin(), waiting.end(), [&](std::size_t i) { return ready(i); });
        if (next == waiting.end())
            next = waiting.begin();
        std::size_t i = *next;
        waiting.erase(next);
        receive(i);
        sweep_result one = blocks_[i].advance(ratio, protect, second, scratch_);
        all.fastest = std::max(all.fastest, one.fastest);
        all.admissible = all.admissible && one.admissible;
        all.limited += one.limited;
        ++tick_;
        publish(i);
        --tick_;
    }
    ++tick_;
    return all;
}

bool solver::attempt(double dt, bool protect)
{
    double ratio = dt / settings_.width;
    sweep_result first = stage(ratio, protect, false);
    sweep_result second = stage(ratio, protect, true);
    double gathered[2] = {second.fastest, first.admissible && second.admissible ? 0.0 : 1.0};
    others_.greatest(gathered);
    if (gathered[1] > 0)
        return false;
    fastest_ = gathered[0];
    limited_ += static_cast<std::uint64_t>(first.limited + second.limited);
    return true;
}

/// A step that leaves the admissible states is repeated, half as long and with limited fluxes; all processes find out together.
double solver::step(double longest)
{
    double dt = std::min(settings_.cfl * settings_.width / fastest_, longest);
    for (int tries = 0; !attempt(dt, tries > 0); ++tries) {
        if (tries == 30)
            throw std::runtime_error(fmt::format("step {}: no time step keeps density and pressure positive", steps_ + 1));
        ++rejected_;
        dt *= 0.5;
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            discard(i);
        ++tick_;
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            blocks_[i].reject();
            publish(i);
        }
    }
    for (block& b : blocks_)
        b.accept();
    ++steps_;
    return dt;
}

void solver::finish()
{
    for (std::size_t i = 0; i < blocks_.size(); ++i)
        discard(i);
}

totals solver::sum()
{
    totals ours;
    for (block const& b : blocks_) {
        box const& where = b.where();
        for (int k = 0; k < variables; ++k)
            for (double const *v = b.row(k, where.first[1], where.first[2]), *end = v + where.volume(); v != end; ++v)
                ours.of[k].add(*v);
    }
    std::vector<std::uint64_t> words(variables * exact_sum::written);
    for (int k = 0; k < variables; ++k)
        ours.of[k].write(words.data() + k * exact_sum::written);
    totals all;
    for (std::vector<std::uint64_t> const& one : others_.gather(words)) {
        for (int k = 0; k < variables; ++k) {
            exact_sum part;
            part.read(one.data() + k * exact_sum::written);
            all.of[k] += part;
        }
    }
    return all;
}

namespace {

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

} // namespace

std::uint64_t solver::checksum()
{
    // Every value is hashed with its place and the hashes are added: nothing depends on who had which cell.
    std::uint64_t sum = 0;
    triple const cells = settings_.cells;
    for (block const& b : blocks_) {
        box const& where = b.where();
        for (int k = 0; k < variables; ++k)
            for (int z = where.first[2]; z < where.first[2] + where.cells[2]; ++z)
                for (int y = where.first[1]; y < where.first[1] + where.cells[1]; ++y) {
                    double const* row = b.row(k, y, z);
                    std::uint64_t place = ((static_cast<std::uint64_t>(k) * cells[2] + z) * cells[1] + y) * cells[0] + where.first[0];
                    for (int x = 0; x < where.cells[0]; ++x)
                        sum += mix(std::bit_cast<std::uint64_t>(row[x]) + mix(place + x + 0x9e3779b97f4a7c15));
                }
    }
    std::uint64_t all = 0;
    for (std::vector<std::uint64_t> const& one : others_.gather({&sum, 1}))
        all += one[0];
    return all;
}

std::vector<double> solver::density_slice(int z)
{
    auto overlap = [&](box const& b) { return z >= b.first[2] && z < b.first[2] + b.cells[2]; };
    std::vector<std::uint64_t> words;
    for (block const& b : blocks_) {
        box const& where = b.where();
        if (!overlap(where))
            continue;
        for (int y = where.first[1]; y < where.first[1] + where.cells[1]; ++y) {
            double const* row = b.row(0, y, z);
            for (int x = 0; x < where.cells[0]; ++x)
                words.push_back(std::bit_cast<std::uint64_t>(row[x]));
        }
    }
    auto parts = others_.gather(words);
    if (parts.empty())
        return {};
    std::vector<double> slice(static_cast<std::size_t>(settings_.cells[0]) * settings_.cells[1]);
    std::vector<std::size_t> next(parts.size());
    for (int id = 0; id < cut_.count(); ++id) {
        box where = cut_[id];
        if (!overlap(where))
            continue;
        auto owner = static_cast<std::size_t>(cut_.owner(id, others_.processes()));
        for (int y = where.first[1]; y < where.first[1] + where.cells[1]; ++y)
            for (int x = where.first[0]; x < where.first[0] + where.cells[0]; ++x)
                slice[static_cast<std::size_t>(y) * settings_.cells[0] + x] = std::bit_cast<double>(parts[owner][next[owner]++]);
    }
    return slice;
}

} // namespace blast
