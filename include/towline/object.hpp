#pragma once
// Objects that live in another process.
//
//     towline::remote<tally> t = towline::create<tally>(peer, args...).get();
//     long s = towline::async<&tally::add>(t, 5).get();

#include <towline/async.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace towline {

namespace detail {

/// The references of one handle (and its copies in this process). The object's home counts them by weight: a message takes a part of the
/// weight along, without asking the home. Source: D. Bevan, "Distributed garbage collection using reference counting", 1987 (weighted
/// references).
class object_reference {
public:
    object_reference(int home, object_id id, std::uint64_t weight) noexcept : home_(home), id_(id), weight_(weight) {}
    ~object_reference();  ///< returns the weight to the home
    object_reference(object_reference const&) = delete;
    object_reference& operator=(object_reference const&) = delete;
    [[nodiscard]] int home() const noexcept { return home_; }
    [[nodiscard]] object_id id() const noexcept { return id_; }
    /// A part of the weight, for another process. If only 1 is left, asks the home for more first, and waits.
    [[nodiscard]] std::uint64_t split();
    /// All of the weight; this reference returns none.
    [[nodiscard]] std::uint64_t take_all() noexcept { return weight_.exchange(0); }

private:
    int home_;
    object_id id_;
    std::atomic<std::uint64_t> weight_;
};
inline constexpr std::uint64_t full_weight = std::uint64_t{1} << 62;

template <class T>
std::uint64_t type_hash()
{
    static std::uint64_t const hash = hash_of_name(typeid(T).name());
    return hash;
}

} // namespace detail

/// A counted handle of a T at some process. Copies are counted in all processes; handles may be arguments and results of calls. The object
/// is destroyed with the last handle, or with its process. Thread-safe as std::shared_ptr.
template <class T>
class remote {
public:
    remote() noexcept = default;
    [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(reference_); }
    /// The process that has the object. Not on an empty handle.
    [[nodiscard]] locality where() const noexcept { return locality(reference_->home()); }
    /// The object itself if this process has it, else null.
    [[nodiscard]] std::shared_ptr<T> local() const
    {
        if (!reference_ || reference_->home() != detail::current_rank())
            return nullptr;
        return std::static_pointer_cast<T>(detail::find_object(reference_->id(), detail::type_hash<T>(), typeid(T).name()));
    }
    /// Same object.
    friend bool operator==(remote const& a, remote const& b) noexcept
    {
        return a.reference_ == b.reference_ ||
               (a.reference_ && b.reference_ && a.reference_->home() == b.reference_->home() && a.id() == b.id());
    }
    [[nodiscard]] detail::object_id id() const noexcept { return reference_ ? reference_->id() : 0; }

    /// Makes a remote handle of an object of this process, which lives as long as any handle and any shared_ptr. Throws usage_error if
    /// there is no world.
    [[nodiscard]] static remote adopt(std::shared_ptr<T> object)
    {
        return remote(detail::current_rank(), detail::adopt_object(std::move(object), detail::type_hash<T>()), detail::full_weight);
    }

private:
    friend struct serializer<remote>;
    remote(int home, detail::object_id id, std::uint64_t weight) : reference_(std::make_shared<detail::object_reference>(home, id, weight))
    {
    }
    std::shared_ptr<detail::object_reference> reference_;
};

template <class T>
struct serializer<remote<T>> {
    static void save(archive_writer& w, remote<T> const& v) { put(w, v, v ? v.reference_->split() : 0); }
    static void save(archive_writer& w, remote<T>&& v)
    {
        bool const all = v && v.reference_.use_count() == 1;
        put(w, v, all ? v.reference_->take_all() : v ? v.reference_->split() : 0);
        v = {};
    }
    static remote<T> load(archive_reader& r)
    {
        auto const home = r.read<std::int32_t>();
        auto const id = r.read<std::uint64_t>();
        auto const weight = r.read<std::uint64_t>();
        if (weight == 0)
            return {};
        if (home < 0 || home >= detail::current_size())
            r.fail(std::to_string(home), "a rank of this job", typeid(remote<T>));
        return remote<T>(home, id, weight);
    }

private:
    static void put(archive_writer& w, remote<T> const& v, std::uint64_t weight)
    {
        w.write(static_cast<std::int32_t>(v ? v.reference_->home() : -1));
        w.write(v.id());
        w.write(weight);
    }
};

