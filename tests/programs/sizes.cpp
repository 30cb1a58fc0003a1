// Prints the sizes by which this rank's engine chooses, one line.

#include "engine/process_engine.hpp"
#include "engine/tuning.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <string>

int main()
{
    auto const engine = towline::engine::process_engine(false, true);
    std::string line = fmt::format("rank {}:", engine->rank());
    for (auto const& t : towline::engine::tuning::table())
        line += fmt::format(" {}={}", t.name, engine->sizes().*t.value);
    std::puts(line.c_str());
}
