#!/usr/bin/env python3
"""Compiles each program of mistakes.txt, which must fail: the first error says the cure, and the compiler says at most 40 lines.

Usage: mistakes_test.py INCLUDE CXX [NAME...]      only these mistakes
"""
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MOST_LINES = 40


def mistakes():
    head, *rest = re.split(r"^## ", (HERE / "mistakes.txt").read_text(), flags=re.M)
    common = head[head.index("#include <"):]
    for part in rest:
        title, program = part.split("\n", 1)
        name, options, cure = re.fullmatch(r"(\S+)(?: \[(.*)\])?: (.*)", title).groups()
        own = program.lstrip().startswith("#include")
        yield name, (options or "").split(), cure, program if own else "#line 1 \"mistake\"\n" + program, None if own else common


def main():
    include, cxx, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    base = [cxx, "-std=c++20", f"-I{include}", "-fdiagnostics-color=never"]
    failures = []
    with tempfile.TemporaryDirectory(prefix="mistakes-") as folder:
        work = pathlib.Path(folder)

        def compile_one(name, options, program):
            source = work / f"{name}.cpp"
            source.write_text(program)
            done = subprocess.run([*base, *options, "-fsyntax-only", str(source)], capture_output=True, text=True,
                                  env={"PATH": "/usr/bin:/bin:/usr/local/bin", "LC_ALL": "C"}, timeout=300)
            return done.returncode, done.stderr

        common = next(c for *_, c in mistakes() if c)
        (work / "common.hpp").write_text(common)
        subprocess.run([*base, "-x", "c++-header", str(work / "common.hpp"), "-o", str(work / "common.hpp.gch")], check=True)
        code, text = compile_one("right", [], '#include "common.hpp"\nint f() { return towline::async<&twice>(w.next(), 1).get(); }\n')
        if code != 0:
            sys.exit(f"a right program does not compile:\n{text}")
        chosen = [m for m in mistakes() if not names or m[0] in names]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = [(m, pool.submit(compile_one, m[0], m[1], m[3] if m[4] is None else '#include "common.hpp"\n' + m[3])) for m in chosen]
            for (name, _, cure, _, _), run in runs:
                code, text = run.result()
                lines = text.splitlines()
                first = next((line for line in lines if "error:" in line), "no error")
                if code == 0 or cure not in first or len(lines) > MOST_LINES:
                    failures.append(name)
                    print(f"{name}: expected \"{cure}\" in at most {MOST_LINES} lines, got {len(lines)} lines, {first}")
                    if names:
                        print(text)
    print(f"{len(chosen) - len(failures)} of {len(chosen)} mistakes are told in one error that says the cure")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