namespace detail {

/// Constructs a T at the callee.
template <class T, class... A>
struct create_action {
    using parameters = type_list<A...>;
    using result = remote<T>;
    static constexpr bool is_small = false;
    static constexpr mistake wrong = mistake::none;
    static void run(invocation& in)
    {
        decode_and_run(parameters{}, in, [](A&&... arguments) { return remote<T>::adopt(std::make_shared<T>(std::move(arguments)...)); });
    }
    static void const* identity() { return reinterpret_cast<void const*>(&run); }
};

/// Calls a member function. The object's id goes before the arguments.
template <auto M, class T>
struct member_action {
    using target = detail::target<M>;
    using signature = member_signature<std::remove_cv_t<decltype(target::function)>>;
    static constexpr bool is_small = target::is_small;
    template <class List>
    struct with_id;
    template <class... P>
    struct with_id<type_list<P...>> {
        using type = type_list<object_id, P...>;
        static void run(invocation& in)
        {
            decode_and_run(type{}, in, [](object_id id, auto&&... arguments) -> decltype(auto) {
                return in_place(std::static_pointer_cast<T>(find_object(id, type_hash<T>(), typeid(T).name())),
                                std::forward<decltype(arguments)>(arguments)...);
            });
        }
    };
    using parameters = typename with_id<typename signature::parameters>::type;
    using result = result_type<typename signature::result>;
    static constexpr mistake wrong = signature::wrong;
    /// The pin keeps the object alive while the function runs.
    template <class... A>
    static auto in_place(std::shared_ptr<T> pin, A&&... arguments) -> result
    {
        if constexpr (is_future<wire_type<typename signature::result>>::value)
            return ((*pin).*target::function)(std::forward<A>(arguments)...).get();
        else
            return ((*pin).*target::function)(std::forward<A>(arguments)...);
    }
    static void run(invocation& in)
    {
        with_id<typename signature::parameters>::run(in);
    }
    static void const* identity() { return reinterpret_cast<void const*>(&run); }
};

/// The type by which an argument of create travels: text as a string.
template <class A>
using created_from = std::conditional_t<std::is_same_v<std::decay_t<A>, char const*> || std::is_same_v<std::decay_t<A>, char*>, std::string,
                                        std::decay_t<A>>;

[[noreturn]] void throw_empty_handle();

template <class T>
inline constexpr bool is_remote<remote<T>> = true;
template <auto Member>
concept names_member = std::is_member_function_pointer_v<std::remove_cv_t<decltype(target<Member>::function)>>;

template <class Action, class T, class... Args>
consteval bool check_member_call()
{
    constexpr bool its = std::derived_from<T, typename Action::signature::object> || Action::wrong != mistake::none;
    static_assert(its, "towline: the member function belongs to another class than the remote object's");
    if constexpr (its)
        return check_call<Action, object_id, Args...>();
    else
        return false;
}

} // namespace detail

/// Makes a T(args...) on a worker of a process. The arguments travel by value (a literal as std::string). Errors as of async; an exception
/// of the constructor arrives as remote_error.
template <class T, class... Args>
[[nodiscard]] call<remote<T>> create(locality at, Args&&... args)
{
    using action = detail::create_action<T, detail::created_from<Args>...>;
    constexpr bool sound = std::is_constructible_v<T, detail::created_from<Args>...>;
    static_assert(sound || std::is_abstract_v<T>, "towline: create<T>(peer, arguments...): T has no constructor for these arguments");
    static_assert(sound || !std::is_abstract_v<T>, "towline: create<T>: T is abstract; name the derived class that is to be made");
    if constexpr (!sound)
        return call<remote<T>>();
    else if constexpr (detail::check_call<action, Args...>())
        return detail::begin_call<action>(at.rank(), std::forward<Args>(args)...);
    else
        return call<remote<T>>();
}

/// Calls a member function of the object, at its home. Several workers may run calls at the same time; the object lives until they have
/// ended. Errors as of async; usage_error for an empty handle.
template <auto Member, class T, class... Args>
    requires detail::names_member<Member>
auto async(remote<T> const& object, Args&&... args)
{
    using action = detail::member_action<Member, T>;
    if constexpr (detail::check_member_call<action, T, Args...>()) {
        if (!object)
            detail::throw_empty_handle();
        return detail::begin_call<action>(object.where().rank(), object.id(), std::forward<Args>(args)...);
    } else
        return call<typename action::result>();
}
/// The same without an answer.
template <auto Member, class T, class... Args>
    requires detail::names_member<Member>
void post(remote<T> const& object, Args&&... args)
{
    using action = detail::member_action<Member, T>;
    if constexpr (detail::check_member_call<action, T, Args...>()) {
        if (!object)
            detail::throw_empty_handle();
        detail::dispatch<action>(object.where().rank(), {}, object.id(), std::forward<Args>(args)...);
    }
}

} // namespace towline
