"""What is decided about the suite's tests beforehand: which are quick, and why some cannot pass here."""

import re

from mpich.testlist import Test

MEMORY = 3.0   # GB; tests that say they need more are not run: CI's machines are small

# By a pattern for a test's name: why it fails. A test that is not here and fails is a failure of ours; one that is here and passes is
# told, too.
REASONS = {
    "pt2pt/(p?scancel|scancel_unmatch)": "expects a small send to be cancelled. It has ended when it begins, and nothing is kept of it by "
                                         "which its receiver could find it; MPI lets either happen, and deprecates cancelling sends",
    "datatype/large_count": "expects MPI_Get_elements to return something else than MPI_Status_set_elements was given; MPI says that it "
                            "returns that",
    "errors/coll/i?reduceop": "expects a rank that only sends to find that another one gave another operation; TOWLINE_CHECK=collectives "
                              "finds it on all of them",
    "errors/coll/i?(gather|scatter|allgather|alltoall)length": "expects each rank to find that ranks disagree",
    "errors/comm/too_many_i?comms[23]?": "expects communicators to run out before there are 200,000; here they do not (strict=FALSE: the "
                                         "suite does not ask it of other libraries)",
    "topo/cartsuball": "expects MPI_Cart_sub without remaining dimensions to give one rank a communicator and the others none; MPI says "
                       "that it partitions: each is in a part of its own",
}
# Of these, what passes or fails by which rank comes first: ranks that disagree on lengths all find it only where they are told in time.
MAY_PASS = "errors/coll/i?(gather|scatter|allgather|alltoall)length"
# Where the test of a name needs no time at all on 2 cores, and little memory.
SLOW = ("comm/ctxalloc", "comm/ctxsplit", "coll/uoplong", "pt2pt/sendrecv3", "pt2pt/precv_anysrc", "init/timeout", "pt2pt/scancel",
        "pt2pt/pscancel", "pt2pt/cancelrecv", "datatype/large", "pt2pt/huge", "topo/dims", "pt2pt/sendrecv1", "pt2pt/pt2pt_large")


def reason(name: str) -> str:
    return next((why for pattern, why in REASONS.items() if re.match(rf"{pattern}( |$)", name)), "")


def may_pass(name: str) -> bool:
    return re.match(rf"{MAY_PASS}( |$)", name) is not None


def is_quick(test: Test) -> bool:
    return test.ranks <= 4 and test.memory < 1 and not f"{test.directory}/{test.program}".startswith(SLOW)
