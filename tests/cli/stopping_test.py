"""work --exec: cancellation, timeouts, signals and killed workers."""

import json
import os
import signal
import unittest

from _hapax import *


@on_stores
class Stopping:
    def sleeper(self, body="exec sleep 60"):
        return self.script(f"touch {self.path('started')}; {body}")

    def started(self):
        self.until(lambda: os.path.exists(self.path("started")), "the program to start")

    def test_cancelling_stops_the_program(self):
        id = self.enqueue()
        worker = self.start("work", "--exec", self.sleeper(), "--kill-after", "10s")
        self.started()
        self.assertEqual(self.good("cancel", id, "--reason", "not wanted")["requested"], 1)
        self.assertEqual(self.until_status(id, "cancelled")["status"], "cancelled")
        worker.terminate()
        self.assertEqual(worker.wait(timeout=30), OK)

    def test_a_program_that_ignores_sigterm_is_killed(self):
        id = self.enqueue()
        worker = self.start("work", "--exec", self.sleeper("trap '' TERM; while :; do sleep 1; done"), "--kill-after", "200ms")
        self.started()
        self.good("cancel", id)
        self.until_status(id, "cancelled")
        worker.terminate()
        self.assertEqual(worker.wait(timeout=30), OK)

    def test_an_attempt_over_its_timeout_is_stopped_and_fails(self):
        own = self.enqueue("job", "--timeout", "300ms", "--max-attempts", "1")
        self.work(self.sleeper())
        self.assertEqual(self.show(own)["status"], "failed")
        flag = self.enqueue("job", "--max-attempts", "1")
        self.work(self.sleeper(), "--timeout", "300ms")
        self.assertEqual((self.show(flag)["status"], self.show(flag)["error"]["type"]), ("failed", "Timeout"))

    def test_sigterm_lets_a_program_finish(self):
        id = self.enqueue()
        worker = self.start("work", "--exec", self.sleeper("sleep 1; echo 1"), "--json")
        self.started()
        worker.send_signal(signal.SIGTERM)
        out, _ = worker.communicate(timeout=30)
        self.assertEqual((worker.returncode, json.loads(out)["completed"]), (OK, 1))
        self.assertEqual(self.show(id)["result"], 1)

    def test_sigterm_releases_what_does_not_finish_within_the_grace(self):
        id = self.enqueue()
        worker = self.start("work", "--exec", self.sleeper(f"echo $$ > {self.path('pid')}; exec sleep 60"), "--grace", "100ms")
        self.started()
        self.until(lambda: os.path.exists(self.path("pid")) and os.path.getsize(self.path("pid")), "the program's pid")
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(timeout=30), OK)
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["attempt"], shown["lost"]), ("pending", 0, 0))
        with open(self.path("pid"), encoding="utf-8") as file:
            pid = int(file.read())
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_a_second_signal_kills_and_releases_at_once(self):
        id = self.enqueue()
        worker = self.start("work", "--exec", self.sleeper("trap '' TERM; while :; do sleep 1; done"), "--grace", "60s")
        self.started()
        worker.send_signal(signal.SIGINT)
        self.until(lambda: b"stopping" in worker.stderr.readline(), "the worker to say that it stops")
        worker.send_signal(signal.SIGINT)
        self.assertEqual(worker.wait(timeout=30), OK)
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["attempt"]), ("pending", 0))

    def test_a_program_that_kills_its_worker_ends_as_a_dead_letter(self):
        id = self.enqueue("job", "--queue", "q")
        killer = self.script("kill -9 $PPID; sleep 5")
        for _ in range(12):
            worker = self.start("work", "--queue", "q", "--exec", killer, "--until-empty", "--lease", "300ms")
            if worker.wait(timeout=60) == OK:
                break
            self.assertEqual(worker.returncode, -signal.SIGKILL)
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["error"]["type"], shown["lost"]), ("failed", "WorkerLost", 4))


if __name__ == "__main__":
    unittest.main()
