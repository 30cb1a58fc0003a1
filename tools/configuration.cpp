// The file of mpiexec -configfile: a line is a program with its options, and quotes are as in a shell.

#include "words.hpp"

#include "towline/error.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace towline::tools {

std::vector<std::string> words_of_configuration(std::string_view text)
{
    std::vector<std::string> all;
    std::string word;
    bool in_word = false;
    bool fresh = true;  // the line's first word is still to come
    char quote = 0;
    auto const end_word = [&] {
        if (!in_word)
            return;
        if (std::exchange(fresh, false) && !all.empty() && all.back() != ":" && word != ":")
            all.emplace_back(":");  // another line, another program
        all.push_back(std::exchange(word, {}));
        in_word = false;
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        char const c = text[i];
        if (c == '\\' && i + 1 < text.size() && quote != '\'') {
            if (text[++i] == '\n')
                end_word();
            else {
                word += text[i];
                in_word = true;
            }
        } else if (quote != 0) {
            if (c == quote)
                quote = 0;
            else
                word += c;
        } else if (c == '"' || c == '\'') {
            quote = c;
            in_word = true;
        } else if (c == '#' && !in_word) {
            i = std::min(text.find('\n', i), text.size()) - 1;
        } else if (c == '\n') {
            end_word();
            fresh = true;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            end_word();
        } else {
            word += c;
            in_word = true;
        }
    }
    if (quote != 0)
        throw usage_error(fmt::format("-configfile: a {} has no partner", quote));
    end_word();
    if (!all.empty() && all.back() == ":")
        all.pop_back();
    return all;
}

} // namespace towline::tools
