#pragma once
// The table of callable functions of this process. It is sorted by id, so that equal programs have equal tables and send the index.

#include <towline/detail/action.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace towline::remoting {

using detail::action_entry;

[[nodiscard]] std::uint64_t hash_name(char const* mangled) noexcept;
/// "towline::detail::function_action<&count>" and the like become "count(std::vector<...> const&, int)".
[[nodiscard]] std::string readable_name(char const* mangled);

class action_table {
public:
    /// Sorts, numbers and names the entries. Throws usage_error when two functions have one id, naming both.
    explicit action_table(std::span<action_entry* const> entries);

    /// Every function of the program and its libraries; made by the first call. Functions of libraries that are loaded later have no index.
    static action_table const& process();

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }
    [[nodiscard]] action_entry const& operator[](std::uint32_t i) const noexcept { return *entries_[i]; }
    /// By id; null if there is none.
    [[nodiscard]] action_entry const* find(std::uint64_t id) const noexcept;
    /// FNV-1a over the sorted ids: equal tables have equal digests.
    [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }
    [[nodiscard]] std::vector<std::uint64_t> ids() const;

private:
    std::vector<action_entry*> entries_;
    std::uint64_t digest_ = 0;
};

} // namespace towline::remoting
