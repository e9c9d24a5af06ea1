"""A server for tests of the command line."""

import subprocess

from _hapax import BIN, clean_environment


class Serving:
    """A server on a store, for as long as the test runs."""

    def __init__(self, test, url, *flags, env=None):
        self.process = subprocess.Popen([BIN, "serve", "--listen", "127.0.0.1:0", "--log", "off", *flags],
                                        env=clean_environment(HAPAX_STORE_URL=url, **(env or {})), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        test.children.append(self.process)
        line = self.process.stdout.readline().decode()
        if not line.startswith("listening on "):
            raise AssertionError(f"it did not start: {line!r} {self.process.stderr.read()!r}")
        self.url = line.removeprefix("listening on ").strip()

    def kill(self):
        self.process.kill()
        self.process.wait()
