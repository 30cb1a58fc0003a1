#pragma once
// The world: all processes of the job, from the moment they met until they part.

#include <towline/locality.hpp>

#include <memory>
#include <string_view>

namespace towline {

/// Make one in main. Its constructor joins the job (a program started without `towline run` is a world of one) and returns when every
/// process did the same; from then on calls are answered while the program computes and waits, perhaps before it has returned: set up what
/// the called functions use before, and let them ask here() and this_world(). One world at a time in a process.
///
/// Its destructor answers calls until every rank came to its own end and everything that was sent, posts included, was handled and
/// answered. When an exception unwinds it, it does not wait: the others' calls and barriers then throw peer_error.
class world {
public:
    /// argc and argv are for later use; nothing is taken from them. Throws usage_error (two functions with one id; a second world),
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
    /// The rank after this one; the first after the last. In a world of one that is this one.
    [[nodiscard]] locality next() const noexcept { return at((rank() + 1) % size()); }
    /// Not checked here: a call to a rank that is not there throws usage_error.
    [[nodiscard]] locality at(int rank) const { return locality(rank); }
    /// In the order of ranks.
    [[nodiscard]] localities all() const;
    /// All but this one.
    [[nodiscard]] localities others() const;
    /// False once the rank is known to be dead (only with `towline run --keep-going`; otherwise its death ends the job).
    [[nodiscard]] bool alive(locality) const;

    /// Blocks until every rank came here as often; answers small calls meanwhile, others run on the workers. Throws peer_error when a rank
    /// died. One thread at a time.
    void barrier();
    /// Answers calls on this thread until every other rank serves too or has reached the end of its world and nothing is under way (then
    /// true, and this world is over: no more calls from here), or until some rank called stop (then false).
    bool serve();
    /// Makes serve return at every rank that is in it, or its next one.
    void stop();

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

// The world of this process, for whoever has no `world&` at hand: functions that are called remotely, members of remote objects,
// continuations, coroutines, any thread. They hold from before the first call is answered, which may be before world's constructor has
// returned, until world's destructor returns. All throw usage_error where there is no world.

/// This process.
[[nodiscard]] locality here();
/// The number of processes.
[[nodiscard]] int size();
/// The world itself: `this_world().next()`, `.at(rank)`, `.all()`. It belongs to whoever made it.
[[nodiscard]] world& this_world();

} // namespace towline
