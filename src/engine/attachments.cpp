// Lent plain memory of peers that XPMEM shows at addresses of this process.

#include "engine/impl.hpp"

#include "base/copy.hpp"
#include "heap/xpmem.hpp"

namespace towline::engine {

bool engine::impl::look_attached(message_state const& s, block_state& b, void* destination)
{
    if (config.xpmem == nullptr || s.source == config.rank)
        return false;
    auto const there = config.xpmem->look(s.source, reinterpret_cast<std::uintptr_t>(b.data), b.size);
    if (!there)
        return false;
    base::copy_block(destination, there.data(), b.size);
    b.counted = true;
    counts.block(job::counter::copied_once, job::counter::bytes_copied_once, b.size);
    counts.add(job::counter::bytes_xpmem, b.size);
    return true;
}

void engine::impl::forget_attachments(peer p)
{
    if (config.xpmem != nullptr)
        config.xpmem->forget(p);
}

} // namespace towline::engine
