"""Jobs that ssh starts: a daemon of our own on a loopback address, with keys and settings in a temporary folder."""

import os
import pwd
import shutil
import socket
import subprocess
import time
import unittest

import harness
from harness import JobTest, SANITIZED, wait_until

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
IS_THERE = SSHD and shutil.which("ssh") and shutil.which("ssh-keygen")
WHY_NOT = "" if IS_THERE else "the packages openssh-server and openssh-client are not installed"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.2", 0))
        return one.getsockname()[1]


@unittest.skipIf(WHY_NOT, WHY_NOT)
class Ssh(JobTest):
    def setUp(self):
        super().setUp()
        account = pwd.getpwuid(os.geteuid())
        if os.path.basename(account.pw_shell) in ("nologin", "false"):
            self.skipTest(f"{account.pw_name} is not to log in: {account.pw_shell}")
        self.folder = os.path.join(self.temporary, "ssh")
        os.mkdir(self.folder, 0o700)
        self.addCleanup(shutil.rmtree, self.folder)  # before the look at what stays
        for name in ("host", "user"):
            subprocess.run(("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(name)), check=True, stdin=subprocess.DEVNULL)
        shutil.copy(self.path("user.pub"), self.path("admitted"))
        self.user = account.pw_name
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.port = free_port()
        self.write("sshd_config", f"""
Port {self.port}
ListenAddress 127.0.0.2
ListenAddress 127.0.0.3
HostKey "{self.path('host')}"
PidFile none
AuthorizedKeysFile "{self.path('admitted')}"
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 100
SetEnv {harness.MARK}={self.mark}
""")
        self.write("config", f"""
Host *
    Port {self.port}
    User {self.user}
    IdentityFile "{self.path('user')}"
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile "{self.path('known')}"
    LogLevel ERROR
    BatchMode yes
Host one
    HostName 127.0.0.2
Host two
    HostName 127.0.0.3
""")
        with open(self.path("log"), "w") as log:
            self.daemon = subprocess.Popen((SSHD, "-D", "-e", "-f", self.path("sshd_config")), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=log, env=self.env, start_new_session=True)
        self.addCleanup(self.stop)
        if not wait_until(self.answers, 20):
            with open(self.path("log")) as log:
                self.skipTest("no sshd runs here: " + log.read())
        self.options = ("--hosts", "one:2,two:2", "--ssh", f"ssh -F {self.path('config')}")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def stop(self):
        self.daemon.terminate()
        self.daemon.wait(timeout=20)

    def answers(self):
        if self.daemon.poll() is not None:
            return True  # it has said why
        try:
            socket.create_connection(("127.0.0.3", self.port), timeout=1).close()
            return True
        except OSError:
            return False

    def test_a_job(self):
        code, out, err, _ = self.run_job(4, "sh", "-c", "echo $TOWLINE_RANK $MPI_LOCALRANKID $OWN; pwd", options=self.options,
                                         env={**self.env, "OWN": "a b"}, cwd="/usr")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(sorted(out.splitlines()), ["/usr"] * 4 + ["0 0 a b", "1 1 a b", "2 0 a b", "3 1 a b"])

    def test_messages_and_input(self):
        code, out, err, _ = self.run_job(4, os.path.join(harness.PROGRAMS, "mpi_point_to_point"), "order", options=self.options)
        self.assertEqual((code, err), (0, ""), out)
        code, out, err, _ = self.run_job(2, "cat", options=self.options, input="line\n" * 50_000)
        self.assertEqual((code, err, out == "line\n" * 50_000), (0, "", True))

    def test_deaths_and_ends(self):
        code, _, err, seconds = self.run_job(4, "sh", "-c", "test $TOWLINE_RANK = 3 && { sleep 0.3; kill -9 $$; }; sleep 60",
                                             options=self.options)
        self.assertEqual(code, 137)
        self.assertRegex(err, r"^towline: rank 3 \(pid \d+ on two\) was killed by signal 9 \(SIGKILL, Killed\); the job is ended\n$")
        with self.start(4, "sh", "-c", "echo up; sleep 60", options=self.options) as job:
            self.assertEqual([job.stdout.readline() for _ in range(4)], ["up\n"] * 4)
            begin = time.monotonic()
            job.kill()  # nothing stays there either: tearDown looks
            job.communicate(timeout=20)
            self.assertTrue(wait_until(lambda: set(harness.processes_with(self.mark)) <= self.of_the_daemon(), 20))
            self.assertLess(time.monotonic() - begin, 30 if SANITIZED else 10)

    def of_the_daemon(self):
        """sshd and what waits for more logins: they carry the mark, too."""
        def parent(pid):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    return int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                return 0
        found = {self.daemon.pid}
        for pid in harness.processes_with(self.mark):
            if parent(pid) in found:
                with open(f"/proc/{pid}/comm") as file:
                    if file.read().strip().startswith("sshd"):
                        found.add(pid)
        return found

    def test_who_is_not_admitted(self):
        self.write("admitted", "")
        code, out, err, _ = self.run_job(2, "true", options=self.options)
        self.assertEqual((code, out), (125, ""))
        self.assertIn("Permission denied", err)
        self.assertRegex(err, r"host (one|two): no agent could be started there: 'ssh -F .* (one|two)' ended")


if __name__ == "__main__":
    harness.main()
