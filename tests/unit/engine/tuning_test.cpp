// The file of measured sizes: what it may say, what is refused and how, where it is looked for, and how it comes to the ranks of a job.

#include "engine/tuning.hpp"
#include "towline/error.hpp"
#include "unit/heap/ranks.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace tuning = towline::engine::tuning;
using towline::engine::thresholds::sizes;
using tuning::source;

namespace {

tuning::machine const here{"Abacus 9000", 12, "6.1.0"};
constexpr char const* machine_lines = "[machine]\nprocessor = \"Abacus 9000\"\ncores = 12\nkernel = \"5.0\"\nwhen = \"2026-01-02\"\n";

tuning::reading parse(std::string const& text) { return tuning::parse(machine_lines + text, "f.toml", here); }

bool said(tuning::reading const& r, std::string const& what)
{
    return std::any_of(r.complaints.begin(), r.complaints.end(), [&](std::string const& c) { return c.find(what) != c.npos; });
}

/// The environment that decides where the file is, and a folder for it; runs in a child, so that nothing of it stays.
struct folder {
    std::string path;
    folder()
    {
        char name[] = "/tmp/machine-toml-XXXXXX";
        path = mkdtemp(name);
        unsetenv("TOWLINE_TUNING");
        setenv("XDG_CONFIG_HOME", path.c_str(), 1);
    }
    ~folder()
    {
        ::unlink(file().c_str());
        ::rmdir((path + "/towline").c_str());
        ::rmdir(path.c_str());
    }
    [[nodiscard]] std::string file() const { return path + "/towline/machine.toml"; }
    void write(std::string const& text) const
    {
        ::mkdir((path + "/towline").c_str(), 0700);
        std::ofstream(file()) << text;
    }
    [[nodiscard]] std::string measured_here(std::string const& text) const
    {
        auto const m = tuning::this_machine();
        return "[machine]\nprocessor = '" + m.processor + "'\ncores = " + std::to_string(m.cores) + "\n" + text;
    }
};

void in_child(std::function<void()> const& body)
{
    EXPECT_EQ(ranks::status_of(ranks::spawn(body)), 0);
}

} // namespace

TEST(tuning_table, is_complete_and_sane)
{
    std::set<std::string> names;
    sizes const shipped;
    for (auto const& t : tuning::table()) {
        EXPECT_TRUE(names.insert(t.name).second) << t.name;
        EXPECT_LE(t.least, shipped.*t.value) << t.name;
        EXPECT_GE(t.most, shipped.*t.value) << t.name;
        EXPECT_NE(std::string(t.meaning), "") << t.name;
    }
    sizes all_different;
    std::size_t n = 5000;
    for (auto const& t : tuning::table())
        all_different.*t.value = n++;
    EXPECT_EQ(tuning::from_words(tuning::to_words(all_different)), all_different);
}

TEST(tuning_words, what_may_not_be_is_the_shipped_one)
{
    EXPECT_EQ(tuning::from_words({}), sizes{});
    tuning::words w{};
    EXPECT_EQ(tuning::from_words(w), sizes{});
    w.fill(~std::uint64_t{0});
    EXPECT_EQ(tuning::from_words(w), sizes{});
    w.fill(1);  // zero bytes: never allowed
    EXPECT_EQ(tuning::from_words(w), sizes{});
}

TEST(tuning_file, says_sizes_as_numbers_and_as_text)
{
    auto const r = parse("[thresholds]\nmap_lent = 8192\ninline_block = \"32K\" # why not\n");
    EXPECT_EQ(r.from, source::file);
    EXPECT_TRUE(r.complaints.empty());
    EXPECT_EQ(r.when, "2026-01-02");
    EXPECT_EQ(r.measured.kernel, "5.0");  // an older kernel is the same machine
    sizes wanted;
    wanted.map_lent = 8192;
    wanted.inline_block = 32768;
    EXPECT_EQ(r.sizes, wanted);
    EXPECT_EQ(std::count(r.given.begin(), r.given.end(), true), 2);
}

TEST(tuning_file, values_without_sense_are_refused_one_by_one)
{
    auto const r = parse("[thresholds]\nmap_lent = 63\nhand_over = -1\nattach_chunk = \"many\"\npull_window = 1.5\nattach_lent = [1]\n"
                         "inline_block = 4096\nwings = 2\n");
    EXPECT_EQ(r.from, source::file);
    sizes wanted;
    wanted.inline_block = 4096;
    EXPECT_EQ(r.sizes, wanted);
    EXPECT_EQ(r.complaints.size(), 6u);
    EXPECT_TRUE(said(r, "f.toml:7: thresholds.map_lent is ignored: it must be a size from 64 to 1099511627776 bytes, like 4096 or \"4K\"; "
                        "the shipped 2048 is used"));
    EXPECT_TRUE(said(r, "f.toml:8: thresholds.hand_over is ignored"));
    EXPECT_TRUE(said(r, "f.toml:9: thresholds.attach_chunk"));
    EXPECT_TRUE(said(r, "f.toml:10: thresholds.pull_window"));
    EXPECT_TRUE(said(r, "f.toml:11: thresholds.attach_lent"));
    EXPECT_TRUE(said(r, "f.toml:13: thresholds.wings is unknown and ignored; there are hand_over, map_lent"));
}

