"""Every suite of real programs, one behind the other. Usage: all.py [NAME...] [--quick]; names are those of SUITES"""

import argparse
import collections
import subprocess
import sys
import time

import place

SUITES = {"mpich": ["mpich_suite.py"], "mpi4py": ["mpi4py_suite.py"], "netpipe": ["netpipe_suite.py"], "numpy": ["numpy_suite.py"],
          "crossing": ["crossing_suite.py"], "mpich_hosts": ["mpich_suite.py", "--hosts"], "mpi4py_hosts": ["mpi4py_suite.py", "--hosts"]}
LAST_LINES = 25  # of a suite that failed are said again at the end, where people look


def end_of_failed(command: list[str]) -> list[str] | None:
    """Runs a suite and passes its output on. The last lines of one that failed."""
    lines = collections.deque(maxlen=LAST_LINES)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as suite:
        for line in suite.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return list(lines) if suite.returncode else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", choices=[*SUITES, []], metavar="NAME")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    failed = {}
    begin = time.monotonic()
    wanted = options.suites or list(SUITES)
    for number, name in enumerate(wanted, 1):
        print(f"== {number}/{len(wanted)} {name}", flush=True)
        script, *more = SUITES[name]
        lines = end_of_failed([sys.executable, str(place.HERE / script), *more, *(["--quick"] if options.quick else [])])
        if lines is not None:
            failed[name] = lines
    for name, lines in failed.items():
        print(f"== {name} failed; it ended so:", *lines, sep="\n", flush=True)
    print(f"{len(wanted) - len(failed)} of {len(wanted)} suites passed, {len(failed)} failed out of {len(wanted)}"
          f"{': ' + ', '.join(failed) if failed else ''}; {time.monotonic() - begin:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
