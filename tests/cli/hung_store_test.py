"""A PostgreSQL server that hangs: its processes are stopped by a signal, while the kernel still accepts connections."""

import os
import signal
import subprocess
import time
import unittest

from _hapax import *
from _serving import Serving

CONTROL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "test_postgres.sh")


def control(*arguments):
    return subprocess.run([CONTROL, *arguments], check=True, capture_output=True, text=True, timeout=120).stdout.strip()


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return None


class HungStore(StoreCase, unittest.TestCase):
    """Each test has its own server. Answers are expected after 5 to 12 s; the limit is 30 s or more, because
    the machine may be busy."""

    def make_store(self):
        self.server = control("create")
        self.addCleanup(control, "remove", self.server)
        self.frozen = []
        self.addCleanup(self.thaw)
        url = control("url", self.server)
        self.assertEqual(run("migrate", "--store", url).code, OK)
        return url

    def freeze(self):
        with open(os.path.join(self.server, "data", "postmaster.pid"), encoding="utf-8") as file:
            postmaster = int(file.readline())
        for pid in [postmaster] + [int(name) for name in os.listdir("/proc") if name.isdigit()]:
            if pid == postmaster or parent_of(pid) == postmaster:
                os.kill(pid, signal.SIGSTOP)
                self.frozen.append(pid)

    def thaw(self):
        for pid in self.frozen:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        self.frozen = []

    def timed(self, seconds, call):
        begun = time.monotonic()
        value = call()
        self.assertLess(time.monotonic() - begun, seconds)
        return value

    def test_a_worker_keeps_its_grace(self):
        for program, arguments in (("exec sleep 60", []), ("exec sleep 60", ["--processes", "2"])):
            with self.subTest(arguments):
                self.enqueue()
                started = self.path("started")
                worker = self.start("work", "--exec", self.script(f"touch {started}; {program}"), "--grace", "1s",
                                    "--kill-after", "1s", "--lease", "60s", *arguments)
                self.until(lambda: os.path.exists(started), "the program to start", 60)
                self.freeze()
                time.sleep(2)  # until a sweep, a heartbeat and a claim are under way
                worker.terminate()
                _, err = self.timed(40, lambda: worker.communicate(timeout=60))
                self.assertIn(b"the store does not answer", err)
                if not arguments:
                    self.assertEqual(worker.returncode, STORE, err)
                self.thaw()
                os.remove(started)

    def test_a_server_keeps_its_grace(self):
        server = Serving(self, self.url, "--grace", "1s")
        self.freeze()
        time.sleep(2)
        server.process.terminate()
        self.timed(30, lambda: server.process.wait(60))

    def test_an_enqueue_ends_within_the_answer_timeout(self):
        self.url += "?answer_timeout=4s"
        self.enqueue()
        self.freeze()
        answer = self.timed(30, lambda: self.hapax("enqueue", "job", timeout=120))
        self.assertEqual(answer.code, STORE, answer)

    def test_a_grace_that_no_clock_can_wait_for_is_refused(self):
        for command in (["work", "--exec", "cat", "--grace"], ["work", "--exec", "cat", "--kill-after"], ["serve", "--grace"]):
            with self.subTest(command):
                problem = self.refused(USAGE, "InvalidArgument", *command, "99999d")
                self.assertIn("3660d", problem["detail"])


if __name__ == "__main__":
    unittest.main()
