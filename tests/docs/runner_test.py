#!/usr/bin/env python3
"""The runner of the documentation's examples reports each error in a page with its place. Works in the
current folder."""

import os
import stat
import tempfile
import unittest

import extract
import run

PROGRAM = """#!/bin/sh
case $1 in
  config) exit 0 ;;
  make) echo "created 0197c1d2-aaaa-7bbb-8ccc-0123456789ab pending" ;;
  other) echo "created 0197c1d2-aaaa-7bbb-8ccc-ba9876543210 pending" ;;
  show) echo "shows $2" ;;
  when) echo "at 2027-11-12T13:14:15.123456Z, in 3 rounds" ;;
  fail) echo "NotFound: nobody" >&2; exit 66 ;;
  *) echo "$*" ;;
esac
"""


def fenced(language, *lines):
    return "\n".join([f"```{language}", *lines, "```", ""])


class RunnerTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(dir=".")
        self.program = os.path.abspath(os.path.join(self.root, "program"))
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(self.program, os.stat(self.program).st_mode | stat.S_IXUSR)

    def failures(self, *blocks):
        page = "page_" + str(len(os.listdir(self.root))) + ".md"
        with open(os.path.join(self.root, page), "w", encoding="utf-8") as file:
            file.write("A page\n\n" + "\n".join(blocks))
        before = os.getcwd()
        os.chdir(self.root)
        try:
            return run.run_page(self.program, self.program, ".", page)[1]
        finally:
            os.chdir(before)

    def passes(self, *blocks):
        self.assertEqual(self.failures(*blocks), [])

    def fails(self, line, text, *blocks):
        found = self.failures(*blocks)
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], rf"^page_\d+\.md:{line}: ")
        self.assertIn(text, found[0])

    def test_commands_must_succeed(self):
        self.passes(fenced("sh", "hapax make", "hapax show x"))
        self.fails(4, "exit 66", fenced("sh", "hapax make", "hapax fail", "hapax make"))

    def test_what_is_shown_must_be_printed(self):
        self.passes(fenced("console", "$ hapax show x", "shows x", "$ hapax show y", "shows y"))
        self.fails(6, "something else", fenced("console", "$ hapax show x", "shows x", "$ hapax show y", "shows x"))
        self.fails(4, "something else", fenced("console", "$ hapax show x"))
        self.fails(4, "begins with a command", fenced("console", "shows x"))

    def test_a_command_may_go_on_in_the_next_line(self):
        self.passes(fenced("console", "$ hapax show \\", "    x", "shows x"))

    def test_times_and_dots_stand_for_anything(self):
        self.passes(fenced("console", "$ hapax when", "at 2026-03-01T09:00:00Z, in … rounds"))
        self.passes(fenced("console", "$ hapax when; hapax when", "…"))
        self.fails(4, "something else", fenced("console", "$ hapax when", "at 2026-03-01T09:00:00Z, in … weeks"))

    def test_an_abbreviated_id_is_the_same_wherever_it_stands(self):
        self.passes(fenced("console", "$ hapax make", "created 0197c1… pending", "$ hapax show 0197c1…",
                           "shows 0197c1d2-aaaa-7bbb-8ccc-0123456789ab", "$ hapax make", "created 0197c1… pending"))
        self.fails(6, "something else",
                   fenced("console", "$ hapax make", "created 0197c1… pending", "$ hapax other", "created 0197c1… pending"))

    def test_a_hash_is_shown_as_it_is(self):
        digest = "ab12" + "0" * 60
        self.passes(fenced("console", f"$ hapax show {digest}", "shows ab12…"))
        self.fails(4, "something else", fenced("console", f"$ hapax show {digest}", "shows ab13…"))

    def test_a_failure_is_one_that_is_shown(self):
        self.passes(fenced("console", "$ hapax fail", "NotFound: nobody"))
        self.fails(4, "exit 66", fenced("console", "$ hapax fail", "…"))

    def test_hidden_lines_are_run_too(self):
        before = "<!-- example: before\ntouch there\n-->\n"
        after = "<!-- example: after\nrm there\n-->\n"
        self.passes(before + fenced("sh", "test -e there") + after)
        self.fails(7, "exit 1", before + fenced("sh", "true") + "<!-- example: after\ntest ! -e there\n-->\n")

    def test_a_page_without_examples_is_a_mistake(self):
        self.assertIn("has no example", self.failures("words\n", fenced("text", "a -> b"))[0])


class ExtractTest(unittest.TestCase):
    def source(self, *blocks):
        return extract.source(extract.parse("\n".join(blocks), "docs/a.md"), "docs/a.md")

    def test_blocks_become_functions_that_know_their_lines(self):
        text = self.source("words", fenced("cpp", "app.pause(\"q\");"))
        self.assertIn('void example_3() {\nauto app = docs::open();\n#line 3 "docs/a.md"\napp.pause("q");\n}', text)
        self.assertIn('registered_3("docs/a.md:3", example_3)', text)

    def test_a_block_may_open_its_own_app(self):
        self.assertNotIn("docs::open", self.source(fenced("cpp", 'auto app = hapax::open("memory:");')))

    def test_declarations_and_shared_code_stand_outside(self):
        text = self.source("<!-- example: shared", "struct A {};", "-->", "<!-- example: declarations -->",
                           fenced("cpp", "struct B {};"), fenced("cpp", "B b;"))
        self.assertLess(text.index("struct A"), text.index("struct B"))
        self.assertEqual(text.count("void example_"), 2)  # declared and defined

    def test_slips_are_errors_with_a_place(self):
        for line, text in [(1, "```cpp\nx"), (1, "```c++\nx\n```"), (1, "<!-- example: befor\nx\n-->"), (1, "  ```cpp\n  x\n  ```"),
                           (1, "<!-- example: declarations -->\n```sh\nx\n```"), (1, "<!-- example:shared\n-->")]:
            with self.assertRaisesRegex(extract.PageError, rf"^docs/a\.md:{line}: ", msg=text):
                extract.parse(text, "docs/a.md")
        with self.assertRaises(extract.PageError):
            extract.parse("<!-- example: before\nx\n-->\n", "docs/a.md")


if __name__ == "__main__":
    unittest.main()
