#pragma once
// The world: all processes of the job, from their meeting to their end.

#include <towline/locality.hpp>

#include <memory>
#include <string_view>

namespace towline {

/// Make one in main. Its constructor joins the job (a program started without `towline run` is a world of one) and returns when every
/// process has done the same. From then on calls are answered while the program computes and waits. The first calls may arrive before the
/// constructor has returned: initialise what the called functions use before it, and let them call here() and this_world(). One world at a
/// time in a process.
///
/// Its destructor answers calls until every rank has reached its own and every message, posts included, is handled and answered. If an
/// exception unwinds it, it does not wait: calls and barriers of the others throw peer_error.
class world {
public:
    /// argc and argv are reserved; nothing is taken from them. Throws usage_error (two functions with one id; a second world),
    /// version_error, peer_error (a rank died before it joined), system_error.
    world(int& argc, char**& argv);
    world();
    ~world();
    world(world const&) = delete;
    world& operator=(world const&) = delete;

    [[nodiscard]] int rank() const noexcept;
    [[nodiscard]] int size() const noexcept;
    /// The job's name, unique on this machine.
    [[nodiscard]] std::string_view id() const noexcept;

    [[nodiscard]] locality here() const noexcept { return locality(rank()); }
    /// The next rank; after the last, the first. In a world of one, this rank.
    [[nodiscard]] locality next() const noexcept { return at((rank() + 1) % size()); }
    /// Does not check the rank: a call to a rank out of range throws usage_error.
    [[nodiscard]] locality at(int rank) const { return locality(rank); }
    /// All ranks in order.
    [[nodiscard]] localities all() const;
    /// All ranks except this one.
    [[nodiscard]] localities others() const;
    /// False once the rank is known to be dead (only with `towline run --keep-going`; otherwise its death ends the job).
    [[nodiscard]] bool alive(locality) const;

    /// Blocks until every rank has called it equally often. Answers small calls meanwhile; others run on the workers. Throws peer_error if
    /// a rank died. One thread at a time.
    void barrier();
    /// Answers calls on this thread until every other rank serves, too, or has reached the end of its world, and nothing is in flight (then
    /// true, and this world is over: no more calls from here), or until a rank called stop (then false).
    bool serve();
    /// Ends serve at every rank that is in it, or its next call.
    void stop();

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

// The world of this process, for code without a `world&`: functions that are called remotely, members of remote objects, continuations,
// coroutines, any thread. Usable from before the first call is answered, which may be before world's constructor returns, until world's
// destructor returns. All throw usage_error if there is no world.

/// This process.
[[nodiscard]] locality here();
/// The number of processes.
[[nodiscard]] int size();
/// The world itself: `this_world().next()`, `.at(rank)`, `.all()`. Owned by its creator.
[[nodiscard]] world& this_world();

} // namespace towline
