// Parses layouts as people write them.

#include "layout_text.hpp"

#include "spelling.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

namespace towline::tools {

namespace {

using layout::datatype;
using numbers = std::vector<std::int64_t>;

constexpr int most_nested = 200;  ///< parentheses in parentheses

/// Part of the text around a place, in characters that can be shown, and how far from its begin the place is.
std::pair<std::string, std::size_t> around(std::string_view text, std::size_t at)
{
    constexpr std::size_t before = 60, all = 100;
    std::size_t const first = at > before ? at - before : 0;
    std::string shown(text.substr(first, all));
    for (char& c : shown)
        if (!std::isprint(static_cast<unsigned char>(c)))
            c = std::isspace(static_cast<unsigned char>(c)) ? ' ' : '?';
    return {shown, at - first};
}

std::string marked(std::string_view text, std::size_t at, std::string const& what)
{
    auto const [shown, place] = around(text, at);
    return fmt::format("at column {}: {}\n  {}\n  {}^", at + 1, what, shown, std::string(place, ' '));
}

std::string lower(std::string_view word)
{
    std::string out(word);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

/// Names of C and of MPI's older pages beside those that MPI_Type_get_name gives.
constexpr std::array<std::pair<std::string_view, layout::kind>, 4> other_names{{
    {"bool", layout::kind::bool_c},
    {"long_long", layout::kind::long_long_c},
    {"c_float_complex", layout::kind::float_complex_c},
    {"unsigned_int", layout::kind::unsigned_c},
}};

std::string short_name(layout::kind k)
{
    return lower(layout::info(k).name).substr(4);
}

std::optional<layout::kind> kind_named(std::string_view word)
{
    std::string name = lower(word);
    if (name.starts_with("mpi_"))
        name.erase(0, 4);
    for (std::size_t i = 0; i < layout::kinds; ++i)
        if (auto const k = static_cast<layout::kind>(i); short_name(k) == name)
            return k;
    for (auto const& [other, k] : other_names)
        if (other == name)
            return k;
    return std::nullopt;
}

class reader {
public:
    explicit reader(std::string_view text) noexcept : text_(text) {}

    layout_message message()
    {
        std::int64_t count = 1;
        if (at_number()) {
            count = number("a count, or a type");
            expect('*', "between the count and the type");
        }
        std::size_t const begin = place();
        datatype type = this->type();
        if (peek() != '\0' || at_ != text_.size())
            fail(at_, "nothing is expected behind the type");
        (void)made(begin, [&] {
            if (count < 0)
                throw usage_error(fmt::format("the count is {}; it must be 0 or more", count));
            return layout::contiguous(count, type);  // as much as all of it fits
        });
        return {std::move(type), count};
    }

private:
    [[noreturn]] void fail(std::size_t at, std::string const& what) const { throw layout_text_error(text_, at, what); }

    /// Where the next word begins.
    std::size_t place()
    {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
            ++at_;
        return at_;
    }
    char peek()
    {
        (void)place();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    std::string found()
    {
        char const c = peek();
        if (at_ == text_.size())
            return "the end";
        return std::isprint(static_cast<unsigned char>(c)) ? fmt::format("'{}'", c) : "an unprintable character";
    }
    bool take(char c)
    {
        if (peek() != c || at_ == text_.size())
            return false;
        ++at_;
        return true;
    }
    void expect(char c, std::string_view where)
    {
        if (!take(c))
            fail(at_, fmt::format("'{}' is expected {}, not {}", c, where, found()));
    }
    bool at_number()
    {
        char const c = peek();
        return std::isdigit(static_cast<unsigned char>(c)) || c == '-';
    }

    /// Factors, as long as numbers follow the signs of multiplication.
    std::int64_t number(std::string_view what)
    {
        std::int64_t product = 1;
        std::size_t const begin = place();
        for (;;) {
            std::int64_t factor = 0;
            auto const [end, wrong] = std::from_chars(text_.data() + place(), text_.data() + text_.size(), factor);
            if (wrong == std::errc::invalid_argument)
                fail(at_, fmt::format("{} is expected, not {}", what, found()));
            if (wrong != std::errc() || __builtin_mul_overflow(product, factor, &product))
                fail(begin, "this number does not fit 64 bits");
            at_ = static_cast<std::size_t>(end - text_.data());
            std::size_t const star = place();
            if (!take('*'))
                return product;
            if (!at_number()) {
                at_ = star;  // a type follows
                return product;
            }
        }
    }
    /// An argument that is a number, with its comma.
    std::int64_t integer(std::string_view name)
    {
        std::int64_t const n = number(name);
        expect(',', fmt::format("behind {}", name));
        return n;
    }
    template <class Entry>
    void list(std::string_view name, Entry entry)
    {
        if (!take('['))
            fail(place(), fmt::format("{} is expected, in brackets: [1, 2, 3]; not {}", name, found()));
        if (take(']'))
            return;
        do
            entry();
        while (take(','));
        expect(']', fmt::format("at the end of {}, or ','", name));
    }
    numbers integers(std::string_view name)
    {
        numbers all;
        list(name, [&] { all.push_back(number("a number")); });
        expect(',', fmt::format("behind {}", name));
        return all;
    }

    std::string_view word()
    {
        std::size_t const begin = place();
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
            ++at_;
        return text_.substr(begin, at_ - begin);
    }

    /// Says where in the text what a constructor refused was made.
    template <class Make>
    datatype made(std::size_t begin, Make make)
    {
        try {
            return make();
        } catch (layout_text_error const&) {
            throw;
        } catch (error const& e) {
            fail(begin, e.what());
        }
    }

    datatype type()
    {
        std::size_t const begin = place();
        std::string_view const name = word();
        if (name.empty())
            fail(begin, fmt::format("a type is expected, not {}", found()));
        if (peek() != '(') {
            if (auto const k = kind_named(name))
                return datatype::of(*k);
            if (constructor_named(name) != nullptr)
                fail(at_, fmt::format("'(' is expected behind {}, not {}", name, found()));
            fail(begin, unknown(name));
        }
        constructor const* const what = constructor_named(name);
        if (what == nullptr)
            fail(begin, kind_named(name) ? fmt::format("'{}' is a predefined type, without parentheses", name) : unknown(name));
        if (++nested_ > most_nested)
            fail(begin, fmt::format("types are nested more than {} deep", most_nested));
        expect('(', "");
        return made(begin, [&] {
            datatype out = (this->*what->make)();
            expect(')', fmt::format("at the end of {}", what->name));
            --nested_;
            return out;
        });
    }

    datatype contiguous()
    {
        auto const count = integer("the count");
        return layout::contiguous(count, type());
    }
    template <datatype (*Make)(std::int64_t, std::int64_t, std::int64_t, datatype const&)>
    datatype strided()
    {
        auto const count = integer("the count");
        auto const length = integer("the blocklength");
        auto const stride = integer("the stride");
        return Make(count, length, stride, type());
    }
    template <datatype (*Make)(std::span<std::int64_t const>, std::span<std::int64_t const>, datatype const&)>
    datatype listed()
    {
        auto const lengths = integers("the list of blocklengths");
        auto const places = integers("the list of displacements");
        return Make(lengths, places, type());
    }
    template <datatype (*Make)(std::int64_t, std::span<std::int64_t const>, datatype const&)>
    datatype equal_blocks()
    {
        auto const length = integer("the blocklength");
        auto const places = integers("the list of displacements");
        return Make(length, places, type());
    }
    datatype structure()
    {
        auto const lengths = integers("the list of blocklengths");
        auto const places = integers("the list of displacements");
        std::vector<datatype> types;
        list("the list of types", [&] { types.push_back(type()); });
        return layout::structure(lengths, places, types);
    }
    datatype subarray()
    {
        auto const sizes = integers("the list of sizes");
        auto const subsizes = integers("the list of subsizes");
        auto const starts = integers("the list of starts");
        auto const order = array_order();
        return layout::subarray(sizes, subsizes, starts, order, type());
    }
    /// With its comma; C's, where there is none.
    layout::array_order array_order()
    {
        std::size_t const begin = place();
        std::string const said = lower(word());
        if (said != "c" && said != "mpi_order_c" && said != "fortran" && said != "mpi_order_fortran") {
            at_ = begin;
            return layout::array_order::c;
        }
        expect(',', "behind the order");
        return said.ends_with("fortran") ? layout::array_order::fortran : layout::array_order::c;
    }
    layout::distribution distribution()
    {
        std::size_t const begin = place();
        std::string said = lower(word());
        if (constexpr std::string_view prefix = "mpi_distribute_"; said.starts_with(prefix))
            said.erase(0, prefix.size());
        if (said == "none")
            return layout::distribution::none;
        if (said == "block")
            return layout::distribution::block;
        if (said != "cyclic")
            fail(begin, "a distribution is expected: none, block or cyclic");
        return layout::distribution::cyclic;
    }
    std::optional<std::int64_t> distribution_argument()
    {
        if (at_number())
            return number("a number");
        std::size_t const begin = place();
        if (std::string const said = lower(word()); said != "dflt" && said != "mpi_distribute_dflt_darg")
            fail(begin, "an argument of a distribution is expected: a number, or dflt");
        return std::nullopt;
    }
    datatype darray()
    {
        auto const processes = integer("the number of processes");
        auto const rank = integer("the rank");
        std::vector<layout::distributed_dimension> dimensions;
        for (std::int64_t const size : integers("the list of sizes"))
            dimensions.emplace_back().size = size;
        // Each of the other lists has something for each dimension.
        auto const for_each = [&](std::string_view name, auto read) {
            std::size_t const begin = place();
            std::size_t n = 0;
            list(name, [&] {
                if (n == dimensions.size())
                    fail(place(), fmt::format("{} is longer than the list of sizes", name));
                read(dimensions[n++]);
            });
            if (n != dimensions.size())
                fail(begin, fmt::format("{} is shorter than the list of sizes", name));
            expect(',', fmt::format("behind {}", name));
        };
        for_each("the list of distributions", [&](layout::distributed_dimension& d) { d.how = distribution(); });
        for_each("the list of arguments", [&](layout::distributed_dimension& d) { d.argument = distribution_argument(); });
        for_each("the list of the grid's processes", [&](layout::distributed_dimension& d) { d.processes = number("a number"); });
        auto const order = array_order();
        return layout::darray(processes, rank, dimensions, order, type());
    }
    datatype resized()
    {
        datatype const old = type();
        expect(',', "behind the type");
        auto const lb = integer("the lower bound");
        return layout::resized(old, lb, number("the extent"));
    }

    struct constructor {
        std::string_view name;
        datatype (reader::*make)();
    };
    static std::span<constructor const> constructors()
    {
        static constexpr constructor all[]{
            {"contiguous", &reader::contiguous},
            {"vector", &reader::strided<layout::vector>},
            {"hvector", &reader::strided<layout::hvector>},
            {"indexed", &reader::listed<layout::indexed>},
            {"hindexed", &reader::listed<layout::hindexed>},
            {"indexed_block", &reader::equal_blocks<layout::indexed_block>},
            {"hindexed_block", &reader::equal_blocks<layout::hindexed_block>},
            {"struct", &reader::structure},
            {"subarray", &reader::subarray},
            {"darray", &reader::darray},
            {"resized", &reader::resized},
        };
        return all;
    }
    static constructor const* constructor_named(std::string_view word)
    {
        for (std::string_view const prefix : {"MPI_Type_create_", "MPI_Type_"})
            if (word.starts_with(prefix)) {
                word.remove_prefix(prefix.size());
                break;
            }
        auto const all = constructors();
        auto const at = std::ranges::find(all, word, &constructor::name);
        return at == all.end() ? nullptr : &*at;
    }
    static std::string unknown(std::string_view word)
    {
        std::string nearest;
        std::size_t best = 3;  // further away is another word
        auto const look = [&](std::string const& known) {
            if (std::size_t const far = distance(lower(word), known); far < best) {
                best = far;
                nearest = known;
            }
        };
        if (word.size() < 32) {
            for (auto const& c : constructors())
                look(std::string(c.name));
            for (std::size_t i = 0; i < layout::kinds; ++i)
                look(short_name(static_cast<layout::kind>(i)));
        }
        std::string const shown = word.size() < 64 ? std::string(word) : std::string(word.substr(0, 60)) + "...";
        return nearest.empty() ? fmt::format("there is no type '{}'", shown)
                               : fmt::format("there is no type '{}'; did you mean {}?", shown, nearest);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int nested_ = 0;
};

} // namespace

layout_text_error::layout_text_error(std::string_view text, std::size_t at, std::string const& what)
    : usage_error(marked(text, at, what)), column_(at + 1)
{
}

layout_message parse_layout(std::string_view text)
{
    return reader(text).message();
}

} // namespace towline::tools
