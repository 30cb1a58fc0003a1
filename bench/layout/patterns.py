"""Which patterns are measured, at which sizes and in which ways. layout.c says what each is; docs/benchmarks.md where they come from."""
from __future__ import annotations

from collections.abc import Iterator

from mpi.cases import KIB, MIB, Case, Variant

EXCHANGES = ("stencil",)
CALLS = ("fft2", "alltoallw", "bcast", "allgather")
WAYS = ("type", "hand", "pack", "used1", "used16", "made")  # of one message
GROUPS = {"vectors": ("contiguous", "vector"), "grids": ("milc", "lu_x", "lu_y"), "multigrid": ("mg_x", "mg_y", "mg_z"),
          "weather": ("wrf_x", "wrf_y"), "points": ("specfem_oc", "specfem_cm", "lammps_full", "lammps_atomic"), "stencil": EXCHANGES,
          "collectives": CALLS, "types": ("types",)}  # each is measured, and written, before the next begins
WRF_ROW = 3 * 54 * 4  # bytes: a halo three wide, 54 levels of all fields, floats
ATOM = {"lammps_full": 48, "lammps_atomic": 36}

WRF = ("4:140:8:136", "4:268:8:264", "4:524:8:520", "4:1036:8:1032")
SIZES: dict[str, tuple[str, ...]] = {
    "contiguous": ("16", "128", "512", "4096", "65536", "1048576"),
    "vector": ("4:8", "8:16", "8:128", "32:512", "256:512",
               *(f"{block}:{4 * KIB}" for block in (4, 8, 64, 512)),
               *(f"{block}:{64 * KIB}" for block in (4, 8, 16, 64, 256, 512, 4096)),
               *(f"{block}:{MIB}" for block in (4, 8, 64, 512, 4096))),
    "milc": ("16:16:32:32", "32:32:32:32", "64:64:32:32", "64:64:64:64", "128:128:64:64"),
    "wrf_x": WRF,
    "wrf_y": WRF,
    "mg_x": ("258:130:130", "514:258:258", "2048:258:258"),
    "mg_y": ("258:130:130", "514:258:258", "2048:258:258"),
    "mg_z": ("258:130:130", "514:258:258", "2048:258:258"),
    "lu_x": ("12", "162", "1020"),
    "lu_y": ("12", "64", "162", "408", "1020"),
    "specfem_oc": ("1000", "16000", "256000"),
    "specfem_cm": ("250:50", "3000:600", "30000:6000"),
    "lammps_full": ("100", "1500", "20000"),
    "lammps_atomic": ("100", "1500", "20000"),
    "stencil": ("32", "64", "128", "256", "512"),
    "fft2": ("64", "256", "1024"),
    "alltoallw": ("64", "256", "1024"),
    "bcast": ("512", "8192", "131072"),
    "allgather": ("512", "8192", "131072"),
    "types": ("1", "100000"),
}
QUICK: dict[str, tuple[str, ...]] = {
    "contiguous": ("128", "65536"), "vector": ("8:128", "8:65536", "64:65536", "512:1048576"), "milc": ("16:16:32:32", "64:64:32:32"),
    "wrf_x": WRF[:1], "wrf_y": WRF[:1], "mg_x": ("258:130:130",), "mg_y": ("258:130:130",), "mg_z": ("258:130:130",), "lu_x": ("162",),
    "lu_y": ("162",), "specfem_oc": ("16000",), "specfem_cm": ("3000:600",), "lammps_full": ("1500",), "lammps_atomic": ("1500",),
    "stencil": ("64", "128"), "fft2": ("256",), "alltoallw": ("256",), "bcast": ("8192",), "allgather": ("8192",), "types": ("1",),
}
# Every pattern once, at a size that shows every part of it: for a test of the program.
SMALL: dict[str, tuple[str, ...]] = {
    "contiguous": ("24",), "vector": ("4:64", "8:64", "24:240", "4096:65536"), "milc": ("4:4:4:4",), "wrf_x": ("4:40:8:36",),
    "wrf_y": ("4:40:8:36",), "mg_x": ("10:12:14", "34:34:34"), "mg_y": ("10:12:14",), "mg_z": ("10:12:14",), "lu_x": ("12",),
    "lu_y": ("12",), "specfem_oc": ("100", "20000"), "specfem_cm": ("50:10",), "lammps_full": ("100",), "lammps_atomic": ("100",),
    "stencil": ("4", "32"), "fft2": ("8", "64"), "alltoallw": ("8", "64"), "bcast": ("50", "8192"), "allgather": ("50", "8192"),
    "types": ("1", "100"),
}


def bytes_of(name: str, numbers: str) -> int:
    """What a message holds, or what one rank gives another; the program refuses any other number."""
    d = [int(n) for n in numbers.split(":")]
    if name == "milc":
        return d[0] * d[1] // 2 * 24 * d[3]
    if name in ("wrf_x", "wrf_y"):
        return (d[3] - d[2] + 1) * WRF_ROW
    if name.startswith("mg_"):
        along = "xyz".index(name[-1])
        a, b = (d[i] - 2 for i in range(3) if i != along)
        return 8 * a * b
    scale = {"contiguous": 1, "lu_x": 40, "lu_y": 40, "specfem_oc": 4, "bcast": 8, "allgather": 8, "types": 0, **ATOM}
    if name in scale:
        return scale[name] * d[0]
    return {"vector": lambda: d[1], "specfem_cm": lambda: 12 * (d[0] + d[1]), "stencil": lambda: 48 * d[0] ** 2,
            "fft2": lambda: 4 * d[0] ** 2, "alltoallw": lambda: 2 * d[0] ** 2}[name]()


def ways(name: str, size: int) -> tuple[str, ...]:
    if name == "types":
        return ("made",)
    some = WAYS[:2] if name in EXCHANGES + CALLS else WAYS
    return tuple(way for way in some if way != "used16" or size <= MIB)  # what making costs is not seen in 16 bigger ones


def cases(sizes: dict[str, tuple[str, ...]]) -> Iterator[Case]:
    """Every pattern in all its ways; and messages with data that are dirtied before each."""
    for group, name in ((group, name) for group, names in GROUPS.items() for name in names):
        for numbers in sizes[name]:
            title, size = f"{name}:{numbers}", bytes_of(name, numbers)
            variants = {way: Variant(way, f"{title}.{way}") for way in ways(name, size)}
            yield Case(group, title, size, several=tuple(variants.values()))
            if "type" in variants:
                yield Case(group, title, size, "dirtied", several=tuple(variants[way] for way in WAYS[:2]))
