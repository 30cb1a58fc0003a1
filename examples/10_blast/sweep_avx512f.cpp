// Compiled with -mavx512f, entered only where the processor has it.
#define BLAST_SWEEP sweep_avx512f
#include "sweep.inl"
