"""Worker processes under a supervisor, in the library and as `hapax work --processes`: crashes, kills, stuck
handlers, rolling restarts and graceful stops with real processes."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from _hapax import *

SUPERVISED = os.environ.get("HAPAX_SUPERVISED") or sys.exit("HAPAX_SUPERVISED is not set: it must name the test's program")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]


def has_to_take(pid, number):
    """Whether the signal is pending for the process. A stopped process will not take it, so the answer is no."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            status = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return False
    pending = int(re.search(r"ShdPnd:\s*(\w+)", status)[1], 16)
    return "State:\tT" not in status and bool(pending >> (number - 1) & 1)


class Supervisor:
    """A started program and the lines it prints."""

    def __init__(self, case, command):
        self.case = case
        # A session of its own without a terminal, so SIGHUP means a rolling restart.
        self.process = subprocess.Popen(command, env=clean_environment(HAPAX_STORE_URL=case.url), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        case.children.append(self.process)
        self.pid = self.process.pid
        self.lines = []
        self.new_line = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            with self.new_line:
                self.lines.append(line.decode("utf-8", "replace").rstrip())
                self.new_line.notify_all()

    def said(self, pattern, count=1, seconds=30):
        """The lines that match, once there are that many."""
        limit = time.monotonic() + seconds
        with self.new_line:
            while True:
                found = [line for line in self.lines if re.search(pattern, line)]
                if len(found) >= count:
                    return found
                left = limit - time.monotonic()
                self.case.assertGreater(left, 0, f"in vain waited for {count} × '{pattern}' in {self.lines}")
                self.new_line.wait(left)

    def workers(self):
        return [int(re.search(r"works as (\d+)", line).group(1)) for line in self.said(r"works as")]

    def send(self, number):
        self.process.send_signal(number)

    def send_apart(self, number):
        """Signals of one kind that arrive together count as one, so this waits until all processes have taken
        the signal."""
        processes = [self.pid, *children_of(self.pid)]
        self.process.send_signal(number)
        for pid in processes:
            time.sleep(0.3)  # the supervisor passes the signal on a moment later
            self.case.until(lambda: not has_to_take(pid, number), f"{pid} to take its signal")

    def ends(self, seconds=40):
        code = self.process.wait(timeout=seconds)
        self.reader.join(timeout=10)
        out = self.process.stdout.read().decode("utf-8", "replace")
        return code, (json.loads(out) if out else None)


@on_stores
class InTheLibrary:
    def setUp(self):
        super().setUp()
        self.good("list")  # creates the store before two processes would

    def supervise(self, processes, *flags):
        supervisor = Supervisor(self, [SUPERVISED, self.url, str(processes), *map(str, flags)])
        return supervisor

    def task(self, task, *flags, **members):
        return self.enqueue(task, "--input", json.dumps(members), *flags)

    def pid_in(self, name):
        path = self.path(name)
        self.until(lambda: os.path.exists(path), f"a handler to write {name}")
        with open(path, encoding="utf-8") as file:
            return int(file.read())

    def open_gate(self, name="gate"):
        with open(self.path(name), "w", encoding="utf-8"):
            pass

    def test_processes_are_sessions_of_their_own_and_stop_when_told(self):
        supervisor = self.supervise(3)
        workers = supervisor.workers() if supervisor.said("works as", 3) else []
        self.assertEqual(len(set(workers)), 3)
        ids = [self.task("quick") for _ in range(30)]
        for id in ids:
            self.until_status(id, "completed")
        supervisor.send(signal.SIGTERM)
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["completed"], summary["started"], summary["restarts"]), (0, 30, 3, 0))
        self.assertFalse(any(alive(pid) for pid in workers))

    def test_a_crash_takes_one_process_and_ends_as_a_dead_letter(self):
        supervisor = self.supervise(2, "--lease", "2s")
        supervisor.said("works as", 2)
        crashing = self.task("crash")
        beside = [self.task("quick") for _ in range(20)]
        shown = self.until_status(crashing, "failed", 60)
        self.assertEqual((shown["error"]["type"], shown["lost"]), ("WorkerLost", 4))
        for id in beside:
            self.assertEqual(self.until_status(id, "completed")["status"], "completed")
        supervisor.said(r"was killed by signal 6 .*; it is started again in", 4)
        supervisor.send(signal.SIGTERM)
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["restarts"]), (0, 4))

    def test_what_a_killed_process_held_runs_elsewhere(self):
        supervisor = self.supervise(2, "--lease", "2s")
        supervisor.said("works as", 2)
        id = self.task("gated", file=self.path("first"), gate=self.path("gate"))
        killed = self.pid_in("first")
        os.kill(killed, signal.SIGKILL)
        supervisor.said(rf"pid {killed}\) was killed by signal 9", 1)
        self.open_gate()
        shown = self.until_status(id, "completed")
        self.assertEqual(shown["lost"], 1)
        self.assertNotEqual(shown["result"], killed)
        supervisor.said("works as", 3)
        supervisor.send(signal.SIGTERM)
        self.assertEqual(supervisor.ends()[0], 0)

    def test_processes_end_when_their_supervisor_is_killed(self):
        supervisor = self.supervise(2)
        supervisor.said("works as", 2)
        workers = supervisor.workers()
        id = self.task("gated", file=self.path("started"), gate=self.path("gate"))
        self.pid_in("started")
        supervisor.process.kill()
        # The processes end gracefully: running handlers may finish.
        self.open_gate()
        self.assertEqual(self.until_status(id, "completed")["lost"], 0)
        self.until(lambda: not any(alive(pid) for pid in workers), "the processes to end")

    def test_processes_end_with_their_supervisor_also_when_a_handler_never_returns(self):
        supervisor = self.supervise(1, "--grace", "300ms", "--kill-after", "2s")
        supervisor.said("works as")
        worker = supervisor.workers()[0]
        id = self.task("stuck", file=self.path("started"))
        self.pid_in("started")
        supervisor.process.kill()
        self.until(lambda: not alive(worker), "the process to end")
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["attempt"], shown["lost"]), ("pending", 0, 0))

    def test_a_handler_that_ignores_its_timeout_has_its_process_replaced(self):
        supervisor = self.supervise(1, "--threads", 2)
        supervisor.said("works as")
        neighbour = self.task("gated", file=self.path("neighbour"), gate=self.path("gate"))
        first = self.pid_in("neighbour")
        stuck = self.task("stuck", "--timeout", "300ms", "--max-attempts", "1", file=self.path("stuck"))
        self.assertEqual(self.pid_in("stuck"), first)
        shown = self.until_status(stuck, "failed")
        self.assertEqual((shown["error"]["type"], shown["lost"]), ("Timeout", 0))
        self.open_gate()  # the neighbour finishes within the grace period
        shown = self.until_status(neighbour, "completed")
        self.assertEqual((shown["attempt"], shown["lost"], shown["result"]), (1, 0, first))
        supervisor.said(rf"pid {first}\) ended with exit code 75: a handler of task 'stuck' does not return after its timeout")
        supervisor.said("works as", 2)
        self.assertFalse(alive(first))
        again = self.task("quick")
        self.assertNotEqual(self.until_status(again, "completed")["result"], first)
        supervisor.send(signal.SIGTERM)
        self.assertEqual(supervisor.ends()[0], 0)

    def test_neighbours_that_outlast_the_grace_are_released_without_spending_an_attempt(self):
        supervisor = self.supervise(1, "--threads", 2, "--grace", "300ms")
        supervisor.said("works as")
        neighbour = self.task("gated", file=self.path("neighbour"), gate=self.path("gate"))
        first = self.pid_in("neighbour")
        os.remove(self.path("neighbour"))
        self.task("stuck", "--timeout", "300ms", "--max-attempts", "1")
        supervisor.said(rf"pid {first}\) ended with exit code 75")
        self.assertNotEqual(self.pid_in("neighbour"), first)
        self.open_gate()
        shown = self.until_status(neighbour, "completed")
        self.assertEqual((shown["attempt"], shown["lost"]), (1, 0))
        supervisor.send(signal.SIGTERM)
        self.assertEqual(supervisor.ends()[0], 0)

    def test_a_handler_that_ignores_its_cancellation_has_its_process_replaced(self):
        supervisor = self.supervise(1)
        supervisor.said("works as")
        stuck = self.task("stuck", file=self.path("stuck"))
        first = self.pid_in("stuck")
        self.good("cancel", stuck, "--reason", "not wanted")
        shown = self.until_status(stuck, "cancelled")
        self.assertEqual((shown["error"]["message"], shown["lost"]), ("not wanted", 0))
        supervisor.said(rf"pid {first}\) ended with exit code 75: .*does not return after its cancellation")
        supervisor.said("works as", 2)
        self.assertFalse(alive(first))
        supervisor.send(signal.SIGTERM)
        self.assertEqual(supervisor.ends()[0], 0)

    def test_a_rolling_restart_replaces_each_process_and_loses_nothing(self):
        supervisor = self.supervise(2, "--grace", "60s")
        supervisor.said("works as", 2)
        before = set(supervisor.workers())
        running = self.task("gated", file=self.path("started"), gate=self.path("gate"))
        holder = self.pid_in("started")
        supervisor.send(signal.SIGHUP)
        supervisor.said("works as", 3)
        ids = [self.task("quick") for _ in range(20)]
        for id in ids:  # at any time some process is running tasks
            self.until_status(id, "completed")
        self.open_gate()
        supervisor.said("the rolling restart is done")
        self.assertEqual(self.show(running)["result"], holder)
        now = set(children_of(supervisor.pid))
        self.assertEqual((len(now), now & before), (2, set()))
        supervisor.send(signal.SIGTERM)
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["completed"], summary["started"], summary["restarts"], summary["killed"]), (0, 21, 4, 0, 0))

    def test_a_graceful_stop_finishes_or_releases_everything(self):
        supervisor = self.supervise(2, "--grace", "4s", "--threads", 4)
        supervisor.said("works as", 2)
        short = self.task("gated", file=self.path("short"), gate=self.path("gate"))
        long = self.task("gated", file=self.path("long"), gate=self.path("never"))
        waiting = [self.task("gated", gate=self.path("never")) for _ in range(20)]
        self.pid_in("short"), self.pid_in("long")
        supervisor.send(signal.SIGTERM)
        self.open_gate()
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["completed"], summary["killed"]), (0, 1, 0))
        self.assertEqual(self.show(short)["status"], "completed")
        for id in [long, *waiting]:
            shown = self.show(id)
            self.assertEqual((shown["status"], shown["attempt"], shown["lost"]), ("pending", 0, 0))

    def test_a_process_that_keeps_dying_is_started_ever_more_rarely(self):
        supervisor = self.supervise(1, "--fail", 7, "--restart-after", "50ms")
        lines = supervisor.said("ended with exit code 7", 5)
        delays = [re.search(r"again in (\S+)", line).group(1).rstrip(";") for line in lines[:5]]
        self.assertEqual(delays, ["50ms", "100ms", "200ms", "400ms", "800ms"])
        self.assertIn("5 times in a row", lines[4])
        supervisor.send(signal.SIGTERM)
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["completed"]), (0, 0))
        self.assertLessEqual(summary["started"], 7)

    def test_an_exit_code_that_nothing_would_change_ends_all(self):
        supervisor = self.supervise(3, "--fail", 78)
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["exit_code"]), (78, 78))
        self.assertLessEqual(summary["started"], 3)

    def test_a_process_that_does_not_end_is_killed(self):
        supervisor = self.supervise(1)
        supervisor.said("works as")
        worker = supervisor.workers()[0]
        os.kill(worker, signal.SIGSTOP)  # the stopped worker handles no signal
        for _ in range(3):
            supervisor.send_apart(signal.SIGTERM)
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["killed"]), (0, 1))
        self.assertFalse(alive(worker))


