"""The generated entry points: an int form and its _c form call the same function with the same values. A few functions are marked as built
in a copy of the table, and defined here; the program prints what reaches them and what comes back."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["INCLUDE"]).parent
sys.path.insert(0, str(ROOT / "src" / "mpi"))
import generate  # noqa: E402
import table  # noqa: E402

BUILT = ["Send", "Gatherv", "Get_count", "Pack", "Type_get_extent", "Type_create_struct", "Request_free", "Win_shared_query"]

PROGRAM = r"""
#include "mpi/entry.hpp"
#include "mpi/failure.hpp"
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace towline::mpi {
failure::failure(int code, std::string what) : code_(code), what_(std::move(what)) {}
failure::failure(failure const&) noexcept = default;
failure::~failure() = default;
class communicator final : public object {};
int failed(function const& f, std::initializer_list<word> words)
{
    try {
        throw;
    } catch (std::exception const& e) {
        std::printf("%s failed: %s; %zu words for %zu parameters\n", f.name, e.what(), words.size(), f.parameters.size());
    }
    return 77;
}
int unsupported(function const& f, std::initializer_list<word>) { std::printf("%s unsupported\n", f.name); return 78; }
void throw_null(char const* p) { throw std::runtime_error(std::string(p) + " is null"); }
void throw_not_running() { throw std::runtime_error("not running"); }
void set_empty(MPI_Status* s) noexcept { if (s) std::memset(s, 0, sizeof *s); }

namespace calls {
void send(void const*, MPI_Count count, MPI_Datatype, int dest, int tag, MPI_Comm)
{
    std::printf("send %lld to %d, tag %d\n", (long long)count, dest, tag);
}
void gatherv(void const*, MPI_Count n, MPI_Datatype, void*, wide_array counts, wide_array displs, MPI_Datatype, int root, MPI_Comm)
{
    std::printf("gatherv %lld: %lld %lld at %lld %lld, root %d\n", (long long)n, (long long)counts[0], (long long)counts[1],
                (long long)displs[0], (long long)displs[1], root);
}
void get_count(MPI_Status const* s, MPI_Datatype, MPI_Count* count) { *count = s->MPI_TAG == 1 ? 5 : MPI_Count{1} << 33; }
void pack(void const*, MPI_Count n, MPI_Datatype, void*, MPI_Count outsize, MPI_Count* position, MPI_Comm)
{
    if (*position + n > outsize)
        throw std::runtime_error("no room");
    *position += n;
}
void type_get_extent(MPI_Datatype, MPI_Count* lb, MPI_Count* extent) { *lb = -8; *extent = MPI_Count{1} << 40; }
void type_create_struct(MPI_Count n, wide_array lengths, wide_array places, MPI_Datatype const[], MPI_Datatype* made, bool large)
{
    std::printf("%s struct of %lld: %lld at %lld\n", large ? "large" : "small", (long long)n, (long long)lengths[0], (long long)places[0]);
    *made = MPI_BYTE;
}
void request_free(MPI_Request* r) { *r = MPI_REQUEST_NULL; }
void win_shared_query(MPI_Win, int, MPI_Aint* size, MPI_Aint* unit, void* base) { *size = 9; *unit = 8; *static_cast<void**>(base) = base; }
} // namespace calls
} // namespace towline::mpi

