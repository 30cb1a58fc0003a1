// Sets, copies and deletes attributes, and calls the program's functions for them.

#include "mpi/attributes.hpp"

#include "mpi/failure.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace towline::mpi {
namespace {

constinit handle_table<keyval, object_kind::keyval> keys{};
constinit std::mutex ends_of_keys{};

// Constants that stand for callbacks; equal for all kinds of object (7.7.2).
keyval::copy_function* const dup_function = MPI_COMM_DUP_FN;

bool is_predefined(int number) noexcept
{
    return number >= MPI_TAG_UB && number <= MPI_WIN_MODEL;
}

} // namespace

int keyval::create(cached_on on, copy_function* copy, delete_function* erase, void* extra_state)
{
    ref<keyval> key = ref<keyval>::adopt(new keyval(on, copy, erase, extra_state));
    keyval& k = *key;
    return k.number_ = static_cast<int>(keys.insert(std::move(key)) & handle_bits::integer);
}

keyval& keyval::get(int number, cached_on on, char const* parameter)
{
    keyval* const key = number > 0 ? keys.find(keys.from_integer(static_cast<std::uint32_t>(number))) : nullptr;
    if (key == nullptr)
        throw failure(MPI_ERR_KEYVAL, number == MPI_KEYVAL_INVALID ? fmt::format("{} is MPI_KEYVAL_INVALID", parameter)
                                      : is_predefined(number)
                                          ? fmt::format("{} is {}, a key of the standard, which is not for this", parameter, number)
                                          : fmt::format("{} is {}, which is no key, or was freed", parameter, number));
    if (key->on_ != on) {
        constexpr char const* names[] = {"communicators", "datatypes", "windows"};
        throw failure(MPI_ERR_KEYVAL, fmt::format("{} is a key for {}, not for {}", parameter, names[static_cast<int>(key->on_)],
                                                  names[static_cast<int>(on)]));
    }
    return *key;
}

void keyval::free(int number, cached_on on, char const* parameter)
{
    std::scoped_lock const lock(ends_of_keys);
    keyval& key = get(number, on, parameter);
    key.freed_ = true;
    if (key.uses_ == 0)
        (void)keys.remove(keys.from_integer(static_cast<std::uint32_t>(number)));
}

void keyval::begin_use() noexcept
{
    std::scoped_lock const lock(ends_of_keys);
    ++uses_;
}

void keyval::end_use() noexcept
{
    std::scoped_lock const lock(ends_of_keys);
    if (--uses_ == 0 && freed_)
        (void)keys.remove(keys.from_integer(static_cast<std::uint32_t>(number_)));
}

attribute_set::~attribute_set()
{
    for (attribute const& a : attributes_)
        a.key->end_use();
}

std::optional<void*> keyval::copy(void* from, void* value) const
{
    if (copy_ == MPI_COMM_NULL_COPY_FN)
        return std::nullopt;
    if (copy_ == dup_function)
        return value;
    int flag = 0;
    void* copied = nullptr;
    if (int const code = copy_(static_cast<MPI_Comm>(from), number_, state_, value, &copied, &flag); code != MPI_SUCCESS)
        throw failure(code, fmt::format("the copy callback of key {} returned {}", number_, code));
    return flag != 0 ? std::optional(copied) : std::nullopt;
}

void keyval::erase(void* from, void* value) const
{
    if (delete_ == MPI_COMM_NULL_DELETE_FN)
        return;
    if (int const code = delete_(static_cast<MPI_Comm>(from), number_, value, state_); code != MPI_SUCCESS)
        throw failure(code, fmt::format("the delete callback of key {} returned {}", number_, code));
}

std::optional<void*> attribute_set::get(keyval const& key) const
{
    std::scoped_lock const lock(mutex_);
    auto const at = std::ranges::find(attributes_, &key, [](attribute const& a) { return a.key.get(); });
    return at == attributes_.end() ? std::nullopt : std::optional(at->value);
}

std::optional<attribute_set::attribute> attribute_set::take(keyval const& key)
{
    std::scoped_lock const lock(mutex_);
    auto const at = std::ranges::find(attributes_, &key, [](attribute const& a) { return a.key.get(); });
    if (at == attributes_.end())
        return std::nullopt;
    attribute found = std::move(*at);
    attributes_.erase(at);
    found.key->end_use();  // `found` holds the key
    return found;
}

void attribute_set::set(void* owner, keyval& key, void* value)
{
    if (auto const old = get(key))
        key.erase(owner, *old);
    std::scoped_lock const lock(mutex_);
    auto const at = std::ranges::find(attributes_, &key, [](attribute const& a) { return a.key.get(); });
    if (at != attributes_.end()) {
        at->value = value;
        return;
    }
    attributes_.push_back({ref<keyval>(key), value});
    key.begin_use();
}

void attribute_set::erase(void* owner, keyval& key, char const* parameter)
{
    auto const old = get(key);
    if (!old)
        throw failure(MPI_ERR_KEYVAL, fmt::format("{} is {}, a key under which nothing was set here", parameter, key.number()));
    key.erase(owner, *old);  // if that fails, the attribute stays
    (void)take(key);
}

void attribute_set::copy_to(void* from_owner, attribute_set& to, void* to_owner) const
{
    std::vector<attribute> mine;
    {
        std::scoped_lock const lock(mutex_);
        mine = attributes_;
    }
    try {
        for (attribute const& a : mine)
            if (auto const value = a.key->copy(from_owner, a.value))
                to.set(to_owner, *a.key, *value);
    } catch (...) {
        try {
            to.clear(to_owner);
        } catch (failure const&) {
            // Report the first failure only.
        }
        throw;
    }
}

void attribute_set::clear(void* owner)
{
    for (;;) {
        std::optional<attribute> last;
        {
            std::scoped_lock const lock(mutex_);
            if (attributes_.empty())
                return;
            last = attributes_.back();
        }
        last->key->erase(owner, last->value);
        (void)take(*last->key);
    }
}

} // namespace towline::mpi