@on_stores
class OnTheCommandLine:
    def work_in(self, processes, *flags):
        return Supervisor(self, [BIN, "work", "--processes", str(processes), *map(str, flags)])

    def test_processes_share_a_queue_until_it_is_empty(self):
        for n in range(12):
            self.enqueue("job", "--input", str(n))
        answer = self.hapax("work", "--exec", "cat", "--processes", 3, "--until-empty", "--json")
        self.assertEqual(answer.code, OK, answer)
        self.assertEqual((answer.json["completed"], answer.json["processes_started"], answer.json["restarts"]), (12, 3, 0))

    def test_the_supervisor_adds_up_and_survives_a_killed_process(self):
        self.good("list")
        gate = self.path("gate")
        program = self.script(f"echo $PPID > {self.folder}/ppid.$HAPAX_ATTEMPT; while [ ! -e {gate} ]; do sleep 0.05; done; echo 1")
        id = self.enqueue("job")
        supervisor = self.work_in(2, "--exec", program, "--lease", "2s", "--json")
        first = self.path("ppid.1")
        self.until(lambda: os.path.exists(first) and os.path.getsize(first), "the program to start")
        with open(first, encoding="utf-8") as file:
            killed = int(file.read())
        self.assertIn(killed, children_of(supervisor.pid))
        os.kill(killed, signal.SIGKILL)
        self.until(lambda: self.show(id)["lost"] == 1, "the lease to be over")
        with open(gate, "w", encoding="utf-8"):
            pass
        self.until_status(id, "completed")
        supervisor.send(signal.SIGTERM)
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["completed"], summary["restarts"]), (OK, 1, 1))

    def test_sigint_to_the_group_stops_once_and_lets_programs_finish(self):
        self.good("list")
        program = self.script(f"touch {self.path('started')}; sleep 1; echo 1")
        id = self.enqueue("job")
        supervisor = self.work_in(2, "--exec", program, "--json")
        self.until(lambda: os.path.exists(self.path("started")), "the program to start")
        os.killpg(supervisor.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["completed"], summary["released"]), (OK, 1, 0))
        self.assertEqual(self.show(id)["result"], 1)

    def test_a_second_signal_kills_the_programs(self):
        self.good("list")
        program = self.script(f"touch {self.path('started')}; trap '' TERM; while :; do sleep 1; done")
        id = self.enqueue("job")
        supervisor = self.work_in(1, "--exec", program, "--grace", "60s", "--json")
        self.until(lambda: os.path.exists(self.path("started")), "the program to start")
        supervisor.send_apart(signal.SIGTERM)
        supervisor.send(signal.SIGTERM)
        code, _ = supervisor.ends(20)
        self.assertEqual(code, OK)
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["attempt"]), ("pending", 0))