TEST(tuning_file, of_another_machine_is_ignored)
{
    for (auto const* lines : {"[machine]\nprocessor = \"Abacus 9000\"\ncores = 11\n", "[machine]\nprocessor = \"Abacus\"\ncores = 12\n",
                              "[machine]\n", "[machine]\ncores = \"12\"\nprocessor = 9\n"}) {
        auto const r = tuning::parse(std::string(lines) + "[thresholds]\nmap_lent = 1\nnonsense = 4\n", "f.toml", here);
        EXPECT_EQ(r.from, source::other) << lines;
        EXPECT_EQ(r.sizes, sizes{});
        EXPECT_TRUE(r.complaints.empty());
    }
}

TEST(tuning_file, nonsense_is_named)
{
    auto r = tuning::parse("[machine\n", "f.toml", here);
    EXPECT_EQ(r.from, source::broken);
    EXPECT_TRUE(said(r, "f.toml:1: no TOML: ")) << r.complaints.at(0);
    r = tuning::parse("", "f.toml", here);
    EXPECT_EQ(r.from, source::broken);
    EXPECT_TRUE(said(r, "f.toml: there is no [machine]"));
    r = tuning::parse("machine = 3\n", "f.toml", here);
    EXPECT_EQ(r.from, source::broken);
    r = tuning::parse(std::string("\0\xff\xfe[[[", 6), "f.toml", here);
    EXPECT_EQ(r.from, source::broken);
    r = parse("[extras]\na = 1\n");
    EXPECT_EQ(r.from, source::file);
    EXPECT_TRUE(said(r, "f.toml:6: extras is unknown and ignored"));
    r = parse("thresholds = 3\n");  // still inside [machine]
    EXPECT_TRUE(r.complaints.empty());
    EXPECT_EQ(tuning::parse("thresholds = 3\n" + std::string(machine_lines), "f.toml", here).complaints.size(), 1u);
    EXPECT_EQ(tuning::parse(std::string(10000, '[') + "a", "f.toml", here).from, source::broken);
}

TEST(tuning_place, is_where_the_environment_says)
{
    in_child([] {
        unsetenv("TOWLINE_TUNING");
        setenv("HOME", "/home/ann", 1);
        setenv("XDG_CONFIG_HOME", "/etc/ann", 1);
        CHECK_THAT(tuning::file_path() == "/etc/ann/towline/machine.toml");
        setenv("XDG_CONFIG_HOME", "not/absolute", 1);
        CHECK_THAT(tuning::file_path() == "/home/ann/.config/towline/machine.toml");
        unsetenv("XDG_CONFIG_HOME");
        CHECK_THAT(tuning::file_path() == "/home/ann/.config/towline/machine.toml");
        unsetenv("HOME");
        CHECK_THAT(!tuning::file_path());
        CHECK_THAT(tuning::read().from == source::none);
        setenv("TOWLINE_TUNING", "here.toml", 1);
        CHECK_THAT(tuning::file_path() == "here.toml");
        setenv("TOWLINE_TUNING", "off", 1);
        CHECK_THAT(!tuning::file_path());
        CHECK_THAT(tuning::read().from == source::off);
    });
}

TEST(tuning_place, is_read)
{
    in_child([] {
        folder const f;
        CHECK_THAT(tuning::read().from == source::none);
        CHECK_THAT(tuning::read().complaints.empty());
        f.write(f.measured_here("[thresholds]\nmap_lent = 777\n"));
        auto const r = tuning::read();
        CHECK_THAT(r.from == source::file);
        CHECK_THAT(r.path == f.file());
        CHECK_THAT(r.sizes.map_lent == 777);
        CHECK_THAT(tuning::read_and_tell().map_lent == 777);
        f.write(std::string(100000, '#'));
        CHECK_THAT(tuning::read().from == source::broken);
        f.write("");
        CHECK_THAT(tuning::read().from == source::broken);
    });
}

TEST(tuning_place, that_was_named_must_be_there)
{
    in_child([] {
        folder const f;
        for (auto const& path : {f.path + "/none.toml", f.path}) {
            setenv("TOWLINE_TUNING", path.c_str(), 1);
            try {
                (void)tuning::read();
                CHECK_THAT(false);
            } catch (towline::usage_error const& e) {
                CHECK_THAT(std::string(e.what()).starts_with("TOWLINE_TUNING='" + path + "' cannot be read: "));
            }
        }
        // What hangs when it is opened does not.
        std::string const pipe = f.path + "/pipe";
        CHECK_THAT(::mkfifo(pipe.c_str(), 0600) == 0);
        setenv("TOWLINE_TUNING", pipe.c_str(), 1);
        bool refused = false;
        try {
            (void)tuning::read();
        } catch (towline::usage_error const&) {
            refused = true;
        }
        ::unlink(pipe.c_str());
        CHECK_THAT(refused);
    });
}
