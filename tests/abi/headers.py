"""What an MPI header declares, as the compiler's preprocessor leaves it."""

import os
import pathlib
import re
import subprocess
import sys

CC = os.environ.get("CC", "cc")


def preprocess(include, *options):
    command = [CC, "-E", "-P", *options, "-I", str(include), "-x", "c", "-"]
    return subprocess.run(command, input="#include <mpi_abi.h>\n" if (include / "mpi_abi.h").exists() else "#include <mpi.h>\n",
                          check=True, capture_output=True, text=True).stdout


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def beyond_the_abi():
    """Functions that we have and the standard's ABI has not, with their PMPI_ twins."""
    sys.path.insert(0, str(pathlib.Path(os.environ["INCLUDE"]).parent / "src" / "mpi"))
    import table
    _, chapters = table.read()
    return {prefix + f.cname for c in chapters if c.name in table.BEYOND_THE_ABI for f in c.functions for prefix in ("", "P")}


class Header:
    """The names of an include folder's MPI header, without the extensions of one implementation (MPIX_)."""

    def __init__(self, include):
        text = one_line(preprocess(include))
        text = re.sub(r'extern "C" \{', "", text)
        bodies = re.findall(r"enum[ \w]*\{(.*?)\}", text)
        self.enumerators = self.own(name for body in bodies for name in re.findall(r"(\w+)\s*(?:=[^,]*)?(?:,|$)", body))
        # Function-like macros and macros without a value are no constants.
        defines = re.findall(r"^#define (\w+) (.+)$", preprocess(include, "-dM"), re.M)
        self.macros = self.own(name for name, _ in defines)
        statements = [one_line(s) for s in re.sub(r"\{.*?\}", "{}", text).split(";")]
        self.functions, self.callbacks, self.types = {}, {}, set()
        for statement in statements:
            if match := re.fullmatch(r"typedef (\w+(?: \w+)*?) ?\( ?(\w+) ?\) ?\((.*)\)", statement):
                self.callbacks[match[2]] = f"{match[1]}({match[3]})"
            elif match := re.fullmatch(r"typedef (.*?[ *])(\w+)", statement):
                self.types.add(match[2])
            elif match := re.fullmatch(r"(\w+) (P?MPI_\w+) ?\((.*)\)", statement):
                self.functions[match[2]] = f"{match[1]}({match[3]})"
        self.callbacks = {name: t for name, t in self.callbacks.items() if name.startswith("MPI_")}
        self.types = self.own(self.types)

    @staticmethod
    def own(names):
        return {name for name in names if name.startswith("MPI_") and not name.startswith(("MPI_H_", "MPI_ABI_H"))}

    @property
    def constants(self):
        return self.enumerators | self.macros
