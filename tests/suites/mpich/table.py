"""Writes docs/conformance.md from the results of a whole run."""

import collections

import place
from mpich.run import Result
from mpich.testlist import DIRECTORIES

FILE = place.PROJECT / "docs" / "conformance.md"
SMALL = 4   # ranks
HEAD = """# Conformance: Debian's MPICH test suite

`make test-programs` builds the tests of Debian's source package `mpich` 4.0.2 (`test/mpi`) with our `mpicc`, runs them with our `mpiexec`
as the suite's own lists say, and writes this page. A test passes where the job ends with 0 and prints nothing but "No Errors"; where the
suite wants a job to fail, where it does. Lines of the lists that differ only in settings of MPICH are one test. Not built are the tests of
languages other than C, of windows, files and processes that start later, of MPICH's own extensions, and those that judge timings.

"""


def share(results: list[Result]) -> tuple[int, int]:
    """Passed, and what counts: not what needs functions that are not built yet, and not what was not run."""
    counted = [result for result in results if result.how not in ("later", "skipped")]
    return sum(result.how == "passed" for result in counted), len(counted)


def table(results: list[Result]) -> str:
    lines = ["| directory | tests | passed | failed | do not compile | hung | not built yet | not run |",
             "|---|---|---|---|---|---|---|---|"]
    rows = [(name, [result for result in results if result.directory == name]) for name in DIRECTORIES]
    for name, some in [*rows, ("all", results)]:
        counts = collections.Counter(result.how for result in some)
        cells = [len(some), counts["passed"], counts["failed"] + counts["crashed"] + counts["known"], counts["unbuilt"], counts["hung"],
                 counts["later"], counts["skipped"]]
        if some:
            lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def reasons(results: list[Result], title: str, *hows: str) -> str:
    """Tests with their reasons; tests of one program and one reason in a row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.how in hows:
            rows.setdefault((result.test.split()[0], result.reason), []).append(" ".join(result.test.split()[1:]))
    if not rows:
        return ""
    lines = [f"\n## {title}\n", "| test | ranks, arguments | reason |", "|---|---|---|"]
    lines += [f"| `{test}` | {'; '.join(ranks)} | {reason.replace('|', '/')} |" for (test, reason), ranks in rows.items()]
    return "\n".join(lines) + "\n"


def write(results: list[Result]) -> None:
    small = [result for result in results if result.ranks <= SMALL]
    large = [result for result in results if result.ranks > SMALL]
    passed, counted = share(small)
    more_passed, more_counted = share(large)
    text = HEAD
    text += f"Of the {counted} tests that fit on {SMALL} ranks and need nothing that is not built yet, {passed} pass: "
    unbuilt = sum(result.how == "unbuilt" for result in small)
    text += f"{100 * passed / max(counted, 1):.1f} %. {unbuilt} of them cannot be compiled for the ABI; of the others "
    text += f"{100 * passed / max(counted - unbuilt, 1):.1f} % pass. Of the {more_counted} on more ranks {more_passed} pass: "
    text += f"{100 * more_passed / max(more_counted, 1):.1f} %.\n\n"
    text += f"## On at most {SMALL} ranks\n\n{table(small)}\n\n## On more\n\n{table(large)}\n"
    text += reasons(results, "Failed, and why", "known", "failed", "crashed", "hung")
    text += reasons(results, "Do not compile", "unbuilt")
    text += reasons(results, "Need functions that are not built yet", "later")
    text += reasons(results, "Not run", "skipped")
    FILE.write_text(text)
