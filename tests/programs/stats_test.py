"""The numbers of a job have the same names everywhere: `--stats`, its JSON, towline::stats() and docs/stats.md."""

import json
import os
import re
import tempfile

import harness
from harness import JobTest, program

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def source(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


LISTED = re.findall(r'X\((\w+), +(\w+), +"([^"]*)"\)', source("src/job/counters.hpp"))


class Names(JobTest):
    def json_of(self, ranks, *command):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stats.json")
            code, out, err, _ = self.run_job(ranks, *command, options=["--stats=" + path])
            self.assertEqual((code, err), (0, ""))
            with open(path, encoding="utf-8") as file:
                return out, json.load(file)

    def test_the_json_and_the_program(self):
        out, stats = self.json_of(3, program("counters"))
        told = [{}, {}, {}]
        for line in out.splitlines():
            rank, name, value = line.split()
            told[int(rank)][name] = int(value)
        fields = re.findall(r"std::uint64_t (\w+) = 0;", source("include/towline/stats.hpp"))
        self.assertEqual(sorted(fields), sorted(stats["total"]))
        for rank, numbers in enumerate(stats["ranks"]):
            self.assertEqual(numbers.pop("rank"), rank)
            self.assertEqual(sorted(numbers.pop("ways")), ["blocks", "messages"])
            self.assertEqual(list(numbers), list(stats["total"]))
            self.assertEqual(list(numbers), list(told[rank]))
            for name, value in numbers.items():
                # What the end of the job adds: messages, and waits.
                if name.startswith(("calls", "bytes_handed", "bytes_copied", "handed", "copied")):
                    self.assertEqual(value, told[rank][name], name)
                self.assertGreaterEqual(value, told[rank][name], name)
        for name, value in stats["total"].items():
            self.assertEqual(value, sum(numbers[name] for numbers in stats["ranks"]))
        self.assertEqual((stats["total"]["calls_sent"], stats["total"]["calls_handled"]), (12, 12))
        if self.env.get("TOWLINE_HEAP") != "off" and not harness.SANITIZED:
            self.assertEqual((stats["total"]["handed_over"], stats["total"]["bytes_handed_over"]), (9, 9 << 20))

    def test_the_table(self):
        _, stats = self.json_of(2, program("counters"))
        code, _, err, _ = self.run_job(2, program("counters"), options=["--stats"])
        self.assertEqual(code, 0)
        lines = err.splitlines()
        head = next(line for line in lines if line.split()[:1] == ["rank"]).split()
        end = next(i for i, line in enumerate(lines) if line.split()[:1] == ["all"])
        for name in head[1:]:
            self.assertIn(name, stats["total"])
        meanings = {name: meaning for name, _, meaning in LISTED}
        self.assertGreater(len(lines), end + 1)
        for line in lines[end + 1:]:  # the counters that are no columns
            if "ways of" in line:
                break
            name = line.split()[0]
            self.assertNotIn(name, head)
            self.assertTrue(line.endswith(f"  {meanings[name]}"), line)
        for line in err.splitlines():
            self.assertLessEqual(len(line), 140)

    def test_the_ways_of_messages(self):
        def kinds(stats, rank, key="sent"):
            return {(m["kind"], m["bytes"]): m[key] for m in stats["ranks"][rank]["ways"]["messages"]}
        messages = (os.path.join(harness.PROGRAMS, "mpi_paths"), "message")
        for way in ("direct", "relay", "relay-past"):
            self.env["TOWLINE_WAY"] = way
            _, stats = self.json_of(2, *messages, "plain", "50000", "60")
            self.assertEqual(list(kinds(stats, 0)), [("set", 65536)])
            sent = kinds(stats, 0)["set", 65536]
            self.assertEqual(sum(sent.values()), 60)
            self.assertGreater(sent[way], 30)  # where no block is free a message goes direct
            self.assertEqual(kinds(stats, 1), {})
            blocks = sum(n for b in stats["ranks"][1]["ways"]["blocks"] for name, n in b.items() if name != "bytes")
            self.assertEqual(blocks, sent.get("direct", 0))
        code, _, err, _ = self.run_job(2, *messages, "plain", "50000", "60", options=["--stats"])
        self.assertEqual(code, 0)
        self.assertRegex(err, r"(?m)^ +set +64 KiB +(-|\d+) +- +\d+ +by TOWLINE_WAY or TOWLINE_LAYOUT$")
        del self.env["TOWLINE_WAY"]
        # Rewritten data: a trial of up to 45 messages, and what each way costs.
        _, stats = self.json_of(2, *messages, "plain", "50000", "200")
        sent, won, ns = (kinds(stats, 0, key)["plain, rewritten", 65536] for key in ("sent", "won", "ns"))
        self.assertEqual(sum(sum(ways.values()) for ways in kinds(stats, 0).values()), 200)
        self.assertGreater(sum(sent.values()), 150)
        if won:  # no trial ends while messages are always under way
            self.assertEqual(sorted(ns), ["direct", "relay", "relay-past"])

    def test_the_page_says_what_each_is(self):
        told = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", source("docs/stats.md"), re.M)
        self.assertEqual(told, LISTED)
        _, stats = self.json_of(1, "true")
        self.assertEqual([name for name, _, _ in LISTED], list(stats["total"]))


if __name__ == "__main__":
    harness.main()