class Schema(OnPostgres, unittest.TestCase):
    def test_what_no_restart_would_help_is_told_once(self):
        for extra in ((), ("--quiet",)):
            answer = self.hapax("work", "--exec", "cat", "--processes", 2, "--store", self.url + "_not_migrated", *extra)
            self.assertEqual(answer.code, CONFIGURATION, answer)
            self.assertEqual(len(re.findall("^SchemaMismatch: ", answer.err, re.M)), 1, answer)
        problem = self.hapax("work", "--exec", "cat", "--processes", 2, "--store", self.url + "_not_migrated", "--json")
        self.assertEqual((problem.code, problem.json["error"]), (CONFIGURATION, "SchemaMismatch"))


class Usage(OnSqlite, unittest.TestCase):
    def test_bad_numbers_and_stores_of_one_process_are_refused(self):
        self.refused(USAGE, "InvalidArgument", "work", "--exec", "cat", "--processes", "0")
        self.refused(USAGE, "InvalidArgument", "work", "--exec", "cat", "--processes", "1000")
        self.refused(USAGE, "UsageError", "work", "--exec", "cat", "--processes", "2", "--store", "memory:")
        self.refused(USAGE, "InvalidArgument", "work", "--exec", "cat", "--processes", "2", "--lease", "1h30")


if __name__ == "__main__":
    unittest.main()
