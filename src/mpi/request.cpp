#include "mpi/request.hpp"

#include "mpi/process.hpp"

#include <algorithm>
#include <new>

namespace towline::mpi {

void request_table::grow()
{
    if (chunks_in_use_ == max_chunks)
        throw std::bad_alloc();
    auto* const chunk = new request[chunk_places];
    for (std::size_t i = chunk_places; i-- > 0;) {
        chunk[i].index_ = static_cast<std::uint32_t>(chunks_in_use_ * chunk_places + i);
        chunk[i].next_free_ = free_;
        free_ = &chunk[i];
    }
    chunks_[chunks_in_use_++].store(chunk, std::memory_order_release);
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
