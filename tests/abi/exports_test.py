"""What libmpi_abi.so.1 exports: the functions of the ABI, those that the table has beyond it, and the PMPI_ twins of all; nothing else."""

import os
import pathlib
import re
import subprocess
import unittest

from headers import Header, beyond_the_abi

LIBRARY = os.environ["LIBRARY"]
WHEEL = pathlib.Path(os.environ["WHEELS"])
NOT_IN_WHEEL = {p + f for p in ("MPI_", "PMPI_") for f in ("Psend_init_c", "Precv_init_c")}


def symbols(library):
    """Name -> address and type of every symbol that a library exports."""
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {name: (place, kind) for place, kind, name in (line.split() for line in out.splitlines())}


class Exports(unittest.TestCase):
    def test_every_function_and_nothing_else(self):
        declared = set(Header(WHEEL / "include").functions)
        self.assertEqual(len(declared), 2 * 662)
        self.assertEqual(set(symbols(LIBRARY)), declared | NOT_IN_WHEEL | beyond_the_abi())

    def test_removed_names_that_the_wheel_has_are_there(self):
        """MPICH's header for the ABI does not declare them, and its library has them."""
        names = {name for name in symbols(WHEEL / "lib" / "libmpi_abi.so.1") if re.match("P?MPI_", name)}
        self.assertEqual(names - set(symbols(LIBRARY)), set())
        self.assertIn("MPI_Address", names)

    def test_a_function_and_its_twin_are_one(self):
        """MPI_X is another name of PMPI_X: nothing lies between them, and the library calls neither."""
        places = {name: place for name, (place, _) in symbols(LIBRARY).items()}
        for name, place in places.items():
            if name.startswith("MPI_"):
                self.assertEqual(place, places["P" + name], name)

    def test_it_goes_by_the_name_of_the_abi(self):
        def soname(library):
            out = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
            return re.search(r"SONAME.*\[(.*)\]", out)[1]
        self.assertEqual(soname(LIBRARY), soname(WHEEL / "lib" / "libmpi_abi.so.1"))
        self.assertEqual(soname(LIBRARY), "libmpi_abi.so.1")


if __name__ == "__main__":
    unittest.main()
