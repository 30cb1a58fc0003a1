"""`towline layout`: what it prints of datatypes, for people and for programs, and how it refuses."""

import json
import re
import subprocess

import harness
from harness import JobTest, TOWLINE


class LayoutTest(JobTest):
    def tool(self, *words, code=0):
        done = subprocess.run([TOWLINE, "layout", *words], capture_output=True, text=True, timeout=60, env=self.env)
        self.assertEqual(done.returncode, code, done)
        return done.stdout if code == 0 else done.stderr

    def test_one_layout(self):
        self.assertEqual(self.tool("--no-measure", "vector(512,1,4,double)"), """\
vector(512,1,4,double)
  tree          at 0: loop 512 x 32 of block 8
  size          4096 B
  extent        16360 B, from 0 to 16360
  true extent   16360 B, from 0 to 16360
  density       25.04 % of the 16360 B (16 KiB) that it spans
  pieces        512, of 8 B on average
  written down  64 B for a peer

the plan from it to the same
  alike at 0: loop 512 x 32 of block 8

not measured: not asked for
""")

    def test_from_one_to_another(self):
        out = self.tool("--no-measure", "3*resized(int,-4,12)", "contiguous(2,int)")
        self.assertIn("\n  size          3 of 4 B: 12 B\n  extent        12 B, from -4 to 8\n  true extent   4 B, from 0 to 4\n", out)
        self.assertIn("\nthe plan from the first to the second\n  loop 2, 4 and 12 apart, of block 4\n"
                      "  moves 8 B: the rest of the longer one is left alone\n", out)
        out = self.tool("0*int", "int")
        self.assertIn("  pieces        none: no data\n", out)
        self.assertIn("  nothing\n", out)
        self.assertIn("\nnot measured: there are no data\n", out)
        self.assertIn("\nnot measured: more than ", self.tool("vector(2,1,1024*1024*1024,double)"))

    def test_times(self):
        out = self.tool("vector(64,1,4,double)", "hvector(64,1,16,double)")
        steps = ["memcpy", "packing", "unpacking", "writing", "reading", "joining", "pack", "basic", "memo", "optimized"]
        self.assertEqual(re.findall(r"^  (\w+) +\d+\.\d{3} +(?:\d+\.\d\d|-)  \w", out, re.M), steps)

    def test_for_programs(self):
        told = json.loads(self.tool("--json", "2*vector(64,1,4,double)", "contiguous(128,double)"))
        self.assertEqual({name: told["from"][name] for name in ("count", "size", "extent", "bytes", "span", "pieces")},
                         {"count": 2, "size": 512, "extent": 2024, "bytes": 1024, "span": 4048, "pieces": 127})
        self.assertEqual(told["to"]["pieces"], 1)
        self.assertEqual(told["plan"]["bytes"], 1024)
        for name, time in told["times"].items():
            self.assertGreater(time["us"], 0, name)
            if "GB_per_s" in time:
                self.assertAlmostEqual(time["GB_per_s"] * time["us"] * 1000 / 1024, 1, 1, name)
        told = json.loads(self.tool("--json", "--no-measure", "int"))
        self.assertEqual((told["not_measured"], "times" in told, "to" in told), ("not asked for", False, False))

    def test_errors_name_the_place(self):
        self.assertEqual(self.tool("vector(512,x,4,double)", code=2), """\
towline layout: at column 12: the blocklength is expected, not 'x'
  vector(512,x,4,double)
             ^
Try 'towline layout --help'.
""")
        self.assertIn("at column 1: there is no type 'doubel'; did you mean double?\n", self.tool("int", "doubel", code=2))
        self.assertIn("at column 1: vector: count is -1; it must be 0 or more\n", self.tool("vector(-1,1,1,int)", code=2))


if __name__ == "__main__":
    harness.main()
