// A whole run in one process: pictures, report, and what may be in the way of them.

#include "canvas.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "runs.hpp"
#include "simulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <png.h>
#include <regex>
#include <unistd.h>

using namespace blast;
using namespace blast::test;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

struct simulation : testing::Test {
    simulation() : folder(fs::temp_directory_path() / ("blast_simulation_" + std::to_string(::getpid())))
    {
        fs::create_directory(folder);
        o.output = (folder / "deep" / "pictures").string();
        o.quiet = true;
        d.pictures = 2;
    }
    ~simulation() override { fs::remove_all(folder); }

    std::string output_of(int blocks)
    {
        layout cut({d.cells, d.cells, d.cells}, blocks);
        direct_exchange others(cut);
        testing::internal::CaptureStdout();
        simulate(d, o, cut, others);
        EXPECT_EQ(others.in_flight(), 0u);
        return testing::internal::GetCapturedStdout();
    }

    fs::path folder;
    options o;
    deck d = small_deck(20, 0.35);
};

std::string first_group(std::string const& text, char const* pattern)
{
    std::smatch found;
    return std::regex_search(text, found, std::regex(pattern)) ? found[1].str() : "";
}

} // namespace

TEST_F(simulation, writes_pictures_and_a_report)
{
    prepare_output(d, o);
    o.checksum = true;
    std::string one = output_of(1);
    std::string eight = output_of(8);
    EXPECT_THAT(one, HasSubstr("shock radius"));
    EXPECT_THAT(one, HasSubstr(o.output));
    EXPECT_LT(std::stod(first_group(one, "mass drift +([-+.e0-9]+)")), 1e-12);
    EXPECT_LT(std::stod(first_group(one, "energy drift +([-+.e0-9]+)")), 1e-12);
    for (char const* pattern : {"checksum +([0-9a-f]{16})", "shock radius +(.*)", "mass drift +(.*)", "energy drift +(.*)"}) {
        EXPECT_NE(first_group(one, pattern), "");
        EXPECT_EQ(first_group(one, pattern), first_group(eight, pattern));
    }
    for (std::string const& path : picture_paths(d, o)) {
        png_image image{};
        image.version = PNG_IMAGE_VERSION;
        ASSERT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0) << path;
        EXPECT_GT(image.width, 500u);
        png_image_free(&image);
    }
}

TEST_F(simulation, gives_the_same_density_the_same_colour_in_every_picture)
{
    fs::create_directories(o.output);
    std::size_t const n = static_cast<std::size_t>(d.cells);
    auto const pixels = [&](double greatest) {
        std::vector<double> density(n * n, 2 * d.density);
        density[n * n / 2 + n / 2] = greatest * d.density;
        std::string const path = o.output + "/slice.png";
        draw_slice(path, d, density, 4 * d.density, {0.1, 0.2, 0.2});
        png_image image{};
        image.version = PNG_IMAGE_VERSION;
        EXPECT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0);
        image.format = PNG_FORMAT_RGB;
        std::vector<png_byte> bytes(PNG_IMAGE_SIZE(image));
        EXPECT_NE(png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr), 0);
        std::size_t const corner = 3 * (40 * std::size_t{image.width} + 40);  // density 2; the bar of colours beside it
        std::size_t const bar = 3 * (400 * std::size_t{image.width} + image.width - 100);
        return std::pair(std::vector<png_byte>(&bytes[corner], &bytes[corner + 3]), std::vector<png_byte>(&bytes[bar], &bytes[bar + 3]));
    };
    auto const thin = pixels(2.5);
    EXPECT_EQ(thin, pixels(5));
    EXPECT_EQ(thin, pixels(100));
    EXPECT_NE(thin.first, thin.second);
}

TEST(picture, has_colours_for_what_a_grid_can_show_of_the_wave)
{
    deck d = small_deck(20, 1);
    sedov const exact(d.gamma);
    double const coarse = brightest_density(d, exact);
    d.cells = 200;
    double const fine = brightest_density(d, exact);
    d.cells = 200000;
    EXPECT_GT(coarse, d.density);
    EXPECT_GT(fine, 1.5 * coarse);
    EXPECT_NEAR(brightest_density(d, exact), 6 * d.density, 0.01);
}

TEST_F(simulation, refuses_what_is_in_the_way)
{
    fs::create_directories(o.output);
    std::string path = picture_paths(d, o)[1];
    { std::ofstream(path) << "my own picture"; }
    try {
        prepare_output(d, o);
        FAIL();
    } catch (std::runtime_error const& e) {
        EXPECT_THAT(e.what(), HasSubstr(path));
    }
    o.output = path; // a file where the folder should be
    EXPECT_THROW(prepare_output(d, o), std::runtime_error);
    o.output = "/proc/blast";
    EXPECT_THROW(prepare_output(d, o), std::runtime_error);
}

TEST_F(simulation, needs_no_folder_without_pictures)
{
    d.pictures = 0;
    prepare_output(d, o);
    EXPECT_THAT(output_of(1), testing::Not(HasSubstr("pictures")));
    EXPECT_FALSE(fs::exists(o.output));
}

TEST(progress, lines_are_few)
{
    testing::internal::CaptureStdout();
    {
        progress p(progress::mode::lines);
        for (int i = 0; i <= 1000; ++i)
            p.show(i / 1000.0, "working");
    }
    std::string text = testing::internal::GetCapturedStdout();
    auto lines = std::count(text.begin(), text.end(), '\n');
    EXPECT_GE(lines, 5);
    EXPECT_LE(lines, 10);
}
