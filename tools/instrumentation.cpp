// Searches a program for an allocator of its own.

#include "instrumentation.hpp"

#include "base/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace towline::tools {

namespace {

struct sanitizer {
    std::string_view library;  ///< part of the name of its runtime, in GCC's and in Clang's way
    std::string_view clang_library;
    std::string_view symbol;   ///< that a program has with the runtime inside it
    char const* name;
};
constexpr std::array sanitizers{
    sanitizer{"libasan.so", "libclang_rt.asan", "__asan_init", "the address sanitizer"},
    sanitizer{"libtsan.so", "libclang_rt.tsan", "__tsan_init", "the thread sanitizer"},
    sanitizer{"liblsan.so", "libclang_rt.lsan", "__lsan_init", "the leak sanitizer"},
    sanitizer{"libhwasan.so", "libclang_rt.hwasan", "__hwasan_init", "the hardware-assisted address sanitizer"},
    sanitizer{"libclang_rt.msan", "libclang_rt.msan", "__msan_init", "the memory sanitizer"},
};

char const* by_library(std::string_view path)
{
    auto const name = path.substr(path.rfind('/') + 1);
    for (auto const& s : sanitizers)
        if (name.starts_with(s.library) || name.starts_with(s.clang_library))
            return s.name;
    return nullptr;
}

/// A file that may be damaged: every read is checked.
class elf_file {
public:
    explicit elf_file(int fd) : fd_(fd) {}

    /// The sanitizer that its dynamic section needs or its dynamic symbols define; null: none, or no ELF file of this machine's kind.
    [[nodiscard]] char const* sanitizer_in()
    {
        ElfW(Ehdr) head{};
        if (!read(&head, sizeof head, 0) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(ElfW(Phdr)))
            return nullptr;
        segments_.resize(std::min<std::size_t>(head.e_phnum, 256));
        if (!read(segments_.data(), segments_.size() * sizeof(ElfW(Phdr)), head.e_phoff))
            return nullptr;
        auto const dynamic = std::find_if(segments_.begin(), segments_.end(), [](auto const& s) { return s.p_type == PT_DYNAMIC; });
        if (dynamic == segments_.end())
            return nullptr;
        std::vector<ElfW(Dyn)> entries(std::min<std::size_t>(dynamic->p_filesz / sizeof(ElfW(Dyn)), 4096));
        if (!read(entries.data(), entries.size() * sizeof(ElfW(Dyn)), dynamic->p_offset))
            return nullptr;
        auto const value = [&](ElfW(Sxword) tag) -> std::optional<std::uint64_t> {
            for (auto const& e : entries)
                if (e.d_tag == tag)
                    return e.d_un.d_val;
            return std::nullopt;
        };
        auto const names = value(DT_STRTAB) ? at(*value(DT_STRTAB)) : std::nullopt;
        auto const size = value(DT_STRSZ);
        if (!names || !size)
            return nullptr;
        std::string strings(std::min<std::size_t>(*size, most_names), '\0');
        if (!read(strings.data(), strings.size(), *names))
            return nullptr;
        for (auto const& e : entries)
            if (e.d_tag == DT_NEEDED && e.d_un.d_val < strings.size())
                if (char const* const name = by_library(strings.c_str() + e.d_un.d_val); name != nullptr)
                    return name;
        if (char const* const name = by_symbol(strings); name != nullptr)
            return name;
        // GCC's runtime inside a program exports nothing: it is in the symbol table alone, where there is one.
        std::vector<ElfW(Shdr)> sections(head.e_shentsize == sizeof(ElfW(Shdr)) ? head.e_shnum : 0);
        if (!read(sections.data(), sections.size() * sizeof(ElfW(Shdr)), head.e_shoff))
            return nullptr;
        for (auto const& s : sections)
            if (s.sh_type == SHT_SYMTAB && s.sh_link < sections.size()) {
                auto const& of = sections[s.sh_link];
                std::string all(std::min<std::size_t>(of.sh_size, most_names), '\0');
                if (read(all.data(), all.size(), of.sh_offset))
                    return by_symbol(all);
            }
        return nullptr;
    }

private:
    static constexpr std::size_t most_names = 16 << 20;

    /// A program that refers to such a symbol is instrumented: no other program does.
    static char const* by_symbol(std::string const& names)
    {
        for (auto const& s : sanitizers)
            if (names.find('\0' + std::string(s.symbol) + '\0') != names.npos)
                return s.name;
        return nullptr;
    }
    bool read(void* to, std::size_t bytes, std::uint64_t from) const
    {
        return from < std::uint64_t{1} << 62 && pread(fd_, to, bytes, static_cast<off_t>(from)) == static_cast<ssize_t>(bytes);
    }
    /// Where in the file an address of the program lies.
    [[nodiscard]] std::optional<std::uint64_t> at(std::uint64_t address) const
    {
        for (auto const& s : segments_)
            if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
                return s.p_offset + (address - s.p_vaddr);
        return std::nullopt;
    }

    int fd_;
    std::vector<ElfW(Phdr)> segments_;
};

/// Of a program, or of the interpreters of a script.
char const* sanitizer_of(std::string path)
{
    for (int depth = 0; depth < 5; ++depth) {
        base::unique_fd const file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        struct stat about {};
        if (!file || fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
            return nullptr;
        std::array<char, 256> begin{};
        ssize_t const got = pread(file.get(), begin.data(), begin.size() - 1, 0);
        std::string_view line(begin.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        if (!line.starts_with("#!"))
            return elf_file(file.get()).sanitizer_in();
        line = line.substr(2, line.find('\n') - 2);
        line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
        path = line.substr(0, line.find_first_of(" \t"));
    }
    return nullptr;
}

bool is_program(std::string const& path)
{
    struct stat about {};
    return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && access(path.c_str(), X_OK) == 0;
}

} // namespace

instrumentation instrumentation_of(program_part const& part, std::string const& program, std::string const& preloaded)
{
    instrumentation found;
    for (std::string_view rest = preloaded; !rest.empty() && found.no_preload.empty();) {
        auto const end = std::min(rest.find_first_of(" :"), rest.size());
        if (char const* const name = by_library(rest.substr(0, end)); name != nullptr)
            found.no_preload = fmt::format("{} is preloaded: {}", name, rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    for (std::size_t i = 0; i < part.command.size(); ++i) {
        std::string const& word = part.command[i];
        std::string path = i == 0 ? program : word;
        if (!path.starts_with('/') && !part.folder.empty())
            path.insert(0, part.folder + '/');
        if (word.substr(word.rfind('/') + 1) == "valgrind" && found.small_segments.empty())
            found.small_segments = "valgrind has little address space";
        if (!found.no_preload.empty() || (i != 0 && (word.starts_with('-') || !is_program(path))))
            continue;
        if (char const* const name = sanitizer_of(path); name != nullptr)
            found.no_preload = fmt::format("{} is built with {}", word, name);
    }
    if (found.no_preload.empty() && !found.small_segments.empty())
        found.no_preload = "valgrind watches malloc itself";
    return found;
}

} // namespace towline::tools
