"""Jobs that Slurm starts: its daemons run in a network namespace, and end with the test. Needs root, slurm-wlm and munge."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import unittest

import harness
from harness import JobTest, program, wait_until
from networks_test import WHY_NOT, ip

TOOLS = ("munged", "slurmctld", "slurmd", "srun", "setpriv")
MISSING = [tool for tool in TOOLS if not shutil.which(tool)]


@unittest.skipIf(WHY_NOT, WHY_NOT)
@unittest.skipIf(MISSING, f"not installed (packages slurm-wlm, munge): {', '.join(MISSING)}")
class Slurm(JobTest):
    def setUp(self):
        super().setUp()
        self.network = f"towline-{os.getpid()}-slurm"
        self.done(ip("netns", "add", self.network))
        self.addCleanup(ip, "netns", "del", self.network)
        for words in ("link set lo up", "link add veth0 type veth peer name veth1", "address add 198.18.77.9/30 dev veth0",
                      "link set veth0 up", "link set veth1 up"):
            self.done(ip("-n", self.network, *words.split()))  # Slurm asks for an address beside the loopback's
        os.chmod(self.temporary, 0o755)
        self.place = os.path.join(self.temporary, "slurm")
        for name in ("", "spool", "state", "munge"):
            os.mkdir(os.path.join(self.place, name), 0o755)
        self.addCleanup(shutil.rmtree, self.place)
        self.addCleanup(self.end_daemons)
        munge = os.path.join(self.place, "munge")
        with open(os.path.join(munge, "key"), "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(file.name, 0o400)
        user = pwd.getpwnam("munge")
        for path in (munge, file.name):
            os.chown(path, user.pw_uid, user.pw_gid)
        host = socket.gethostname().split(".")[0]
        with open(os.path.join(self.place, "slurm.conf"), "w") as file:
            file.write(f"""ClusterName=towline
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={munge}/socket
CredType=cred/munge
SlurmUser=root
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
StateSaveLocation={self.place}/state
SlurmdSpoolDir={self.place}/spool
SlurmctldPidFile={self.place}/slurmctld.pid
SlurmdPidFile={self.place}/slurmd.pid
SlurmctldLogFile={self.place}/slurmctld.log
SlurmdLogFile={self.place}/slurmd.log
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={os.cpu_count()} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
""")
        self.env["SLURM_CONF"] = file.name
        with open(os.path.join(self.place, "cgroup.conf"), "w") as file:
            file.write("CgroupPlugin=cgroup/v1\n")
        self.done(self.inside("setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", f"--key-file={munge}/key",
                              f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed"))
        self.done(self.inside("slurmctld"))
        self.done(self.inside("slurmd"))
        self.assertTrue(wait_until(lambda: "idle" in self.inside("sinfo", "-h", "-o", "%t").stdout, 60), "the node of Slurm is not ready")

    def inside(self, *command, seconds=100):
        return subprocess.run(("ip", "netns", "exec", self.network, *command), env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds)

    def done(self, result):
        self.assertEqual(result.returncode, 0, (result.args, result.stdout, result.stderr))

    def end_daemons(self):
        for name in ("slurmd.pid", "slurmctld.pid", "munge/pid"):
            path = os.path.join(self.place, name)
            if not os.path.exists(path):
                continue
            with open(path) as file:
                pid = int(file.read())
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 20)

    def test_both_ways(self):
        launch = os.path.join(harness.PROGRAMS, "mpi_launch")
        for way in ("pmi2", "pmix"):
            srun = ("srun", "-n", "3", "-O", f"--mpi={way}")
            with self.subTest(way=way):
                result = self.inside(*srun, launch, "appnum", "x")
                self.done(result)
                self.assertEqual([line.split(":")[0] for line in sorted(result.stdout.splitlines())], [f"rank {r} of 3" for r in range(3)])
                self.done(self.inside(*srun, program("remote_calls")))
                for how in ("abort", "exit"):
                    result = self.inside(*srun, launch, how, "7")
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn("task 2: Exited with exit code 7", result.stderr)


if __name__ == "__main__":
    harness.main()
