#pragma once
// The archive of std::filesystem::path: its native text, as a string in the index.

#include <towline/archive.hpp>

#include <filesystem>

namespace towline::detail {

template <> struct codec<std::filesystem::path> : varying_codec<> {
    static out_cursor put(archive_writer& w, out_cursor c, std::filesystem::path const& v, std::uint32_t depth)
    {
        bool const before = w.set_index_only(true); // the constructor of a path parses the text
        c = put_value(w, c, v.native(), depth);
        w.set_index_only(before);
        return c;
    }
    static in_cursor get(archive_reader& r, in_cursor c, std::filesystem::path& v, std::uint32_t depth)
    {
        bool const before = r.set_index_only(true);
        std::filesystem::path::string_type text;
        c = get_value(r, c, text, depth);
        r.set_index_only(before);
        v = std::move(text);
        return c;
    }
};

} // namespace towline::detail
