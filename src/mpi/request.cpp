// The table of requests: new places, and requests that were freed while under way.

#include "mpi/request.hpp"

#include "mpi/process.hpp"

#include <algorithm>
#include <utility>

namespace towline::mpi {

void request_table::grow()
{
    std::uint32_t const begin = places_.size();
    places_.grow();
    for (std::uint32_t i = places_.size(); i-- > begin;) {
        request& r = places_.at(i);
        r.index_ = i;
        r.next_free_ = std::exchange(free_, &r);
    }
}

void request_table::begin(bool threaded)
{
    threaded_ = threaded;
    if (nothing_ == nullptr)
        nothing_ = &acquire();
}

void request_table::sweep()
{
    orphans_.erase(std::remove_if(orphans_.begin(), orphans_.end(),
                                  [this](request* r) {
                                      if (!r->done())
                                          return false;
                                      recycle(*r);
                                      return true;
                                  }),
                   orphans_.end());
    sweep_at_ = 64 + 2 * orphans_.size();
}

void request_table::adopt(request& r)
{
    orphans_.push_back(&r);
    if (orphans_.size() >= sweep_at_)
        sweep();
}

} // namespace towline::mpi
