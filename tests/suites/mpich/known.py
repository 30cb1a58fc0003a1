"""What is decided about the suite's tests beforehand: which are quick, and why some cannot pass here."""

import re

from mpich.testlist import Test

MEMORY = 3.0   # GB; tests that say they need more are not run: CI's machines are small

# By a pattern for a test's name: why it fails. A test that is not here and fails is a failure of ours; one that is here and passes is
# told, too.
REASONS = {
    "pt2pt/(p?scancel|scancel_unmatch)": "expects a small send to be cancelled, which has ended when it begins; the standard lets either "
                                         "happen (MPICH expects itself to fail, too)",
    "datatype/indexed_misc(_oldapi)?": "uses a datatype after freeing it",
    "datatype/large_count": "expects MPI_Get_elements to return something else than MPI_Status_set_elements was given",
    "coll/nonblocking2 ([2-9]|10)": "keeps datatypes in arrays of int: handles of the ABI are pointers",
    "coll/nonblocking3": "keeps datatypes in arrays of int: handles of the ABI are pointers",
    "errors/coll/(nb_)?noalias[23]": "expects that a buffer which is sent and received into at once is refused",
    "errors/coll/(i?reduceop|i?(gather|scatter|allgather|alltoall)length)": "expects each rank to find that ranks disagree (MPICH expects "
                                                                           "itself to fail, too)",
    "errors/comm/too_many_i?comms[23]?": "expects communicators to run out (the suite does not ask that of other libraries)",
    "errors/faults/.*": "wants the job to go on when a rank ends, by a variable of MPICH's launcher; here it is --keep-going",
    "errors/pt2pt/truncmsg2": "expects a receive to compare the signatures of datatypes",
    "threads/pt2pt/mt_improbe_.*": "compares a message with MPI_REQUEST_NULL, which is MPI_MESSAGE_NULL in MPICH and not in the ABI",
    "topo/cartsuball": "expects a grid without dimensions on one rank alone; ours gives one to each, as the definition says",
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
