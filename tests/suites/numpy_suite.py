"""The NumPy example, as its first line says: 4 ranks add up 100 MB each."""

import sys

import jobs
import place
import python_environment
import sources

SCRIPT = place.PROJECT / "examples" / "11_numpy" / "numpy_allreduce.py"


def main() -> int:
    try:
        python = python_environment.ready()
    except sources.Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    outcome = jobs.run([place.MPIEXEC, "-timeout", "240", "-n", "4", python, SCRIPT], 260, LD_LIBRARY_PATH=str(place.LIBRARY.parent))
    print(outcome.output.strip())
    return 0 if outcome.code == 0 and outcome.output.startswith("4 ranks, 100 MB each: the sum is right on all after ") else 1


if __name__ == "__main__":
    sys.exit(main())
