// Speaks with a PMIx server through libpmix.

#include "job/launch/pmix.hpp"

#include "job/file.hpp"
#include "job/launch/process_mapping.hpp"
#include "towline/error.hpp"

#include <fmt/format.h>

#if __has_include(<pmix.h>)
#include <pmix.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

namespace towline::job::launch {

namespace {

struct library {
    void* handle = nullptr;
    decltype(&PMIx_Init) init = nullptr;
    decltype(&PMIx_Put) put = nullptr;
    decltype(&PMIx_Commit) commit = nullptr;
    decltype(&PMIx_Fence) fence = nullptr;
    decltype(&PMIx_Get) get = nullptr;
    decltype(&PMIx_Abort) abort = nullptr;
    decltype(&PMIx_Finalize) finalize = nullptr;
    decltype(&PMIx_Error_string) text = nullptr;
    std::string missing{};

    library()
    {
        handle = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            missing = "libpmix.so.2 is not there (package libpmix2)";
            return;
        }
        load(init, "PMIx_Init");
        load(put, "PMIx_Put");
        load(commit, "PMIx_Commit");
        load(fence, "PMIx_Fence");
        load(get, "PMIx_Get");
        load(abort, "PMIx_Abort");
        load(finalize, "PMIx_Finalize");
        load(text, "PMIx_Error_string");
    }

