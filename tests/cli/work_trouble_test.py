"""A worker whose store refuses writes says so on standard error, even if told to print nothing else."""

import os
import resource
import subprocess
import threading
import time
import unittest

BIN = os.environ["HAPAX_BIN"]


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("HAPAX_")}


class Trouble(unittest.TestCase):
    def told_by(self, *flags):
        store = "sqlite:trouble" + "".join(flags) + ".db"
        subprocess.run([BIN, "migrate", "--store", store], check=True, env=clean_environment(), capture_output=True)
        worker = subprocess.Popen([BIN, "work", "--store", store, "--queue", "q", "--exec", "true", "--lease", "2s", *flags],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env=clean_environment())
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(iter(worker.stderr.readline, "")), daemon=True)
        reader.start()
        try:
            # When this execution has completed, the worker is running.
            subprocess.run([BIN, "enqueue", "t", "--queue", "q", "--store", store, "--wait"], check=True, timeout=120,
                           env=clean_environment(), capture_output=True)
            before = resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (1, before[1]))
            limit = time.monotonic() + 60
            while not any("disk is full" in line for line in list(lines)) and time.monotonic() < limit:
                time.sleep(0.1)
            resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, before)
        finally:
            worker.terminate()
            worker.wait(60)
            reader.join(10)
            worker.stderr.close()
        return lines

    def test_json_and_quiet_do_not_swallow_trouble(self):
        for flags in ((), ("--json",), ("--quiet",)):
            with self.subTest(flags=flags):
                self.assertTrue(any("disk is full" in line for line in self.told_by(*flags)))


if __name__ == "__main__":
    unittest.main()
