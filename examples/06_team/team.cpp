// What all processes do together, each with its part of the data.   towline run -n 4 06_team
#include <towline/team.hpp>
#include <towline/world.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    towline::team all(w);

    // A vector of a million numbers: each rank has its part.
    std::size_t const parts = static_cast<std::size_t>(all.size()), mine = (1000000 + static_cast<std::size_t>(all.rank())) / parts;
    std::vector<double> x(mine, 1.0 + all.rank());

    double norm = 0;
    for (double v : x)
        norm += v * v;
    norm = std::sqrt(all.all_reduce(norm));

    // Something else, while numbers are added up: the vector stays as it is until then.
    std::vector<double> histogram(1024, 1.0);
    towline::future<void> summed = all.start().all_reduce(histogram);
    for (double& v : x)
        v /= norm;
    summed.get();

    // Where this rank's part begins among all of them.
    std::vector<std::size_t> const here{mine};
    std::vector<std::size_t> begin{0};
    all.exclusive_scan(here, begin);
    std::vector<std::size_t> const begins = all.all_gather(begin[0]);

    if (all.rank() == 0)
        for (int r = 0; r < all.size(); ++r)
            std::printf("rank %d begins at %zu\n", r, begins[static_cast<std::size_t>(r)]);
}
