// The loops of reductions for every processor of the architecture.

#include "collective/reductions/reduce_kernels.hpp"

namespace towline::collective {

constinit reduction_table const baseline_reductions = make_table();

} // namespace towline::collective
