// Compiled with -mavx2, entered only where the processor has it.
#define BLAST_SWEEP sweep_avx2
#include "sweep.inl"
