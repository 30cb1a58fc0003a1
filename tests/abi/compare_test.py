"""Our mpi.h against the header of the mpich wheel: every constant with its type and value, every type, every prototype. The compiler
compares; what is parsed here is only what there is to compare."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from headers import CC, Header, beyond_the_abi

CXX = os.environ.get("CXX", "c++")
OURS = pathlib.Path(os.environ["INCLUDE"])
THEIRS = pathlib.Path(os.environ["WHEELS"]) / "include"

# The standard gives these an int count and a _c form with MPI_Count; MPICH 5.0.2 has one form, with MPI_Count.
ERRATA = {"MPI_Psend_init", "MPI_Precv_init", "PMPI_Psend_init", "PMPI_Precv_init"}
ONLY_OURS = {name + "_c" for name in ERRATA} | beyond_the_abi() | {
    "MPI_Fint", "MPI_F08_status", "MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE", "MPI_F08_STATUS_IGNORE", "MPI_F08_STATUSES_IGNORE",
    "MPI_Handler_function"}

# Types that a constant can have.
CONSTANT_TYPES = ["int", "long", "MPI_Comm", "MPI_Datatype", "MPI_Errhandler", "MPI_File", "MPI_Group", "MPI_Info", "MPI_Message", "MPI_Op",
                  "MPI_Request", "MPI_Session", "MPI_Win", "MPI_Status*", "void*", "int*", "char**", "char***", "MPI_T_enum",
                  "MPI_T_cvar_handle", "MPI_T_pvar_handle", "MPI_T_pvar_session", "MPI_Comm_copy_attr_function*",
                  "MPI_Comm_delete_attr_function*", "MPI_Type_copy_attr_function*", "MPI_Type_delete_attr_function*",
                  "MPI_Win_copy_attr_function*", "MPI_Win_delete_attr_function*", "MPI_Datarep_conversion_function*",
                  "MPI_Datarep_conversion_function_c*"]


def compile_c(text, include, output, *options):
    """The compiler's complaints, or None."""
    header = "mpi_abi.h" if (include / "mpi_abi.h").exists() else "mpi.h"
    text = f"#include <{header}>\n#include <stddef.h>\n#include <stdio.h>\n{text}"
    done = subprocess.run([CC, "-std=c11", "-w", "-I", str(include), "-x", "c", "-", "-o", str(output), *options], input=text, text=True,
                          capture_output=True)
    return done.stderr if done.returncode else None


def table_of_values(constants, types):
    """A program that prints every constant's type and value, and every type's size and alignment."""
    generic = ", ".join(f"{t}: {i}" for i, t in enumerate(CONSTANT_TYPES))
    lines = [f'printf("%s %d %lld\\n", "{name}", _Generic(({name}), {generic}), (long long)({name}));' for name in sorted(constants)]
    lines += [f'printf("%s %zu %zu\\n", "{name}", sizeof({name}), _Alignof({name}));' for name in sorted(types)]
    lines += [f'printf("MPI_Status.%s %zu %zu\\n", "{m}", offsetof(MPI_Status, {m}), sizeof(((MPI_Status*)0)->{m}));'
              for m in ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal")]
    return "int main(void)\n{\n" + "\n".join(lines) + "\n}\n"


def run_values(constants, types, include, folder):
    program = folder / "values"
    if error := compile_c(table_of_values(constants, types), include, program):
        raise AssertionError(error)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def differences(ours, folder):
    """What our header says otherwise than the wheel's, one line each."""
    us, them = Header(ours), Header(THEIRS)
    found = []
    for what in ("constants", "functions", "callbacks", "types"):
        mine, yours = set(getattr(us, what)), set(getattr(them, what))
        found += [f"{name} is missing" for name in sorted(yours - mine)]
        found += [f"{name} is ours alone" for name in sorted(mine - yours - ONLY_OURS)]
    constants, types = us.constants & them.constants, us.types & them.types
    found += [f"ours: {a}, theirs: {b}" for a, b in zip(run_values(constants, types, ours, folder),
                                                       run_values(constants, types, THEIRS, folder)) if a != b]
    both = [name for name in sorted(us.functions) if name in them.functions and name not in ERRATA]
    wanted = [(name, them.functions[name]) for name in both]
    wanted += [(name, them.callbacks[name]) for name in sorted(us.callbacks) if name in them.callbacks]
    checks = []
    for number, (name, declared) in enumerate(wanted):
        checks.append(f"typedef {declared.replace('(', f' wanted_{number}(', 1)};")
        checks.append(f'_Static_assert(__builtin_types_compatible_p(__typeof__({name}), wanted_{number}), "{name} is {declared}");')
    if error := compile_c("\n".join(checks), ours, "/dev/null", "-fsyntax-only"):
        found += re.findall(r'static assertion failed.*?"(.*?)"', error) or [error]
    return found


class Compare(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_same(self):
        self.assertEqual(differences(OURS, self.folder), [])

    def test_there_is_something_to_compare(self):
        header = Header(THEIRS)
        self.assertEqual(len([f for f in header.functions if f.startswith("MPI_")]), 662)
        self.assertEqual(len([f for f in header.functions if f.startswith("PMPI_")]), 662)
        self.assertGreater(len(header.constants), 330)
        self.assertGreaterEqual(len(header.callbacks), 22)
        self.assertGreaterEqual(len(header.types), 20)

    def test_changes_are_seen(self):
        changes = {"mpi.h": [("MPI_ERR_TAG = 4", "MPI_ERR_TAG = 40"), ("((MPI_Op)0x29)", "((MPI_Comm)0x29)"), ("MPI_MODE_EXCL = 8,", ""),
                             ("MPI_internal[5]", "MPI_internal[6]"), ("typedef intptr_t MPI_Aint", "typedef int MPI_Aint"),
                             ("void* extra_state, int complete", "void* extra_state, long complete"),
                             ("#define MPI_MAX_INFO_KEY        256", "#define MPI_MAX_INFO_KEY        255")],
                   "mpi_functions.h": [("int MPI_Barrier(MPI_Comm comm);", ""), ("int MPI_Send(const void* buf", "int MPI_Send(void* buf"),
                                       ("double MPI_Wtime(void)", "float MPI_Wtime(void)")],
                   "mpi_profiling.h": [("int PMPI_Recv(void* buf, int count", "int PMPI_Recv(void* buf, MPI_Count count")]}
        for name, replacements in changes.items():
            for old, new in replacements:
                with self.subTest(old=old):
                    changed = self.folder / "include"
                    shutil.rmtree(changed, ignore_errors=True)
                    changed.mkdir()
                    for header in OURS.glob("mpi*.h"):
                        shutil.copy(header, changed)
                    text = (changed / name).read_text()
                    self.assertIn(old, text)
                    (changed / name).write_text(text.replace(old, new, 1))
                    self.assertNotEqual(differences(changed, self.folder), [])

    def test_every_dialect_compiles_it(self):
        for compiler, language, standards in ((CC, "c", ("c89", "c99", "c17")), (CXX, "c++", ("c++98", "c++20"))):
            for standard in standards:
                command = [compiler, f"-std={standard}", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{OURS}"]
                done = subprocess.run([*command, "-x", language, "-"], input="#include <mpi.h>\n", text=True, capture_output=True)
                self.assertEqual(done.stderr, "", standard)


if __name__ == "__main__":
    unittest.main()
