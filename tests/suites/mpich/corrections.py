"""Tests of the suite that no library of the ABI can pass as they are, because they are no programs for it, or are wrong in themselves:
what is changed in them before they are built. Each text stands in its file as often as is said; else the suite is another one than this is
for."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Correction:
    file: str
    why: str
    changes: tuple[tuple[str, str, int], ...]   # from, to, how often


ARRAYS = "its arrays of datatypes are of int; handles of the ABI are pointers"
FREED = "its second struct names a datatype that was freed, where the new one is meant"
STRUCT = ("MPI_INT */\n    err = MPI_Type_create_struct(", "MPI_INT */\n    types[0] = type;\n    err = MPI_Type_create_struct(", 1)

# Whatever else they find wrong they print, which fails as well.
REPORT = "it sums up its errors over MPI_COMM_WORLD, of which ranks have ended as it wants; the others find them, and print them"
SUM = "; and the ranks 0 to n - 1 add up to n (n - 1) / 2"
ADDED = ("(size * (size + 1)) / 2", "(size * (size - 1)) / 2", 2)


def report(end: str, condition: str) -> tuple[str, str, int]:
    return f"MTest_Finalize({end});", f'if ({condition}) {{ printf(" No Errors\\n"); fflush(stdout); }}\n    MPI_Finalize();', 1


ALL = (
    Correction("coll/nonblocking2.c", ARRAYS,
               (("int *sendtypes", "MPI_Datatype *sendtypes", 1), ("int *recvtypes", "MPI_Datatype *recvtypes", 1))),
    Correction("coll/nonblocking3.c", ARRAYS,
               (("int *sendtypes", "MPI_Datatype *sendtypes", 2), ("int *recvtypes", "MPI_Datatype *recvtypes", 2))),
    Correction("datatype/indexed_misc.c", FREED, (STRUCT,)),
    Correction("datatype/indexed_misc_oldapi.c", FREED, (STRUCT,)),
    Correction("errors/faults/pt2ptf1.c", REPORT, (report("0", "wrank == 0"),)),
    Correction("errors/faults/pt2ptf2.c", REPORT, (report("toterrs", "wrank == 0 && toterrs == 0"),)),
    Correction("errors/faults/collf1.c", REPORT + SUM, (report("0", "wrank == 0"), ADDED)),
    Correction("errors/faults/collf2.c", REPORT + SUM, (report("0", "wrank == 0"), ADDED)),
    Correction("ft/gather.c", "it receives as many numbers of each rank as its buffer has room for in all: what comes writes over its heap",
               (("recvbuf, size, MPI_INT", "recvbuf, 1, MPI_INT", 1),)),
    Correction("ft/bcast.c", REPORT, (report("errs", "rank == 0"),)),
    Correction("threads/pt2pt/mt_probe_impl.c", "it compares a message with MPI_REQUEST_NULL, which is MPI_MESSAGE_NULL in MPICH alone",
               (("*message != MPI_REQUEST_NULL", "*message != MPI_MESSAGE_NULL", 1),)),
)


def of(file: str) -> Correction | None:
    return next((correction for correction in ALL if correction.file == file), None)


def corrected(text: str, correction: Correction) -> str:
    for before, after, times in correction.changes:
        if text.count(before) != times:
            raise RuntimeError(f"{correction.file} of the suite has '{before}' {text.count(before)} times, and {times} are expected: see "
                               "tests/suites/mpich/corrections.py")
        text = text.replace(before, after)
    return text
