"""`./dev run`: starts the server on SQLite with a load, prints an address and three curl lines that work, and
stops on Ctrl-C."""

import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.request

from _hapax import BIN, clean_environment

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "demo.sh"


def children_of(pid):
    """PIDs of all descendants of this process, without the process itself."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parent = int(pathlib.Path("/proc", entry, "stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if parent == pid:
                found += [int(entry), *children_of(int(entry))]
    return found


class Demo(unittest.TestCase):
    def start(self, port=0):
        # A session of its own, because Ctrl-C signals all processes of a terminal. Standard input is no terminal.
        self.process = subprocess.Popen(["bash", str(SCRIPT), BIN], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True,
                                        # A shell cannot trap a signal that was ignored when it started, as SIGINT is in
                                        # another shell's background.
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                                        env=clean_environment(HAPAX_DEMO_PORT=str(port), HAPAX_DEMO_ORDERS="20"))
        self.addCleanup(self.end)
        self.said = ""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.said += line.decode()

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.reader.join(10)
        self.process.stdout.close()

    def wait_for(self, text, seconds=60):
        limit = time.monotonic() + seconds
        while text not in self.said:
            self.assertLess(time.monotonic(), limit, f"no {text!r} in {self.said}")
            self.assertIsNone(self.process.poll(), self.said)
            time.sleep(0.05)

    def stop(self, number, group=False):
        below = children_of(self.process.pid)
        self.assertGreaterEqual(len(below), 2, "the server and the worker")
        (os.killpg if group else os.kill)(self.process.pid, number)
        self.assertEqual(self.process.wait(30), 0, self.said)
        self.reader.join(10)
        # A command that the script has just started may outlive it by a second.
        left, limit = below, time.monotonic() + 20
        while left and time.monotonic() < limit:
            left = [pid for pid in left if os.path.exists(f"/proc/{pid}")]
            time.sleep(0.05)
        self.assertEqual(left, [], "processes are left behind")
        self.assertIn("Stopped.", self.said)

    def curl(self, line, **options):
        return subprocess.run(shlex.split(line), capture_output=True, timeout=30, **options)

    def test_the_lines_it_prints_work(self):
        self.start()
        self.wait_for("Ctrl-C ends it.")
        self.assertIn("20 payments are asked for, each of them twice", self.said)
        address = re.search(r"listens on (http://127\.0\.0\.1:\d+)", self.said)[1]
        lines = re.findall(r"^  (curl .*)$", self.said, re.MULTILINE)
        self.assertEqual(len(lines), 3, self.said)
        for line in lines:
            self.assertIn(address, line)
        queue = json.loads(self.curl(lines[0]).stdout)
        self.assertEqual((queue["queue"], queue["dead"]), ("demo", 1))
        made = json.loads(self.curl(lines[1]).stdout)
        self.assertTrue(made["created"], made)
        # The script's worker runs the execution, and the same curl line then gets its result.
        with urllib.request.urlopen(f"{address}/v1/executions/{made['id']}/result?wait=30s", timeout=60) as answer:
            self.assertEqual(json.load(answer)["status"], "completed")
        again = json.loads(self.curl(lines[1]).stdout)
        self.assertEqual((again["error"], again["existing_execution_id"]), ("TaskAlreadyCompleted", made["id"]))
        # The load enqueues an order per second, so the stream soon has an event.
        told = []
        with subprocess.Popen([*shlex.split(lines[2]), "--max-time", "60"], stdout=subprocess.PIPE) as stream:
            for line in stream.stdout:
                told.append(line.decode().strip())
                if "event: execution" in told:
                    break
            stream.kill()
        self.assertIn("event: ready", told)
        self.assertIn("event: execution", told)
        self.stop(signal.SIGTERM)

    def test_control_c_ends_it(self):
        self.start()
        self.wait_for("Ctrl-C ends it.")
        self.stop(signal.SIGINT, group=True)

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            self.start(port)
            self.wait_for("Ctrl-C ends it.")
            self.assertIn(f"Port {port} is taken", self.said)
            self.assertNotIn(f"listens on http://127.0.0.1:{port},", self.said)
            self.stop(signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
