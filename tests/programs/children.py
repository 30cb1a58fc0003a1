#!/usr/bin/env python3
"""What children cost a process that uses much memory: milliseconds, medians. docs/settings.md has a table, made with

    for heap in on off; do towline run -n 1 --heap $heap python3 tests/programs/children.py 512 build/release/lib/libmpi_abi.so.1; done
"""

import ctypes
import os
import statistics
import subprocess
import sys
import time

MIB = int(sys.argv[1])
ctypes.CDLL(sys.argv[2])  # makes this process a rank, as mpi4py does
memory = bytearray(MIB << 20)
memory[::4096] = b"x" * len(memory[::4096])
libc = ctypes.CDLL(None)


def posix_spawn():
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)


def computes(seconds):
    """fork, and a child that writes to all of the memory after so many seconds."""
    child = os.fork()
    if child == 0:
        time.sleep(seconds)
        memory[::4096] = b"y" * len(memory[::4096])
        os._exit(0)
    return child


def timed(name, call, rounds=101):
    took = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        took.append((time.perf_counter() - begin) * 1000)
    print(f"{name:50} {statistics.median(took):9.2f} ({min(took):.2f} to {max(took):.2f})")


def fork_and_exec():
    child = os.fork()
    if child == 0:
        os.execv("/bin/true", ["true"])
    os.waitpid(child, 0)


def until_fork_returns():
    global child
    child = computes(0)


print(f"{MIB} MiB in {'the shared heap' if any('towline-job' in line for line in open('/proc/self/maps')) else 'plain memory'}")
timed("posix_spawn, until the child has ended", posix_spawn)
timed("system(\"true\")", lambda: libc.system(b"true"))
timed("subprocess.run([\"true\"])", lambda: subprocess.run(["true"], check=True))
timed("fork and exec", fork_and_exec)
forks, ends = [], []
for _ in range(5):
    begin = time.perf_counter()
    until_fork_returns()
    forks.append((time.perf_counter() - begin) * 1000)
    os.waitpid(child, 0)
    ends.append((time.perf_counter() - begin) * 1000)
print(f"{'fork, and the child writes to all: fork returns':50} {statistics.median(forks):9.2f} ({min(forks):.2f} to {max(forks):.2f})")
print(f"{'                                   the child ends':50} {statistics.median(ends):9.2f} ({min(ends):.2f} to {max(ends):.2f})")
