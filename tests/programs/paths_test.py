"""Walks the tables of docs/paths.md: forces each way by its setting, moves data of the right size and memory, and looks whether the way's
counters moved, and the data were right (the programs compare them)."""

import ctypes
import json
import os
import re
import subprocess
import tempfile
import unittest
from dataclasses import dataclass

import harness
from harness import JobTest, TOWLINE, program

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORES = len(os.sched_getaffinity(0))
KIB, MIB = 1 << 10, 1 << 20
HERE = "`paths_test.py`"


def page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def tables(text):
    """The rows of each table, by its head."""
    found = {}
    for head, rows in re.findall(r"^\|(.*)\|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text, re.M):
        cells = [[c.strip() for c in row.strip("|").split("|")] for row in rows.splitlines()]
        found.setdefault(tuple(c.strip() for c in head.split("|")), []).append(cells)
    return found


@dataclass
class Walk:
    """How a way is made to be taken."""
    kind: str                # the first word that the program is given
    memory: str              # of mpi_paths: heap or plain; "": program_remote_paths
    size: int                # bytes of each message, or numbers
    count: int
    ranks: int = 2
    share: float = 1.0       # of size * count, what a counter of bytes has at least; 0: more than nothing, for it is a matter of time
    none: tuple = ()         # counters that stay 0
    needs: str = ""          # of: attach, cores, heap
    hosts: int = 1           # names of this machine, which are nodes that share no memory


ROWS = {
    "one cell": Walk("message", "plain", 8, 100),
    "few cells": Walk("message", "plain", 200, 100),
    "whole": Walk("message", "plain", 4000, 100, none=("bytes_mapped", "bytes_cma", "bytes_relayed")),
    "queued": Walk("flood", "plain", 1000, 2000),
    "cut": Walk("words", "", 8 * 1000, 10),
    "eager": Walk("message", "plain", 8192, 50, none=("bytes_mapped", "bytes_cma", "bytes_relayed")),
    "synchronous": Walk("synchronous", "plain", 100, 50),
    "here": Walk("message", "heap", 16 * KIB, 50, none=("bytes_cooperated", "bytes_relayed")),
    "laid": Walk("strided", "heap", 64 * KIB, 20, share=0.9),
    "laid, by both sides": Walk("strided", "heap", 2 * MIB, 60, share=0, needs="cores"),
    "pipelined": Walk("strided", "plain", 64 * KIB, 20, share=0.9),
    "relayed": Walk("message", "plain", 64 * KIB, 50, share=0.9),
    "relayed past the caches": Walk("message", "heap", 64 * KIB, 50, share=0.9),
    "inside": Walk("message", "heap", 6000, 50, none=("bytes_mapped", "bytes_relayed")),
    "handed over": Walk("handed_with_text", "", 64 * KIB, 20, none=("bytes_copied_once", "bytes_copied_twice"), needs="heap"),
    "handed over in a head": Walk("handed", "", 64 * KIB, 20, none=("bytes_copied_once", "bytes_copied_twice"), needs="heap"),
    "looked at": Walk("viewed", "", 256 * KIB, 20, none=("bytes_copied_once", "bytes_copied_twice", "bytes_handed_over"), needs="heap"),
    "looked at, with gaps": Walk("columns_borrowed", "", 256 * KIB, 20, needs="heap",
                                 none=("bytes_copied_once", "bytes_copied_twice", "bytes_handed_over")),
    "packed view": Walk("columns", "", 256 * KIB, 20, none=("bytes_copied_once", "bytes_copied_twice")),
    "mapped": Walk("message", "heap", 2 * MIB, 10, none=("bytes_cooperated", "bytes_relayed")),
    "by both sides": Walk("message", "heap", 2 * MIB, 60, share=0, needs="cores"),
    "staged": Walk("message", "plain", 64 * KIB, 20),
    "owned by a vector": Walk("owned", "", 256 * KIB, 20, none=("bytes_copied_twice",), needs="heap"),
    "by the kernel": Walk("message", "plain", 64 * KIB, 20, none=("bytes_pushed", "bytes_staged"), needs="attach"),
    "pushed": Walk("message", "plain", 16 * KIB, 20000, share=0, needs="attach cores"),
    "pulled": Walk("message", "plain", 32 * MIB, 1),
    "on-loaded": Walk("overlapped", "heap", 2 * MIB, 20, share=0),
    "packed call": Walk("number", "", 8, 20),
    "to many": Walk("number_to_all", "", 8, 20, ranks=4),
    "slot": Walk("bcast", "plain", 64, 50, none=("bytes_in_place",)),
    "payload": Walk("allreduce", "plain", 1 * KIB, 50, none=("bytes_in_place",)),
    "shown": Walk("bcast", "heap", 8 * KIB, 50, needs="cores"),
    "lent, in parts": Walk("allreduce", "heap", 1 * MIB, 10),
    "halves": Walk("gather", "heap", 1 * MIB, 10),
    "from a copy": Walk("allreduce", "plain", 1 * MIB, 10),
    "table": Walk("alltoallv", "plain", 256, 20, ranks=3, none=("bytes_in_place",)),
    "as steps": Walk("iallreduce", "plain", 64, 50, none=("bytes_in_place",)),
    "by way of rank 0": Walk("allreduce", "plain", 64, 20, ranks=9, none=("bytes_in_place",)),
    "two levels, leaders": Walk("allreduce", "plain", 64, 20, ranks=4, hosts=2, none=("bytes_in_place",)),
    "two levels, shares": Walk("allreduce", "plain", 256 * KIB, 10, ranks=4, hosts=2),
    "messages": Walk("allreduce", "plain", 64, 20, none=("collectives_shared", "bytes_offered")),
}


def attach_works():
    """Cross-memory attach, of this process by itself: what a filter refuses, it refuses here, too."""
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    there, here = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
    remote, local = (Vector(ctypes.cast(b, ctypes.c_void_p), 8) for b in (there, here))
    return ctypes.CDLL(None).process_vm_readv(os.getpid(), ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) == 8


class Paths(JobTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def environment(self, forced):
        """That of the settings, and of the thresholds, in a cell."""
        env = {**self.env, **dict(re.findall(r"`(TOWLINE_\w+)=(\S+?)`", forced))}
        thresholds = re.findall(r"`([a-z_]+)=(\w+)`", forced)
        if thresholds:
            env["TOWLINE_TUNING"] = os.path.join(self.folder.name, "thresholds.toml")
            with open(env["TOWLINE_TUNING"], "w", encoding="utf-8") as file:
                lines = "".join(f'{name} = "{value}"\n' for name, value in thresholds)
                file.write(f'[machine]\nprocessor = "{processor(env)}"\ncores = {os.sysconf("SC_NPROCESSORS_ONLN")}\n[thresholds]\n{lines}')
        return env

    def counted(self, walk, forced):
        sizes = [str(walk.size), str(walk.count)]
        command = ([os.path.join(harness.PROGRAMS, "mpi_paths"), walk.kind, walk.memory, *sizes] if walk.memory
                   else [program("remote_paths"), walk.kind, *sizes])
        if "`program_refuse`" in forced:
            command = [program("refuse"), *command]
        path = os.path.join(self.folder.name, "stats.json")
        options = ["--stats=" + path, "--bind", "core" if "cores" in walk.needs else "none"]
        if walk.hosts > 1:
            options += ["--hosts", ",".join(f"127.0.0.{n + 1}:{walk.ranks // walk.hosts}" for n in range(walk.hosts))]
        code, out, err, _ = self.run_job(walk.ranks, *command, options=options, env=self.environment(forced), timeout=120)
        if code == 77:
            self.skipTest("filters of system calls are not permitted here")
        self.assertEqual((code, out, err), (0, "", ""))
        with open(path, encoding="utf-8") as file:
            return json.load(file)["total"]

    def lacks(self, walk):
        if "attach" in walk.needs and not attach_works():
            return "cross-memory attach is refused here"
        if "cores" in walk.needs and CORES < walk.ranks:
            return "a core for each rank is needed"
        if "heap" in walk.needs and (harness.SANITIZED or self.env.get("TOWLINE_HEAP") == "off"):
            return "malloc is not served by the shared heap here"
        return ""


def processor(env):
    """As the launcher calls it, which says so of a file that was measured elsewhere."""
    if not hasattr(processor, "name"):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write('[machine]\nprocessor = "none"\n')
            file.flush()
            out = subprocess.run([TOWLINE, "info"], capture_output=True, text=True, check=True,
                                 env={**env, "TOWLINE_TUNING": file.name}).stdout
        processor.name = re.search(r"measured on none with 0 cores, not on (.*) with \d+ cores?; towline tune", out)[1]
    return processor.name


COUNTED = [row for rows in tables(page("docs/paths.md"))[("way", "counter", "forced by", "seen by")] for row in rows]
TOLD = [row for rows in tables(page("docs/paths.md"))[("way", "taken for", "begins in", "lost without it")] for row in rows]


class Tables(unittest.TestCase):
    def test_both_tables_have_the_same_ways(self):
        self.assertGreater(len(TOLD), 40)
        self.assertEqual([row[0] for row in TOLD], [row[0] for row in COUNTED])
        self.assertEqual(len({row[0] for row in TOLD}), len(TOLD))

    def test_every_way_is_walked_or_says_where_it_is_seen(self):
        walked = [row[0] for row in COUNTED if HERE in row[3]]
        self.assertEqual(sorted(walked), sorted(ROWS))
        for way, _, _, seen in COUNTED:
            names = re.findall(r"`(tests/\S+)`", seen)
            self.assertTrue(names or HERE in seen, way)
            for name in names:
                self.assertTrue(os.path.exists(os.path.join(ROOT, name)), name)

    def test_counters_and_settings_are_there(self):
        counters = set(re.findall(r"X\((\w+),", page("src/job/counters.hpp")))
        settings, thresholds = page("src/base/settings_table.cpp"), page("src/engine/tuning.cpp")
        for way, counted, forced, _ in COUNTED:
            self.assertTrue(counted == "-" or set(re.findall(r"`(\w+)`", counted)) <= counters, way)
            for name in re.findall(r"`(TOWLINE_\w+)=", forced):
                self.assertIn(f'"{name}"', settings, way)
            for name in re.findall(r"`([a-z_]+)=", forced):
                self.assertIn(f'{{"{name}",', thresholds, way)


def walk_of(way, counters, forced):
    def test(self):
        walk = ROWS[way]
        if lack := self.lacks(walk):
            self.skipTest(lack)
        total = self.counted(walk, forced)
        for name in counters:
            least = 1 if not name.startswith("bytes_") else max(1, int(walk.share * walk.size * walk.count))
            self.assertGreaterEqual(total[name], least, (name, total))
        for name in walk.none:
            self.assertEqual(total[name], 0, (name, total))
    return test


for way, counted, forced, seen in COUNTED:
    if HERE in seen and way in ROWS:
        name = "test_" + re.sub(r"\W+", "_", way)
        setattr(Paths, name, walk_of(way, re.findall(r"`(\w+)`", counted), forced))


if __name__ == "__main__":
    harness.main()
