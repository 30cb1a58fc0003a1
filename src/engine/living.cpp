// The engines of this process, so that a fork can close them in the child.

#include "engine/living.hpp"

#include "engine/impl.hpp"

#include <algorithm>

#include <pthread.h>

namespace towline::engine::living {
namespace {

// Never destroyed: a fork may come after static destructors began.
struct registry {
    std::mutex mutex;
    std::vector<engine::impl*> engines;
};
registry& all()
{
    static registry* r = new registry;
    return *r;
}

void before_fork()
{
    all().mutex.lock();
}
void after_fork_in_parent()
{
    all().mutex.unlock();
}
void after_fork_in_child()
{
    // The child has one thread and a copy of everything; it may compute, but not speak for its parent.
    for (engine::impl* e : all().engines) {
        e->close();
        e->behind.forget_thread();
        if (e->packets != nullptr)
            e->packets->forget_thread();
    }
    all().mutex.unlock();
}

} // namespace

void add(engine::impl& e)
{
    static bool const installed = pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child) == 0;
    (void)installed;
    std::lock_guard lock(all().mutex);
    all().engines.push_back(&e);
}

void remove(engine::impl& e) noexcept
{
    std::lock_guard lock(all().mutex);
    auto& engines = all().engines;
    engines.erase(std::remove(engines.begin(), engines.end(), &e), engines.end());
}

} // namespace towline::engine::living
