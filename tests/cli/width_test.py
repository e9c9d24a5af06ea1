"""Tables on a terminal: no line is wider than the terminal, details fold below their row, and an ID is shown
by its last digits, which commands accept. Output that goes to no terminal is never shortened."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata
import unittest

from _hapax import *

LONG = "no such order: the ledger of the northern branch has been closed since the first of March and nobody opened it again"
KEY = "order-" + "0123456789" * 5


def width(text):
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def on_terminal(url, columns, *arguments):
    """The lines that a terminal of this width shows, without colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen([BIN, *arguments], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                             env=clean_environment(HAPAX_STORE_URL=url, TERM="xterm"))
    os.close(slave)
    seen = b""
    while True:
        try:
            got = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not got:
            break
        seen += got
    os.close(master)
    error = child.communicate(timeout=60)[1].decode("utf-8", "replace")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode("utf-8", "replace"))
    return child.returncode, text.replace("\r\n", "\n").splitlines(), error


@on_stores
class Width:
    def begin(self):
        self.ids = [self.enqueue("charge-the-card-of-a-customer", "--queue", "payments-of-the-north", "--task-id", KEY,
                                 "--max-attempts", "1"),
                    self.enqueue("short", "--queue", "q", "--max-attempts", "1")]
        program = self.script(f'cat > /dev/null; echo "{LONG}" >&2; exit 1')
        self.work(program, "--queue", "payments-of-the-north", "--queue", "q")
        self.good("queue", "set", "payments-of-the-north", "--retention", "30d", "--rate-limit", "100/sec", "--concurrency", "5")
        self.good("queue", "pause", "payments-of-the-north")

    def seen(self, columns, *arguments):
        code, lines, error = on_terminal(self.url, columns, *arguments)
        self.assertIn(code, (OK, UNSUCCESSFUL), (arguments, error))
        for line in lines:
            self.assertLessEqual(width(line), columns, f"{arguments} at {columns} columns: {line}")
        return lines

    def folded(self, lines):
        """The lines joined to one text."""
        return " ".join(" ".join(lines).split())

    def test_no_line_is_wider_than_the_terminal(self):
        self.begin()
        self.good("token", "create", "--scopes", "read,enqueue", "--name", "billing-of-the-northern-branch")
        for columns in (60, 80, 120):
            for command in ("list", "dlq list", "doctor", "top --once", "queue list", "audit", "token list", "config audit",
                            "guard list", "activity list", "show " + self.ids[0]):
                with self.subTest(command=command, columns=columns):
                    if command.startswith("show"):  # show prints each fact on a line of its own, whatever its length
                        lines = on_terminal(self.url, columns, *command.split())[1]
                        self.assertTrue(any(LONG[:20] in line for line in lines), lines)
                    else:
                        self.assertTrue(self.seen(columns, *command.split()), command)
            statement = "SELECT id, namespace, queue, task, kind, status, run, task_id, created_at, error FROM executions"
            self.assertTrue(self.seen(columns, "sql", statement))

    def test_wide_characters_take_two_columns(self):
        self.enqueue("short", "--queue", "q", "--task-id", "注文" * 30)
        self.enqueue("short", "--queue", "q", "--task-id", "order")
        for columns in (60, 80, 120):
            lines = self.seen(columns, "list")
            self.assertIn("注文" * 30, "".join("".join(lines).split()))
        rows = [line for line in self.seen(400, "list") if "pending" in line]
        self.assertEqual(len({width(line[:line.index("pending")]) for line in rows}), 1, rows)

    def test_details_fold_below_and_are_whole(self):
        self.begin()
        for columns in (80, 120):
            for command in ("list", "dlq list"):
                text = self.folded(self.seen(columns, *command.split()))
                self.assertIn(LONG, text, command)
                self.assertIn(KEY, text, command)
            self.assertIn(LONG, self.folded(self.seen(columns, "top", "--once")))
        narrow, wide = self.seen(80, "doctor"), self.seen(2000, "doctor")
        for line in wide[2:]:
            for detail in line.split("  ")[2:]:
                # Disk usage and connections change meanwhile, so numbers are not compared.
                self.assertIn(re.sub("[0-9]+", "N", detail.strip()), re.sub("[0-9]+", "N", self.folded(narrow)))

    def test_ids_are_shown_by_their_end_and_commands_take_it(self):
        self.begin()
        for columns in (80, 120):
            for command in ("list", "dlq list", "top --once"):
                text = "\n".join(self.seen(columns, *command.split()))
                for id in self.ids:
                    self.assertIn(id[-12:], text, command)
                    self.assertNotIn(id, text, command)
        first, second = (id[-12:] for id in self.ids)
        self.assertEqual(self.show(first)["id"], self.ids[0])
        self.assertEqual(self.show(first.upper())["id"], self.ids[0])
        self.assertEqual(self.show(self.ids[0][9:])["id"], self.ids[0])
        self.assertEqual(self.good("dlq", "show", second)["id"], self.ids[1])
        self.assertEqual(self.good("explain", first)["id"], self.ids[0])
        self.assertEqual(self.hapax("wait", second, "--json").json["id"], self.ids[1])
        self.assertEqual([e["id"] for e in self.good("list", "--after", second)], [self.ids[0]])
        self.assertEqual(self.good("dlq", "annotate", first, "--note", "n")["annotated"], 1)
        self.assertEqual(self.good("dlq", "discard", first)["discarded"], 1)
        self.assertEqual(self.good("retry", second)["retried"], 1)
        waiting = self.enqueue("short")
        self.assertEqual(self.good("cancel", waiting[-12:])["cancelled"], 1)

    def test_an_end_that_is_none_is_told(self):
        self.begin()
        self.refused(MISSING, "NotFound", "show", "abcdefabcdef")
        self.refused(MISSING, "NotFound", "dlq", "show", self.enqueue("short")[-12:])
        for text in (self.ids[0][-11:], "xyzxyzxyzxyz", self.ids[0] + "0"):
            self.refused(USAGE, "InvalidArgument", "show", text)

    def test_everything_is_whole_when_piped(self):
        self.begin()
        for command in ("list", "dlq list", "top --once"):
            answer = self.hapax(*command.split())
            for text in (*self.ids, LONG, "charge-the-card-of-a-customer", "payments-of-the-north"):
                self.assertIn(text, answer.out, command)
            self.assertNotIn("…", answer.out)
        # In a pipe each row is one line.
        self.assertEqual(len(self.hapax("dlq", "list").out.splitlines()), 3)


if __name__ == "__main__":
    unittest.main()
