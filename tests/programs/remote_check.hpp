#pragma once
// What the programs that test remote calls share: a check that says where it failed and ends the rank with code 1.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

inline void check(bool ok, char const* what, char const* file, int line)
{
    if (ok)
        return;
    std::fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
    std::_Exit(1);
}
#define CHECK(...) check(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

/// f() throws an E whose text contains `words`; its text, for more checks.
template <class E, class F>
void throws(F&& f, std::string_view words, char const* file, int line)
{
    try {
        f();
    } catch (E const& e) {
        if (std::string_view(e.what()).find(words) != std::string_view::npos)
            return;
        std::fprintf(stderr, "%s:%d: the error says \"%s\", not \"%.*s\"\n", file, line, e.what(), static_cast<int>(words.size()),
                     words.data());
        std::_Exit(1);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s:%d: another exception: %s\n", file, line, e.what());
        std::_Exit(1);
    }
    std::fprintf(stderr, "%s:%d: nothing was thrown\n", file, line);
    std::_Exit(1);
}
#define THROWS(E, words, ...) throws<E>([&] { __VA_ARGS__; }, words, __FILE__, __LINE__)
