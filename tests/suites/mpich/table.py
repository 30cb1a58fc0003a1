"""Writes docs/conformance.md from the results of a whole run."""

import collections

import place
from mpich import corrections
from mpich.run import Result
from mpich.testlist import DIRECTORIES

FILE = place.PROJECT / "docs" / "conformance.md"
SMALL = 4   # ranks
HEAD = """# Conformance: Debian's MPICH test suite

`make test-programs` builds the tests of Debian's source package `mpich` 4.0.2 (`test/mpi`) with our `mpicc`, runs them with our `mpiexec`
as the suite's own lists say, and writes this page. A test passes where the job ends with 0 and prints nothing but "No Errors"; where the
suite wants a job to fail, where it does; where it wants ranks to end early (`ft`, `errors/faults`), where the others print that, and the
launcher what has ended. Lines of the lists that differ only in settings of MPICH are one test. Not built are the tests of languages other
than C, of windows, files and processes that start later, of MPICH's own extensions, and those that judge timings.

"""


def share(results: list[Result]) -> tuple[int, int]:
    """Passed, and what counts: not what does not compile or needs functions that are not built yet, and not what was not run."""
    counted = [result for result in results if result.how not in ("later", "skipped", "unbuilt")]
    return sum(result.how == "passed" for result in counted), len(counted)


def said(results: list[Result], which: str) -> str:
    passed, counted = share(results)
    return f"{passed} of {counted} {which} ({100 * passed / max(counted, 1):.1f} %)"


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
    text = HEAD + f"{said(results, 'tests that are built pass')}: {said(small, f'on at most {SMALL} ranks')}, {said(large, 'on more')}. "
    asked = [result for result in results if not result.own]
    text += "Of those that the suite's own runner runs for a library that is not MPICH (it leaves out `strict=false` and `errors/faults`): "
    text += f"{said(asked, 'pass')}. "
    changed = sum(result.how == "passed" and result.corrected for result in results)
    text += f"{changed} of those that pass are made of sources that were corrected first (below).\n\n"
    text += f"## On at most {SMALL} ranks\n\n{table(small)}\n\n## On more\n\n{table(large)}\n"
    text += reasons(results, "Failed, and why", "known", "failed", "crashed", "hung")
    text += "\n## Corrected before they are built\n\n| source | why |\n|---|---|\n"
    text += "".join(f"| `{correction.file}` | {correction.why} |\n" for correction in corrections.ALL)
    text += reasons(results, "Do not compile", "unbuilt")
    text += reasons(results, "Need functions that are not built yet", "later")
    text += reasons(results, "Not run", "skipped")
    FILE.write_text(text)
