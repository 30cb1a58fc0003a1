#!/usr/bin/env python3
"""Stands for an MPI library, launcher and program in one: `mpi_fake.py ... -n N ... FOLDER/conductor ...` sends two ranks to the conductor
there, without a conductor it is hello world or a crowd. Its environment says how it behaves:
  FAKE_NS    nanoseconds that every operation takes, by its own word
  FAKE_DOES  refuse: fails turns of 64 bytes; die: ends in one of them; hang: does not answer one; unbound: runs anywhere;
             absent: never meets the conductor; slow: takes its time in the first turn"""
import os
import socket
import sys
import time

ns = float(os.environ.get("FAKE_NS", "100"))
does = os.environ.get("FAKE_DOES", "")


def meet(path: str, rank: int) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    lines = connection.makefile("rw")
    cpus = "0,1" if does == "unbound" else str(rank)
    lines.write(f"rank {rank} {cpus} Fake  MPI 1.0\n")
    lines.flush()
    first = True
    for line in lines:
        word, name, size, _, _, batch, batches, memory = line.split()
        assert word == "turn", line
        share = 40.0 if name == "raw" else ns * (3 if name == "posted256" else 1) * (1 if memory == "heap" else 2)
        time.sleep(min(int(batch) * int(batches) * share * 1e-9, 0.01))
        time.sleep(0.05 if first and does == "slow" else 0)
        first, odd = False, size == "64"
        if odd and does == "die":
            print("something broke")
            os._exit(3)
        if odd and does == "hang":
            time.sleep(60)
        if odd and does == "refuse" and rank == 1:
            lines.write("failed rank 1 read what was not written\n")
        elif rank == 1:
            lines.write("done\n")
        else:
            lines.write("samples " + " ".join(f"{share + i % 3}" for i in range(int(batches))) + "\n")
        lines.flush()


def main() -> None:
    conductors = [a for a in sys.argv if a.endswith("/conductor")]
    ranks = int(sys.argv[sys.argv.index("-n") + 1]) if "-n" in sys.argv else 2
    if conductors and does == "absent":
        print("no such fabric")
        sys.exit(7)
    if conductors:
        child = os.fork()
        meet(conductors[0], 0 if child else 1)
        if child:
            os.waitpid(child, 0)
    elif "first" in sys.argv:
        print("samples", 3 * ns, *[ns] * 10)
    elif "--stencil" in sys.argv:
        print("stencil sum 1.5", *[ns * 10 + ranks] * 4)
    elif sys.argv[-3:-2] in (["receiver"], ["sender"]):
        for length in (1, 2):
            share = 95 if os.environ.get("TOWLINE_ONLOAD") else ns / length
            print(f"overlap {sys.argv[-3]} {sys.argv[-2]} {length} 400.0 {400 * length}.0 {400 * length + 20}.0 {share}")
    elif "--wait" in sys.argv:
        print("waiting 0.5")
    elif "--crowd" in sys.argv:
        print("memory " + " ".join(["2048"] * ranks))
        print("barrier " + " ".join([str(ns * 10)] * 3))
    else:
        for rank in range(ranks):
            print(f"hello from rank {rank} of {ranks}")


if __name__ == "__main__":
    main()