    template <class Function>
    void load(Function& to, char const* name)
    {
        to = reinterpret_cast<Function>(dlsym(handle, name));
        if (to == nullptr)
            missing = fmt::format("libpmix.so.2 has no {}", name);
    }
};

library const& pmix_library()
{
    static auto const* const one = new library;  // used at the very end of the process
    return *one;
}

/// Runs a call of the library, which may block for ever, on a thread of its own. False where it did not come back in time: the thread stays,
/// with what it holds. `go_on` as in launcher::meet.
bool bounded(base::deadline const& end, std::function<void()> call, void (*go_on)(void const*) = nullptr, void const* context = nullptr)
{
    struct shared {
        std::mutex mutex;
        std::condition_variable done;
        bool is_done = false;
        std::function<void()> call;
    };
    auto const s = std::make_shared<shared>();
    s->call = std::move(call);
    std::thread([s] {
        s->call();
        std::lock_guard const lock(s->mutex);
        s->is_done = true;
        s->done.notify_all();
    }).detach();
    std::unique_lock lock(s->mutex);
    while (!s->done.wait_for(lock, std::chrono::milliseconds(50), [&] { return s->is_done; })) {
        if (end.passed())
            return false;
        if (go_on != nullptr)
            go_on(context);
    }
    return true;
}

class pmix final : public launcher {
public:
    explicit pmix(patience p) : patience_(p)
    {
        auto const& lib = pmix_library();
        auto const me = std::make_shared<pmix_proc_t>();
        checked("PMIx_Init", [me, &lib] { return lib.init(me.get(), nullptr, 0); });
        me_ = *me;
        auto const size = number(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
        if (size < 1 || size > max_ranks || me_.rank >= size)
            throw error(fmt::format("{}: the launcher says that rank {} of a job of {} ranks is here (1 to {} can be)", name(), me_.rank, size,
                                    max_ranks));
        size_ = static_cast<int>(size);
        program_ = static_cast<int>(number(me_.rank, PMIX_APPNUM));
    }

    [[nodiscard]] std::string name() const override { return "PMIx"; }
    [[nodiscard]] int rank() const override { return static_cast<int>(me_.rank); }
    [[nodiscard]] int size() const override { return size_; }
    [[nodiscard]] int program() const override { return program_; }

    [[nodiscard]] std::vector<std::uint32_t> nodes() override
    {
        std::vector<std::uint64_t> all;
        for (int r = 0; r < size_; ++r) {
            auto const node = number(static_cast<pmix_rank_t>(r), PMIX_NODEID);
            if (node < 0)
                return {};
            all.push_back(static_cast<std::uint64_t>(node));
        }
        return numbered_anew(all);
    }

    void put(std::string const& key, std::string_view text) override
    {
        auto const& lib = pmix_library();
        std::string copy(text);
        pmix_value_t value{};
        value.type = PMIX_STRING;
        value.data.string = copy.data();
        pmix_status_t const status = lib.put(PMIX_GLOBAL, key.c_str(), &value);
        if (status != PMIX_SUCCESS)
            throw error(fmt::format("{}: PMIx_Put: {}", name(), lib.text(status)));
    }

    [[nodiscard]] std::string get(int rank, std::string const& key) override
    {
        auto const text = look_up(static_cast<pmix_rank_t>(rank), key);
        if (text->type != PMIX_STRING)
            throw error(fmt::format("{}: rank {} has not told its '{}'", name(), rank, key));
        return text->text;
    }

    void meet(base::deadline const& end, void (*go_on)(void const*), void const* context) override
    {
        auto const& lib = pmix_library();
        checked("PMIx_Commit", [&lib] { return lib.commit(); });
        auto const status = std::make_shared<pmix_status_t>(PMIX_ERROR);
        std::string const space = me_.nspace;
        bool const back = bounded(end, [&lib, status, space] {
            pmix_proc_t all{};
            space.copy(all.nspace, sizeof all.nspace - 1);
            all.rank = PMIX_RANK_WILDCARD;
            pmix_info_t info{};
            std::strncpy(info.key, PMIX_COLLECT_DATA, sizeof info.key - 1);
            info.value.type = PMIX_BOOL;
            info.value.data.flag = true;
            *status = lib.fence(&all, 1, &info, 1);
        }, go_on, context);
        if (!back)
            throw error(fmt::format("{}: PMIx_Fence did not end in time: other ranks have not come (TOWLINE_LAUNCHER_TIMEOUT)", name()));
        if (*status != PMIX_SUCCESS)
            throw error(fmt::format("{}: PMIx_Fence: {}", name(), lib.text(*status)));
    }

    void abort(int code, std::string_view why) noexcept override
    {
        try {
            std::string const text(why);
            auto const& lib = pmix_library();
            (void)bounded(base::deadline(std::chrono::seconds(1)), [&lib, code, text] { lib.abort(code, text.c_str(), nullptr, 0); });
        } catch (std::exception const&) {
            // the launcher sees the exit code
        }
    }

    void finalize() noexcept override
    {
        try {
            auto const& lib = pmix_library();
            (void)bounded(base::deadline(patience_.answer), [&lib] { lib.finalize(nullptr, 0); });
        } catch (std::exception const&) {
            // it sees the process end
        }
    }

private:
    struct found {
        pmix_data_type_t type = PMIX_UNDEF;
        std::int64_t number = -1;
        std::string text{};
    };

    void checked(char const* what, std::function<pmix_status_t()> call)
    {
        auto const status = std::make_shared<pmix_status_t>(PMIX_ERROR);
        if (!bounded(base::deadline(patience_.answer), [status, call = std::move(call)] { *status = call(); }))
            throw error(fmt::format("{}: the launcher did not answer {} in time (TOWLINE_LAUNCHER_TIMEOUT)", name(), what));
        if (*status != PMIX_SUCCESS)
            throw error(fmt::format("{}: {}: {}", name(), what, pmix_library().text(*status)));
    }

    /// Undefined where the launcher, or that rank, does not tell.
    std::shared_ptr<found> look_up(pmix_rank_t rank, std::string const& key)
    {
        auto const result = std::make_shared<found>();
        std::string const space = me_.nspace;
        auto const& lib = pmix_library();
        bool const back = bounded(base::deadline(patience_.answer), [result, space, rank, key, &lib] {
            pmix_proc_t whose{};
            space.copy(whose.nspace, sizeof whose.nspace - 1);
            whose.rank = rank;
            pmix_value_t* value = nullptr;
            if (lib.get(&whose, key.c_str(), nullptr, 0, &value) != PMIX_SUCCESS || value == nullptr)
                return;
            result->type = value->type;
            if (value->type == PMIX_UINT32)
                result->number = value->data.uint32;
            else if (value->type == PMIX_STRING && value->data.string != nullptr)
                result->text = value->data.string;  // the few bytes of the value itself stay: what frees them differs between versions
        });
        if (!back)
            throw error(fmt::format("{}: the launcher did not answer PMIx_Get of {} in time (TOWLINE_LAUNCHER_TIMEOUT)", name(), key));
        return result;
    }

    /// -1 where the launcher does not tell.
    std::int64_t number(pmix_rank_t rank, char const* key) { return look_up(rank, key)->number; }

    patience patience_;
    pmix_proc_t me_{};
    int size_ = 0;
    int program_ = -1;
};

} // namespace

std::string why_no_pmix()
{
    return pmix_library().missing;
}

std::unique_ptr<launcher> connect_pmix(patience p)
{
    if (auto const why = why_no_pmix(); !why.empty())
        throw error(fmt::format("a launcher that speaks PMIx started this process, but {}: install it, or set TOWLINE_LAUNCHER=none", why));
    return std::make_unique<pmix>(p);
}

} // namespace towline::job::launch

#else

namespace towline::job::launch {

std::string why_no_pmix()
{
    return "this build was made without its header (package libpmix-dev)";
}

std::unique_ptr<launcher> connect_pmix(patience)
{
    throw error(fmt::format("a launcher that speaks PMIx started this process, but {}; TOWLINE_LAUNCHER=none makes it a job of one",
                            why_no_pmix()));
}

} // namespace towline::job::launch

#endif