int main()
{
    using namespace towline::mpi;
    MPI_Send(nullptr, 1, MPI_INT, 2, 3, MPI_COMM_WORLD);
    current_phase = phase::running;
    std::printf("%d\n", MPI_Send(nullptr, 1, MPI_INT, 2, 3, MPI_COMM_WORLD));
    MPI_Send_c(nullptr, MPI_Count{1} << 40, MPI_INT, 2, 3, MPI_COMM_WORLD);
    int const counts[] = {4, 5}, displs[] = {-6, 7};
    MPI_Count const wide_counts[] = {4, MPI_Count{1} << 35};
    MPI_Aint const wide_displs[] = {-6, MPI_Aint{1} << 36};
    MPI_Gatherv(nullptr, 1, MPI_INT, nullptr, counts, displs, MPI_INT, 3, MPI_COMM_WORLD);
    MPI_Gatherv_c(nullptr, 1, MPI_INT, nullptr, wide_counts, wide_displs, MPI_INT, 3, MPI_COMM_WORLD);
    MPI_Status s{};
    s.MPI_TAG = 1;
    int n = 0;
    MPI_Count big = 0;
    MPI_Get_count(&s, MPI_INT, &n);
    std::printf("%d\n", n);
    s.MPI_TAG = 2;
    MPI_Get_count(&s, MPI_INT, &n);
    MPI_Get_count_c(&s, MPI_INT, &big);
    std::printf("%s %lld\n", n == MPI_UNDEFINED ? "undefined" : "?", (long long)big);
    std::printf("%d\n", MPI_Get_count(&s, MPI_INT, nullptr));
    int position = 10;
    MPI_Pack(nullptr, 5, MPI_BYTE, nullptr, 20, &position, MPI_COMM_WORLD);
    std::printf("%d\n", position);
    std::printf("%d\n", MPI_Pack(nullptr, 50, MPI_BYTE, nullptr, 20, &position, MPI_COMM_WORLD));
    std::printf("%d\n", position);
    MPI_Aint lb = 0, extent = 0;
    MPI_Type_get_extent(MPI_INT, &lb, &extent);
    std::printf("%ld %ld\n", (long)lb, (long)extent);
    MPI_Aint const places[] = {MPI_Aint{1} << 36};
    MPI_Datatype types[] = {MPI_INT}, made = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(1, counts, places, types, &made);
    MPI_Type_create_struct_c(1, wide_counts, wide_counts + 1, types, &made);
    std::printf("%s\n", made == MPI_BYTE ? "made" : "?");
    MPI_Aint size = 0;
    void* base = nullptr;
    MPI_Win_shared_query(MPI_WIN_NULL, 0, &size, &n, &base);
    std::printf("%ld %d %s\n", (long)size, n, base == &base ? "base" : "?");
    MPI_Request r = reinterpret_cast<MPI_Request>(5);
    MPI_Isend(nullptr, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &r);
    std::printf("%s\n", r == MPI_REQUEST_NULL ? "null" : "?");
}
"""

EXPECTED = """MPI_Send failed: not running; 6 words for 6 parameters
send 1 to 2, tag 3
0
send 1099511627776 to 2, tag 3
gatherv 1: 4 5 at -6 7, root 3
gatherv 1: 4 34359738368 at -6 68719476736, root 3
5
undefined 8589934592
MPI_Get_count failed: count is null; 3 words for 3 parameters
77
15
MPI_Pack failed: no room; 7 words for 7 parameters
77
15
-8 1099511627776
small struct of 1: 4 at 68719476736
large struct of 1: 4 at 34359738368
made
9 8 base
MPI_Isend unsupported
null
"""


class Forms(unittest.TestCase):
    def test_both_forms_reach_one_function(self):
        lines = table.TABLE.read_text().splitlines()
        head = lines[:next(i for i, line in enumerate(lines) if line.startswith("[") and line != "[kinds]")]
        body, wanted = [], False
        for line in lines[len(head):]:
            if match := re.match(r"[+.][!2 ] (\w+)", line):
                wanted = match[1] in [*BUILT, "Isend"]
                line = re.sub(r"^[+.]", "+" if match[1] in BUILT else ".", line)
            elif not line.startswith(" "):
                wanted = False
            if wanted:
                body.append(line)
        kinds, chapters = table.parse("\n".join(head + ["[forms] Forms"] + body))
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            generate.write(place / "mpi", {"calls.hpp": generate.calls_header(kinds, chapters)})
            generate.write(place, {"entries.cpp": generate.entries(chapters[0]), "main.cpp": PROGRAM})
            includes = [f"-I{d}" for d in (place, ROOT / "src", ROOT / "include")]
            command = [os.environ.get("CXX", "c++"), "-std=c++20", "-Wall", "-Wextra", *includes, place / "entries.cpp", place / "main.cpp"]
            done = subprocess.run([*command, "-o", place / "forms"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = subprocess.run([place / "forms"], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (0, EXPECTED))


if __name__ == "__main__":
    unittest.main()
