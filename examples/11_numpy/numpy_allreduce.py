"""The sum over all ranks of an array of 100 MB each. Run: mpiexec -n 4 python examples/11_numpy/numpy_allreduce.py"""
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
mine = np.arange(100_000_000 // 8, dtype=np.float64) + rank
total = np.empty_like(mine)
begin = MPI.Wtime()
comm.Allreduce(mine, total, MPI.SUM)
seconds = comm.allreduce(MPI.Wtime() - begin, MPI.MAX)
expected = np.arange(mine.size, dtype=np.float64) * size + size * (size - 1) / 2
assert np.array_equal(total, expected), f"rank {rank} has another sum"
if rank == 0:
    print(f"{size} ranks, {mine.nbytes / 1e6:.0f} MB each: the sum is right on all after {seconds:.2f} s")
