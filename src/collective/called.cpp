// The texts of errors that name what ranks call.

#include "collective/called.hpp"

#include <fmt/format.h>

namespace towline::collective {

std::string called::text() const
{
    int const root = (word_ >> routine_bits) - 1;
    if (what() == 0 || what() > static_cast<unsigned>(routine::exchange))
        return "another operation";
    char const* const name = name_of(static_cast<routine>(what()));
    return root < 0 ? std::string(name) : fmt::format("{} with root {}", name, root);
}

std::string text_of(different_calls const& d)
{
    return fmt::format("rank {} called {}, this rank {}: all ranks call the same operations in the same order", d.rank, d.theirs.text(),
                       d.ours.text());
}

} // namespace towline::collective
