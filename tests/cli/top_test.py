"""hapax top: frames for pipes and scripts, and the live view on a pseudo-terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from _hapax import *

ALTERNATE, MAIN = b"\x1b[?1049h", b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"


class Screen:
    """Runs the program on a pty and emulates enough of a terminal to know what is on the screen."""

    def __init__(self, case, *arguments, rows=24, columns=100, env=None):
        self.case = case
        self.master, slave = pty.openpty()
        self.resize(rows, columns, tell=False)
        self.before = termios.tcgetattr(slave)
        self.slave = slave

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen([BIN, "top", *arguments], stdin=slave, stdout=slave, stderr=slave, preexec_fn=own_terminal,
                                        env=clean_environment(HAPAX_STORE_URL=case.url, TERM="xterm", **(env or {})))
        case.children.append(self.process)
        self.raw = b""
        self.frames = 0

    def resize(self, rows, columns, tell=True):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if tell:
            self.process.send_signal(signal.SIGWINCH)

    def read(self, seconds=0.1):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return b""
        try:
            got = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            return b""
        self.raw += got
        return got

    def picture(self):
        """The last complete frame as text, without colours."""
        frames = self.raw.split(b"\x1b[H")
        whole = [frame for frame in frames if frame.endswith(b"\x1b[J") or b"\x1b[J" in frame]
        if not whole:
            return ""
        text = whole[-1].split(b"\x1b[J")[0].decode("utf-8", "replace")
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n")

    def until(self, text, seconds=20):
        limit = time.monotonic() + seconds
        while not re.search(text, self.picture()):
            self.case.assertLess(time.monotonic(), limit, f"in vain waited for '{text}' in:\n{self.picture()}")
            self.read()
        return self.picture()

    def type(self, keys):
        os.write(self.master, keys.encode())

    def ends(self, code=0):
        limit = time.monotonic() + 20
        while self.process.poll() is None:
            self.case.assertLess(time.monotonic(), limit, "it does not end")
            self.read()
        while self.read(0.05):
            pass
        self.case.assertEqual(self.process.returncode, code)
        self.given_back()

    def given_back(self):
        self.case.assertEqual(termios.tcgetattr(self.slave), self.before)
        self.case.assertGreater(self.raw.rfind(MAIN), self.raw.rfind(ALTERNATE))
        self.case.assertGreater(self.raw.rfind(SHOW_CURSOR), self.raw.rfind(ALTERNATE))


@on_stores
class Top:
    def fill(self):
        for n in range(3):
            self.enqueue("mail", "--queue", "emails")
        self.enqueue("big", "--queue", "imports")
        self.enqueue("bad", "--queue", "broken", "--max-attempts", "1")
        self.good("work", "--queue", "broken", "--exec", self.script("echo 'no such order' >&2; exit 1"), "--until-empty")

    def test_once_as_text_and_as_json(self):
        self.fill()
        answer = self.hapax("top", "--once")
        self.assertEqual(answer.code, OK, answer)
        for text in ("QUEUE", "emails", "imports", "broken", "no workers", "ExitStatus", "no such order", "4 ready", "1 dead"):
            self.assertIn(text, answer.out)
        self.assertNotIn("\x1b", answer.out)
        picture = self.good("top", "--once")
        self.assertEqual({queue["queue"]: queue["ready"] for queue in picture["queues"]}, {"broken": 0, "emails": 3, "imports": 1})
        self.assertEqual([failure["task"] for failure in picture["failures"]], ["bad"])
        self.assertEqual(picture["sessions"], [])

    def test_json_is_a_stream_of_pictures_until_a_signal(self):
        self.fill()
        child = self.start("top", "--json", "--interval", "100ms")
        first, second = json.loads(child.stdout.readline()), json.loads(child.stdout.readline())
        self.assertLess(first["at"], second["at"])
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=20)
        self.assertEqual(child.returncode, OK)

    def test_a_reader_that_is_gone_ends_it(self):
        self.good("list")
        child = self.start("top", "--json", "--interval", "100ms")
        child.stdout.readline()
        child.stdout.close()
        self.assertEqual(child.wait(timeout=20), OK)
        child.stdout = open(os.devnull, "rb")

    def test_workers_are_shown_while_they_work(self):
        id = self.enqueue("slow", "--queue", "emails")
        worker = self.start("work", "--queue", "emails", "--exec", self.script(f"touch {self.path('started')}; sleep 30"),
                            "--name", "mailer", "--kill-after", "100ms", "--grace", "0")
        self.until(lambda: os.path.exists(self.path("started")), "the program to start")
        picture = self.good("top", "--once")
        self.assertEqual([(s["worker"], s["queues"], s["running"]) for s in picture["sessions"]], [("mailer", ["emails"], 1)])
        self.assertIn("mailer", self.hapax("top", "--once").out)
        self.good("cancel", id)
        worker.terminate()
        worker.communicate(timeout=30)

    def test_another_namespace_is_not_shown(self):
        self.fill()
        picture = self.good("top", "--once", "--namespace", "other")
        self.assertEqual((picture["queues"], picture["failures"], picture["namespace"]), ([], [], "other"))

    def test_live_shows_what_changes_and_gives_the_terminal_back(self):
        self.fill()
        screen = Screen(self, "--interval", "200ms")
        screen.until(r"emails\s+open\s+3")
        self.enqueue("mail", "--queue", "emails")
        screen.until(r"emails\s+open\s+4")
        self.assertIn(ALTERNATE, screen.raw)
        screen.type("q")
        screen.ends()

    def test_paused_it_stays_as_it_is(self):
        self.fill()
        screen = Screen(self, "--interval", "100ms")
        screen.until(r"emails\s+open\s+3")
        screen.type("p")
        screen.until("paused: p to go on")
        self.enqueue("mail", "--queue", "emails")
        for _ in range(10):
            screen.read(0.1)
        self.assertRegex(screen.picture(), r"emails\s+open\s+3")
        screen.type("p")
        screen.until(r"emails\s+open\s+4")
        screen.type("q")
        screen.ends()

    def test_order_selection_and_help(self):
        self.fill()
        screen = Screen(self, "--interval", "60s")
        self.assertLess(*[screen.until("emails").index(name) for name in ("broken", "emails")])
        screen.type("s")
        self.assertLess(*[screen.until("by ready").index(name) for name in ("emails", "broken")])
        screen.type("\x1b[B")
        screen.until("> emails")
        screen.type("\x1b[B\x1b[B\x1b[A")
        screen.until("> imports")
        screen.type("h")
        screen.until("select a queue")
        screen.type("x")
        screen.until("> imports")
        screen.type("q")
        screen.ends()

    def test_another_size_is_drawn_anew_and_no_size_breaks_it(self):
        self.fill()
        screen = Screen(self, "--interval", "60s", rows=40, columns=120)
        screen.until("no such order")
        for rows, columns in ((10, 40), (3, 10), (1, 1), (2, 500), (60, 200)):
            frames = screen.raw.count(b"\x1b[J")
            screen.resize(rows, columns)
            # A frame of the old size may still be on its way. The kernel signals the new size too, so each size
            # is drawn twice.
            self.until(lambda: screen.read() is not None and screen.raw.count(b"\x1b[J") > frames and
                       len(screen.picture().split("\n")) <= rows, f"a picture of {rows} rows")
        screen.until("no such order")
        screen.type("q")
        screen.ends()

    def test_signals_give_the_terminal_back(self):
        self.fill()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            screen = Screen(self, "--interval", "60s")
            screen.until("emails")
            screen.process.send_signal(number)
            screen.ends()

    def test_a_crash_gives_the_terminal_back(self):
        self.fill()
        screen = Screen(self, "--interval", "60s")
        screen.until("emails")
        screen.process.send_signal(signal.SIGSEGV)
        screen.ends(-signal.SIGSEGV)

    def test_stopped_by_ctrl_z_the_terminal_is_the_shells(self):
        self.fill()
        screen = Screen(self, "--interval", "60s")
        screen.until("emails")
        screen.process.send_signal(signal.SIGTSTP)
        self.until(lambda: screen.read() is not None and screen.raw.rfind(MAIN) > screen.raw.rfind(ALTERNATE), "the main screen")
        # The program restores the screen first and the settings after, so the test may look between the two.
        self.until(lambda: termios.tcgetattr(screen.slave) == screen.before, "the terminal's settings")
        screen.process.send_signal(signal.SIGCONT)
        self.until(lambda: screen.read() is not None and screen.raw.rfind(ALTERNATE) > screen.raw.rfind(MAIN), "the other screen")
        screen.type("q")
        screen.ends()

    def test_no_color(self):
        self.fill()
        screen = Screen(self, "--interval", "60s", env={"NO_COLOR": "1"})
        screen.until("emails")
        screen.type("q")
        screen.ends()
        self.assertEqual(re.findall(rb"\x1b\[[1-9][0-9;]*m", screen.raw), [])

    def test_control_characters_in_errors_are_harmless(self):
        self.enqueue("bad", "--max-attempts", "1")
        self.work(self.script("printf 'a\\033]0;title\\007\\033[2Jb' >&2; exit 1"))
        for arguments in (("--once",), ("--once", "--json")):
            out = self.hapax("top", *arguments).out
            self.assertNotIn("\x1b", out)
            self.assertNotIn("\x07", out)
        screen = Screen(self, "--interval", "60s", columns=160)
        screen.until("a.x1b]0;title")
        screen.type("q")
        screen.ends()
        self.assertNotIn(b"\x1b]0;title", screen.raw)

    def test_bad_intervals_are_refused(self):
        for interval in ("0", "1ms", "2", "-1s", "48h"):
            self.refused(USAGE, "InvalidArgument", "top", "--once", "--interval=" + interval)


class Store(OnPostgres, unittest.TestCase):
    def test_a_store_that_is_not_there_is_told_as_by_any_command(self):
        answer = run("top", "--once", "--store", "postgresql://nobody@127.0.0.1:1/none")
        self.assertEqual(answer.code, STORE, answer)
        self.assertTrue(answer.err.startswith("StoreUnavailable: "), answer)


if __name__ == "__main__":
    unittest.main()
