// A program that allocates much, for its time under another allocator: churn CONDUCTOR. It knows no MPI and takes turns (turn.h) in
//   churn      a step of it: some 2400 blocks come, as many go; most are small, most bytes lie in blocks above 64 KiB
// In a step: 2000 objects of 16 to 512 bytes, 64 records of 1 to 16 KiB, a table of strings, a list of numbers that grows to 160 KB, 8
// arrays of 32 to 256 KiB, and one of 0.5 to 4 MiB. Records and arrays are written and, when they go, compared. Sizes, and what goes,
// come from generators with fixed seeds, so that every run does the same.
#include "turn.h"

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

struct block {
    std::unique_ptr<std::uint64_t[]> words;
    std::size_t count = 0;
    std::uint64_t tag = 0;
};

/// Blocks of one class of sizes; each that comes takes the place of an old one.
class shelf {
public:
    shelf(unsigned seed, std::size_t places, std::size_t least, std::size_t most)
        : random_(seed), blocks_(places), least_(least), most_(most)
    {
    }

    /// Whether what goes held what was written.
    bool exchange(bool whole)
    {
        block& place = blocks_[random_() % blocks_.size()];
        bool good = true;
        for (std::size_t i = 0; i < place.count; i += whole ? 1 : place.count - 1)
            good &= place.words[i] == place.tag + i;
        // Sizes whose logarithms are spread evenly: small ones are many.
        double const share = double(random_() % 4096) / 4096;
        place.count = std::size_t(double(least_) * std::pow(double(most_) / double(least_), share)) / 8;
        place.tag = random_();
        place.words.reset();
        place.words.reset(new std::uint64_t[place.count]);
        for (std::size_t i = 0; i < place.count; i += whole ? 1 : place.count - 1)
            place.words[i] = place.tag + i;
        return good;
    }

private:
    std::minstd_rand random_;
    std::vector<block> blocks_;
    std::size_t least_, most_;
};

class program {
public:
    bool step()
    {
        bool good = true;
        for (int i = 0; i < 2000; ++i)
            good &= objects_.exchange(false);
        for (int i = 0; i < 64; ++i)
            good &= records_.exchange(true);
        for (int i = 0; i < 8; ++i)
            good &= arrays_.exchange(true);
        good &= fields_.exchange(true);
        for (int i = 0; i < 200; ++i) {
            auto const key = random_() % 2048;
            auto& entry = table_["entry " + std::to_string(key) + (key % 2 ? " with a name that is longer than others" : "")];
            if (entry.size() < 4)
                entry.emplace_back(std::string(8 + key % 64, 'x'));
            else
                table_.erase("entry " + std::to_string(key) + (key % 2 ? " with a name that is longer than others" : ""));
        }
        std::vector<double> grown;
        for (int i = 0; i < 20000; ++i)
            grown.push_back(i);
        return good && grown[19999] == 19999;
    }

private:
    std::minstd_rand random_{5};
    shelf objects_{1, 8192, 16, 512}, records_{2, 256, 1024, 16 << 10};
    shelf arrays_{3, 16, 32 << 10, 256 << 10}, fields_{4, 4, 512 << 10, 4 << 20};
    std::unordered_map<std::string, std::vector<std::string>> table_;
};

program* running = nullptr;

void churn(work* w, long times)
{
    for (long i = 0; i < times; ++i)
        w->wrong |= !running->step();
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2)
        give_up("the conductor's socket is needed; it stands at the head of bench/mpi/churn.cpp");
    program own;
    running = &own;
    conductor c = meet_conductor(argv[1], 0, "no MPI");
    work w{};
    w.ranks = 1;
    while (await_turn(c, &w)) {
        if (std::string(w.name) == "churn")
            take_turn(c, &w, churn, churn, 1, 1);
        else
            refuse(c, "no such case");
    }
    std::fclose(c.in);
    std::fclose(c.out);
    return 0;
}
