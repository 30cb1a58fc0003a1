// Decks: what is wrong is named with file, line and key.

#include "canvas.hpp"
#include "deck.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace blast;
using testing::AllOf;
using testing::HasSubstr;

namespace {

std::string message(std::string const& text)
{
    try {
        parse_deck(text, "my.toml");
    } catch (deck_error const& e) {
        return e.what();
    }
    return "no error";
}

std::string with(std::string const& section, std::string const& line)
{
    std::string grid = "cells = 32\nedge = 2.4\n";
    std::string run = "end_time = 0.5\n";
    auto add = [&](std::string const& name, std::string const& lines) {
        return "[" + name + "]\n" + lines + (name == section ? line + "\n" : "");
    };
    return add("grid", grid) + add("run", run) + add("gas", "") + add("blast", "");
}

} // namespace

TEST(deck, reads_what_is_there_and_fills_in_the_rest)
{
    deck d = parse_deck(with("gas", "gamma = 1.6666"), "my.toml");
    EXPECT_EQ(d.cells, 32);
    EXPECT_EQ(d.gamma, 1.6666);
    EXPECT_EQ(d.density, 1.0);
    EXPECT_EQ(d.end_time, 0.5);
    EXPECT_EQ(parse_deck(with("gas", "density = 2"), "my.toml").density, 2.0); // a whole number is a number
}

TEST(deck, names_file_line_and_key)
{
    EXPECT_THAT(message(with("gas", "gamma = -1.4")),
                AllOf(HasSubstr("my.toml:7: gas.gamma"), HasSubstr("-1.4"), HasSubstr("from 1.05 to 3")));
    EXPECT_THAT(message(with("gas", "gamma = \"air\"")), AllOf(HasSubstr("my.toml:7: gas.gamma"), HasSubstr("string")));
    EXPECT_THAT(message(with("gas", "gama = 1.4")),
                AllOf(HasSubstr("my.toml:7"), HasSubstr("unknown key gas.gama"), HasSubstr("gas.gamma")));
    EXPECT_THAT(message(with("gas", "density = nan")), HasSubstr("my.toml:7: gas.density"));
    EXPECT_THAT(message(with("gas", "density = inf")), HasSubstr("my.toml:7: gas.density"));
    EXPECT_THAT(message(with("gas", "pressure = 0")), HasSubstr("my.toml:7: gas.pressure"));
    EXPECT_THAT(message(with("gas", "pressure = 1.0")), AllOf(HasSubstr("my.toml:7: gas.pressure"), HasSubstr("at most")));
    EXPECT_THAT(message(with("blast", "energy = -1")), HasSubstr("my.toml:8: blast.energy"));
    EXPECT_THAT(message(with("run", "cfl = 0.9")), HasSubstr("my.toml:6: run.cfl"));
    EXPECT_THAT(message(with("run", "pictures = 2.5")), AllOf(HasSubstr("my.toml:6: run.pictures"), HasSubstr("whole number")));
    EXPECT_THAT(message(with("gas", "[gas.inner]\nx = 1")), HasSubstr("unknown key gas.inner"));
    EXPECT_THAT(message("cells = 3\n" + with("gas", "")), HasSubstr("my.toml:1: unknown key \"cells\""));
    EXPECT_THAT(message(with("gas", "[oven]\nx = 1")), HasSubstr("my.toml:7: unknown section \"oven\""));
    EXPECT_THAT(message(with("gas", "gamma = = 2")), HasSubstr("my.toml:7:"));
    EXPECT_THAT(message(""), AllOf(HasSubstr("my.toml"), HasSubstr("grid.cells is missing")));
}

TEST(deck, refuses_runs_that_make_no_sense)
{
    EXPECT_THAT(message("[grid]\ncells = 33\nedge = 2.4\n[run]\nend_time = 0.5"),
                AllOf(HasSubstr("my.toml:2: grid.cells"), HasSubstr("even")));
    EXPECT_THAT(message("[grid]\ncells = 32\nedge = 2.4\n[run]\nend_time = 9"),
                AllOf(HasSubstr("my.toml:5: run.end_time"), HasSubstr("at most")));
    EXPECT_THAT(message("[grid]\ncells = 32\nedge = 2.4\n[run]\nend_time = 1e-5"),
                AllOf(HasSubstr("my.toml:5: run.end_time"), HasSubstr("at least")));
    EXPECT_THAT(message("[grid]\ncells = 10\n[run]\nend_time = 0.1"), AllOf(HasSubstr("my.toml:2: grid.cells"), HasSubstr("at least 16")));
    EXPECT_THAT(message("[grid]\ncells = 100000\n[run]\nend_time = 9"), HasSubstr("my.toml:2: grid.cells"));
}

TEST(deck, a_missing_file_is_named)
{
    try {
        read_text("/nowhere/my.toml");
        FAIL();
    } catch (deck_error const& e) {
        EXPECT_THAT(e.what(), HasSubstr("/nowhere/my.toml"));
    }
}

TEST(deck, the_energy_is_deposited_symmetrically_and_all_of_it)
{
    deck d = parse_deck(with("blast", "deposit_radius = 2.6"), "my.toml");
    double energy = 0;
    for (int z = 0; z < d.cells; ++z)
        for (int y = 0; y < d.cells; ++y)
            for (int x = 0; x < d.cells; ++x) {
                primitive a = d.initial(x, y, z);
                primitive b = d.initial(d.cells - 1 - z, x, d.cells - 1 - y);
                ASSERT_EQ(a[4], b[4]);
                energy += (a[4] - d.pressure) / (d.gamma - 1) * d.cell_volume();
            }
    EXPECT_NEAR(energy, d.energy, 1e-10);
}

TEST(canvas, replaces_its_own_pictures_and_nothing_else)
{
    auto folder = std::filesystem::temp_directory_path() / ("blast_canvas_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    std::string path = folder / "a.png";
    canvas c(20, 10, {0, 0, 0});
    c.write(path);
    c.write(path);
    { std::ofstream(path, std::ios::trunc) << "a letter to my aunt"; }
    EXPECT_THROW(c.write(path), std::runtime_error);
    std::string kept;
    std::getline(std::ifstream(path), kept);
    EXPECT_EQ(kept, "a letter to my aunt");
    EXPECT_THROW(c.write("/nowhere/at/all.png"), std::runtime_error);
    std::filesystem::remove_all(folder);
}
