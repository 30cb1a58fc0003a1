"""Jobs that other launchers start: the same programs, without a setting."""

import os
import shutil
import subprocess
import time
import unittest

import harness
from fake_pmi import Launcher
from harness import JobTest, program


def mpi(name):
    return os.path.join(harness.PROGRAMS, "mpi_" + name)


class ForeignTest(JobTest):
    def setUp(self):
        super().setUp()
        for name in ("PMI_FD", "PMIX_NAMESPACE", "PMIX_RANK"):
            self.env.pop(name, None)

    def run_by(self, *command, seconds=60, env=()):
        done = subprocess.run(command, env={**self.env, **dict(env)}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds)
        return done.returncode, done.stdout, done.stderr


class Fake(ForeignTest):
    """A launcher of our own that keeps the letter of the protocol, or breaks it, and never ends a process."""

    def job(self, size, command, seconds=60, env=(), each=lambda rank: {}, **how):
        launcher = Launcher(size, **how).start(command, {**self.env, **dict(env)}, each=each)
        results = launcher.wait(seconds)
        self.assertNotIn(None, results, "a rank hangs")
        return launcher, results

    def test_ranks_of_a_node(self):
        launcher, results = self.job(3, [mpi("launch"), "appnum", "here"])
        for rank, result in enumerate(results):
            self.assertEqual(result, (0, f"rank {rank} of 3: program 0, here\n", ""))
        self.assertEqual(sorted(launcher.finalized), [0, 1, 2])
        self.assertEqual(launcher.aborts, [])

    def test_remote_calls(self):
        _, results = self.job(3, [program("remote_calls")])
        self.assertEqual([r[0] for r in results], [0, 0, 0], results)

    def test_short_values_and_no_mapping(self):
        """Texts go in pieces; where the launcher does not tell the nodes, ranks find out."""
        _, results = self.job(3, [mpi("launch"), "appnum", "here"], mapping=None, value_length=64)
        self.assertEqual([r[0] for r in results], [0, 0, 0], results)

    def test_two_nodes(self):
        """Of the same machine here, whose ranks do not share memory; the cards go by way of the launcher."""
        for env in ({}, {"TOWLINE_SECURITY": "encrypt"}):
            for mapping, node in (("(vector,(0,2,2))", [0, 0, 1, 1]), ("(vector,(0,2,1))", [0, 1, 0, 1]),
                                  ("(vector,(5,1,1),(0,1,3))", [0, 1, 1, 1])):
                with self.subTest(mapping=mapping, env=env):
                    def each(rank):
                        return {"MPI_LOCALRANKID": str(node[:rank].count(node[rank])), "MPI_LOCALNRANKS": str(node.count(node[rank]))}
                    launcher, results = self.job(4, [mpi("nodes")], mapping=mapping, each=each, env=env)
                    self.assertEqual([r[0] for r in results], [0, 0, 0, 0], results)
                    self.assertEqual(sorted(launcher.finalized), [0, 1, 2, 3])
        _, results = self.job(2, [mpi("point_to_point"), "order"], mapping="(vector,(0,2,1))")
        self.assertEqual([r[0] for r in results], [0, 0], results)
        _, results = self.job(4, [program("remote_calls")], mapping="(vector,(0,2,2))")
        self.assertEqual([r[0] for r in results], [0, 0, 0, 0], results)

    def test_a_host_that_tells_nothing_of_itself(self):
        launcher = Launcher(2, mapping="(vector,(0,2,1))")
        put = launcher.answer

        def elsewhere(rank, end, line):
            put(rank, end, line if not (rank == 1 and "key=towline-facts-" in line and "cmd=put" in line)
                else line.rsplit("value=", 1)[0] + "value=1.7878")

        launcher.answer = elsewhere
        for result in launcher.start([mpi("launch")], self.env).wait(60):
            self.assertNotEqual(result[0], 0)
            self.assertIn("what a host tells of itself cannot be read", result[2])

    def test_abort_reaches_the_launcher(self):
        launcher, results = self.job(3, [mpi("launch"), "abort", "7"])
        self.assertIn((2, 7), launcher.aborts)
        self.assertEqual(results[2][0], 7)
        self.assertIn("MPI_Abort", results[2][2])

    def test_a_death_that_the_launcher_does_not_see(self):
        """The other ranks of the node end by themselves."""
        for how in (["exit", "5"], ["abort", "6"]):
            begin = time.monotonic()
            _, results = self.job(3, [mpi("launch"), *how])
            self.assertLess(time.monotonic() - begin, 30)
            self.assertEqual(results[2][0], int(how[1]))
            for code, _, err in results[:2]:
                self.assertNotEqual(code, 0)
                self.assertIn("rank 2", err)

    def test_a_death_on_another_node(self):
        """Whose launcher says nothing: its machine refuses packets for it."""
        begin = time.monotonic()
        _, results = self.job(2, [mpi("launch"), "exit", "5"], mapping="(vector,(0,2,1))")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(results[1][0], 5)
        self.assertNotEqual(results[0][0], 0)
        self.assertIn("rank 0 gives up rank 1: its process has ended", results[0][2])

    def test_a_launcher_that_is_silent(self):
        for command, missing in (("init", "init"), ("get_maxes", "get_maxes"), ("put", "put"), ("barrier_in", "other ranks have not come")):
            with self.subTest(command=command):
                _, results = self.job(2, [mpi("launch")], spoil=lambda rank, c: "" if c == command else None,
                                      env={"TOWLINE_LAUNCHER_TIMEOUT": "300ms"})
                for code, _, err in results:
                    self.assertNotEqual(code, 0)
                    self.assertRegex(err, f"PMI-1.*({missing}|other ranks have not come).*TOWLINE_LAUNCHER_TIMEOUT")
                self.assertIn(missing, results[0][2])

    def test_a_launcher_that_talks_nonsense(self):
        for command, answer, said in (("init", "cmd=response_to_init rc=-1\n", "refuses init"), ("init", "hello\n", "not response_to_init"),
                                      ("get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64\n", "vallen_max"),
                                      ("get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=3\n", "too short"),
                                      ("get_my_kvsname", "cmd=my_kvsname\n", "key-value space"), ("init", "x" * 70000, "has no end"),
                                      ("init", "\x1b[2J\n", r"\?\[2J"), ("put", "close", "has gone|Broken pipe|reset"),
                                      ("get", "cmd=get_result rc=0 value=zz\n", "Towline's form")):
            with self.subTest(command=command, answer=answer[:50]):
                _, results = self.job(2, [mpi("launch")], spoil=lambda rank, c: answer if c == command else None,
                                      env={"TOWLINE_LAUNCHER_TIMEOUT": "2s"})
                for code, _, err in results:
                    self.assertNotEqual(code, 0)
                    self.assertRegex(err, f"{said}|other ranks have not come")
                    self.assertNotIn("\x1b", err)
                self.assertRegex(results[0][2], said)

    def test_a_rank_that_never_comes(self):
        launcher = Launcher(3).start([mpi("launch")], {**self.env, "TOWLINE_LAUNCHER_TIMEOUT": "500ms"}, ranks=(0, 1))
        for result in launcher.wait(60):
            self.assertNotEqual(result[0], 0)
            self.assertIn("other ranks have not come", result[2])

    def test_wrong_surroundings(self):
        for env, said in (({"PMI_FD": "77"}, "PMI_FD=77 names a closed descriptor"), ({"PMI_FD": "x"}, "PMI_FD=x"),
                          ({"PMI_FD": "0"}, "no socket"), ({"TOWLINE_LAUNCHER": "pmix"}, "PMIX_RANK are not set"),
                          ({"TOWLINE_LAUNCHER": "pmi"}, "PMI_FD is not set"), ({"TOWLINE_LAUNCHER": "fork"}, "TOWLINE_LAUNCHER='fork' is not")):
            with self.subTest(env=env):
                code, _, err = self.run_by(mpi("launch"), env=env)
                self.assertNotEqual(code, 0)
                self.assertIn(said, err)
        self.assertEqual(self.run_by(mpi("launch"), "appnum", "x", env={"PMI_FD": "77", "TOWLINE_LAUNCHER": "none"})[:2],
                         (0, "rank 0 of 1: program -1, x\n"))
        with self.subTest("impossible numbers"):
            _, results = self.job(1, [mpi("launch")], each=lambda rank: {"PMI_RANK": "4"})
            self.assertIn("PMI_RANK and PMI_SIZE", results[0][2])

    def test_a_stranger_at_the_socket(self):
        """Of the same user, without the key: refused, and the job goes on."""
        import socket
        import threading
        asked = []

        def visit(launcher):
            end = time.monotonic() + 20
            while time.monotonic() < end:
                with launcher.lock:
                    told = [value for key, value in launcher.values.items() if key.startswith("towline-node-")]
                names = [bytes.fromhex(value.split(".", 1)[1]).decode() for value in told]
                if not names:
                    time.sleep(0.001)
                    continue
                try:
                    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
                        link.settimeout(20)
                        link.connect("\0" + names[0])
                        link.send(b"towlask1" + (5).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(32 + 1024))
                        asked.append(link.recv(100))  # nothing: it was hung up on
                except OSError as e:
                    asked.append(e)
                return

        launcher = Launcher(2, spoil=lambda rank, c: time.sleep(0.3) if c == "barrier_in" and rank == 1 else None)
        thread = threading.Thread(target=visit, args=(launcher,))
        thread.start()
        results = launcher.start([mpi("launch"), "appnum", "x"], self.env).wait(60)
        thread.join()
        self.assertEqual([r[0] for r in results], [0, 0], results)
        self.assertTrue(asked and (asked[0] == b"" or isinstance(asked[0], OSError)), asked)


