// Calls of every kind from every rank to every rank, checked. storm ROUNDS [big]; 0 rounds: without end. "big": one transfer of 256 MiB
// first. Says "up" once everybody is there, and "done" at the end.

#include <towline/async.hpp>
#include <towline/object.hpp>
#include <towline/rma_vector.hpp>
#include <towline/world.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(bool condition, char const* what)
{
    if (!condition)
        throw std::runtime_error(what);
}

int add(int a, int b)
{
    return a + b;
}

long sum(std::vector<int> const& numbers)
{
    return std::accumulate(numbers.begin(), numbers.end(), 0L);
}

towline::rma_vector<int> doubled(towline::rma_vector<int> numbers)
{
    for (int& n : numbers)
        n *= 2;
    return numbers;
}

std::string echo(std::string const& text)
{
    return text;
}

void throws(int code)
{
    throw std::out_of_range(std::to_string(code));
}

towline::locality neighbour;  // written before the first barrier

/// Goes on around the ring until nothing is left.
int around(int hops)
{
    return hops == 0 ? 0 : 1 + towline::async<&around>(neighbour, hops - 1).get();
}

std::atomic<long> posted{0};

void note(long n)
{
    posted += n;
}

struct tally {
    std::atomic<long> n{0};
    long add(long d) { return n += d; }
};

void round(towline::world& w, std::minstd_rand& random)
{
    towline::locality const peer = w.at(static_cast<int>(random() % static_cast<unsigned>(w.size())));
    switch (random() % 9) {
    case 0:
    case 1: {
        std::vector<towline::future<int>> answers;
        for (int i = 0; i < 20; ++i)
            answers.push_back(towline::async<&add>(peer, i, 1));
        for (int i = 0; i < 20; ++i)
            check(answers[static_cast<std::size_t>(i)].get() == i + 1, "add");
        break;
    }
    case 2: {
        std::vector<int> const numbers(random() % 60'000, 3);
        check(towline::async<&sum>(peer, numbers).get() == 3L * static_cast<long>(numbers.size()), "sum");
        break;
    }
    case 3: {
        towline::rma_vector<int> numbers(random() % 300'000, 4);
        auto const size = numbers.size();
        numbers = towline::async<&doubled>(peer, std::move(numbers)).get();
        check(numbers.size() == size && (size == 0 || (numbers.front() == 8 && numbers.back() == 8)), "doubled");
        break;
    }
    case 4: {
        std::string const text(random() % 3000, 'e');
        check(towline::async<&echo>(peer, text).get() == text, "echo");
        break;
    }
    case 5:
        try {
            towline::async<&throws>(peer, 5).get();
            check(false, "nothing was thrown");
        } catch (towline::remote_error const& e) {
            check(std::strstr(e.what(), "5") != nullptr, e.what());
        }
        break;
    case 6:
        check(towline::async<&around>(peer, 10).get() == 10, "around");
        break;
    case 7: {
        auto object = towline::create<tally>(peer).get();
        towline::async<&tally::add>(object, 2L).get();
        check(towline::async<&tally::add>(object, 3L).get() == 5, "tally");
        break;
    }
    default:
        towline::post<&note>(peer, 1L);
    }
}

} // namespace

int main(int argc, char** argv)
try {
    long const rounds = argc > 1 ? std::atol(argv[1]) : 10;
    towline::world w(argc, argv);
    neighbour = w.next();
    w.barrier();
    std::puts("up");
    std::fflush(stdout);
    if (argc > 2 && std::strcmp(argv[2], "big") == 0) {
        towline::rma_vector<int> numbers(std::size_t{64} << 20, 1);
        numbers = towline::async<&doubled>(w.next(), std::move(numbers)).get();
        check(numbers.back() == 2, "big");
        std::vector<int> const copied(std::size_t{24} << 20, 1);
        check(towline::async<&sum>(w.next(), copied).get() == long{24} << 20, "big copy");
    }
    std::minstd_rand random(static_cast<unsigned>(w.rank()) + 1);
    for (long i = 0; rounds == 0 || i < rounds; ++i)
        round(w, random);
    w.barrier();
    std::puts("done");
    return 0;
} catch (std::exception const& e) {
    std::fprintf(stderr, "storm: %s\n", e.what());
    return 3;
}
