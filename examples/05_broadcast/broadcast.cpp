// One call to all processes: the arguments are encoded once and travel down a tree.   towline run -n 4 05_broadcast
#include <towline/archive_map.hpp>
#include <towline/async.hpp>
#include <towline/world.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

static std::map<std::string, double> settings;

void configure(std::map<std::string, double> const& s)
{
    settings = s;
}

std::string report(int digits)
{
    char text[64];
    std::snprintf(text, sizeof text, "gamma %.*f, in %d processes", digits, settings["gamma"], towline::size());
    return text;
}

int main(int argc, char** argv)
{
    towline::world w(argc, argv);
    if (w.rank() == 0) {
        std::map<std::string, double> const s{{"gamma", 1.4}, {"cfl", 0.4}};
        towline::async<&configure>(w.all(), s).get();
        std::vector<std::string> const reports = towline::async<&report>(w.all(), 3).get();
        for (std::size_t i = 0; i < reports.size(); ++i)
            std::printf("rank %zu: %s\n", i, reports[i].c_str());
    }
    w.barrier();
}