class RealLauncher:
    """What every launcher has to do; `run_by_launcher(ranks, command)`."""

    def test_programs(self):
        code, out, err = self.launch(3, mpi("launch"), "appnum", "x")
        self.assertEqual((code, sorted(out.splitlines())), (0, [f"rank {r} of 3: program 0, x" for r in range(3)]), err)
        code, out, err = self.launch(2, mpi("point_to_point"), "order")
        self.assertEqual(code, 0, (out, err))
        code, out, err = self.launch(3, program("remote_calls"))
        self.assertEqual(code, 0, (out, err))

    def test_ends(self):
        for how in ("abort", "exit", "late"):
            with self.subTest(how=how):
                code, out, err = self.launch(3, mpi("launch"), how, "7")
                self.assertNotEqual(code, 0, (out, err))
                if how == "abort":
                    self.assertEqual(code, 7, (out, err))


@unittest.skipUnless(shutil.which("mpiexec.hydra"), "the package mpich is not installed")
class Hydra(RealLauncher, ForeignTest):
    def launch(self, ranks, *command):
        return self.run_by("mpiexec.hydra", "-n", str(ranks), *command)

    def test_several_programs(self):
        code, out, err = self.run_by("mpiexec.hydra", "-n", "1", mpi("launch"), "appnum", "a", ":", "-n", "2", mpi("launch"), "appnum", "b")
        self.assertEqual((code, sorted(out.splitlines())),
                         (0, ["rank 0 of 3: program 0, a", "rank 1 of 3: program 1, b", "rank 2 of 3: program 1, b"]), err)


@unittest.skipUnless(shutil.which("mpirun.openmpi") and harness.has_pmix(), "the package openmpi-bin, or libpmix2, is not installed")
class OpenMPI(RealLauncher, ForeignTest):
    def launch(self, ranks, *command):
        return self.run_by("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks), *command)


if __name__ == "__main__":
    harness.main()
