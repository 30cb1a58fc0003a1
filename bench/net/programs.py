"""Builds what measures the transport, with the library in build/release: bench_datagram and the crowd of senders."""
from __future__ import annotations

import pathlib
import subprocess

from mpi.peers import last_line
from mpi.subjects import ROOT, Places

BENCH = ROOT / "bench"
HARNESS = [BENCH / "harness" / f"{name}.cpp" for name in ("pair", "program", "thermometer")]
SOURCES = {"datagram": [BENCH / "datagram.cpp", *HARNESS], "incast": [BENCH / "net/incast.cpp"]}


def binary(places: Places, name: str) -> pathlib.Path:
    return places.programs / f"net_{name}"


def build(places: Places) -> list[str]:
    """Compiles what is older than its sources or the library; returns a line for each that failed."""
    library = places.towline / "lib"
    flags = ["-O3", "-march=native", "-std=c++20", f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}", f"-I{BENCH}", "-DFMT_SHARED"]
    linked = [f"-L{library}", f"-Wl,-rpath,{library}", "-ltowline", "-ltowline-base", "-lfmt", "-pthread"]
    headers = [*BENCH.glob("*.hpp"), *(BENCH / "harness").glob("*.hpp"), *(ROOT / "src/transport").rglob("*.hpp")]
    failed = []
    for name, sources in SOURCES.items():
        to = binary(places, name)
        newest = max(path.stat().st_mtime for path in [*sources, *headers, library / "libtowline.so"])
        if to.exists() and to.stat().st_mtime > newest:
            continue
        told = subprocess.run(["c++", *flags, *map(str, sources), *linked, "-o", str(to)], capture_output=True, text=True)
        if told.returncode != 0:
            failed.append(f"{to.name} could not be built: {last_line(told.stderr)}")
    return failed
