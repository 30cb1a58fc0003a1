"""src/mpi/functions.table and its reader."""

import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(os.environ["INCLUDE"]).parent / "src" / "mpi"))
import coverage  # noqa: E402
import table  # noqa: E402

KINDS = """[kinds]
count    int       MPI_Count  0
comm     MPI_Comm  -          MPI_COMM_NULL
buffer   void      -
status   MPI_Status  -        empty
triples  int[][3]  -
User_function  MPI_User_function *  -
"""


def prototypes(line):
    _, chapters = table.parse(KINDS + "[c] 1 Chapter\n" + line)
    return [form.prototype() for function in chapters[0].functions for form in table.forms(function)]


class Table(unittest.TestCase):
    def test_the_whole_abi(self):
        _, chapters = table.read()
        names = [form.cname for c in chapters if c.name not in table.BEYOND_THE_ABI for f in c.functions for form in table.forms(f)]
        self.assertEqual(len(names), 664)
        self.assertEqual(sum(name.endswith("_c") for name in names), 161)
        self.assertEqual(sum(name.startswith("MPI_T_") for name in names), 51)

    def test_declarations(self):
        self.assertEqual(prototypes(".  Send buf:buffer count comm >status"),
                         ["int MPI_Send(const void* buf, int count, MPI_Comm comm, MPI_Status* status)",
                          "int MPI_Send_c(const void* buf, MPI_Count count, MPI_Comm comm, MPI_Status* status)"])
        self.assertEqual(prototypes("+! F counts:count[] >n:count[]\n   =comm -> double  # since MPI-2.0"),
                         ["double MPI_F(const int counts[], int n[], MPI_Comm* comm)",
                          "double MPI_F_c(const MPI_Count counts[], MPI_Count n[], MPI_Comm* comm)"])
        self.assertEqual(prototypes(".  G ranges:triples fn:User_function ..."), ["int MPI_G(int ranges[][3], MPI_User_function* fn, ...)"])
        self.assertEqual(prototypes(".  H"), ["int MPI_H(void)"])

    def test_marks(self):
        _, chapters = table.parse(KINDS + "[c] 1 C\n+! A comm\n.  B comm  # since MPI-4.1\n-- part\n+2 D\n")
        a, b, d = chapters[0].functions
        self.assertTrue(a.built and a.anytime and not a.deprecated)
        self.assertTrue(not b.built and not b.anytime and b.deprecated == "MPI-4.1")
        self.assertEqual([title for title, _ in chapters[0].sections], ["", "part"])
        self.assertTrue(d.built and not d.anytime and d.told_form and not a.told_form and not b.told_form)

    def test_what_is_built_is_told(self):
        _, chapters = table.parse(KINDS + "[a] 1 Ways\n+  F count\n-- rest\n.  G comm\n[b] 2 Means\n.  H\n[c] 3 Ends\n.  I count\n")
        self.assertEqual(coverage.sentence(chapters),
                         "1 of the 4 functions of the MPI 5.0 ABI are implemented. Not yet: rest; means; ends.")
        told = coverage.rows(chapters)
        for row in ("| 1 Ways | 2 | 1 | 1 |", "| 2 Means | 1 | 0 | 1 |", "| all | 4 | 1 | 3 |", "Not yet of 1 Ways:\n\n- rest: `MPI_G`\n"):
            self.assertIn(row, told)
        self.assertNotIn("MPI_F", told)
        text = coverage.filled(f"a {coverage.BEGIN} old {coverage.END} z", None, told)
        self.assertEqual(text, f"a {coverage.BEGIN}\n{told}\n{coverage.END} z")
        with self.assertRaisesRegex(table.TableError, "once each"):
            coverage.filled(text + coverage.END, None, told)

    def test_mistakes_are_named(self):
        for line, words in ((".  F comn", "there is no kind 'comn'"), (".  F comm:", "'comm:' is no parameter"),
                            ("?  F comm", "first columns"), (".  F comm  # old", "since MPI-n.n"),
                            (".  F comm\n.  F", "named twice: .*MPI_F"),
                            (".  F count\n.  F_c comm", "named twice: .*MPI_F_c"), ("[x", "no heading")):
            with self.subTest(line=line), self.assertRaisesRegex(table.TableError, words):
                prototypes(line)


if __name__ == "__main__":
    unittest.main()
