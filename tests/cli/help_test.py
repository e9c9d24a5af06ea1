"""--help, docs/reference/cli.md, the manual page and completion, each compared with the program's own tree of
commands and flags."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

from _hapax import *

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TREE = run("command-tree").json
COMMANDS = {command["path"]: command for command in TREE["commands"]}
COMMON = {name for option in COMMANDS[""]["options"] for name in option["names"]}


def flags_of(path):
    return {name for option in COMMANDS[path]["options"] for name in option["names"]}


def page():
    with open(os.path.join(SOURCE, "docs", "reference", "cli.md"), encoding="utf-8") as file:
        return file.read()


def command_of(words):
    """The longest command that `words` begin with."""
    path = ""
    for word in words:
        longer = (path + " " + word).strip()
        if longer not in COMMANDS:
            break
        path = longer
    return path


class Help(unittest.TestCase):
    def test_every_command_has_examples_that_name_it_and_flags_it_has(self):
        for path, command in COMMANDS.items():
            if not path:
                continue
            # A command's example may stand in the help of its group.
            parent = path.rsplit(" ", 1)[0] if " " in path else path
            texts = [command["examples"], COMMANDS[parent]["examples"]]
            lines = [line.strip() for text in texts for line in text.splitlines() if re.match(r"\s+(\S.*\s)?hapax ", line)]
            own = [line for line in lines if re.search(r"hapax " + re.escape(path) + r"\b", line)]
            self.assertTrue(own, f"hapax {path} --help has no example of it")
            for line in own:
                self.check_flags(line, path)

    def check_flags(self, line, path):
        known = flags_of(path) | {flag for below in COMMANDS if below.startswith(path + " ") for flag in flags_of(below)}
        for part in re.split(r"\||#|&&", line):
            if "hapax " + path in part:
                for flag in re.findall(r"(?<!\S)(--[a-z][a-z-]*)", part):
                    self.assertIn(flag, known, f"an example of {path} has a flag that it does not: {line}")

    def test_help_of_every_command_can_be_printed(self):
        for path in COMMANDS:
            answer = run(*path.split(), "--help")
            self.assertEqual(answer.code, OK, answer)
            self.assertIn("--store", answer.out)

    def test_every_flag_has_a_text(self):
        for path, command in COMMANDS.items():
            self.assertTrue(command["summary"], path)
            for option in command["options"]:
                self.assertTrue(option["text"], (path, option))


class Page(unittest.TestCase):
    def test_every_flag_on_the_page_exists(self):
        known = {flag for path in COMMANDS for flag in flags_of(path)}
        for flag in set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*[a-z])", page())):
            self.assertIn(flag, known, "docs/reference/cli.md has a flag that no command has")

    def test_every_command_and_flag_is_on_the_page(self):
        text = page()
        for path in COMMANDS:
            if not path:
                continue
            last = path.split()[-1]
            self.assertRegex(text, rf"(`(hapax )?|## |· `){re.escape(path)}\b|`{re.escape(last)}\b", f"{path} is not on the page")
            for flag in flags_of(path) - {"-h", "--help", "-v", "--version"}:
                self.assertRegex(text, re.escape(flag) + r"(?![\w-])", f"{flag} of {path} is not on the page")

    def test_flags_in_a_section_are_of_its_command(self):
        for title, body in re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", page(), re.M | re.S):
            if title not in COMMANDS:
                continue
            known = {flag for path in COMMANDS if path == title or path.startswith(title + " ") for flag in flags_of(path)}
            for row in re.findall(r"^\| `(--[^|]*)\|", body, re.M):
                for flag in re.findall(r"(--[a-z][a-z-]*[a-z])", row):
                    self.assertIn(flag, known, f"the section {title} has a flag that the command does not")

    def test_exit_codes_are_one_table(self):
        section = page().split("### Exit codes")[1].split("\n## ")[0]
        on_page = [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.M)]
        self.assertEqual(on_page, [meaning["code"] for meaning in TREE["exit_codes"]])
        shown = run("--help").out.split("Exit codes:")[1]
        self.assertEqual([int(code) for code in re.findall(r"^  (\d+) ", shown, re.M)], on_page)


class Manual(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=".")
        self.assertEqual(run("generate", self.folder).code, OK)

    def test_man_shows_every_command_and_complains_of_nothing(self):
        shown = subprocess.run(["man", "--warnings=w", "-l", "--no-hyphenation", os.path.join(self.folder, "hapax.1")],
                               capture_output=True, env={**os.environ, "MANWIDTH": "110", "LC_ALL": "C.UTF-8"}, timeout=60)
        self.assertEqual((shown.returncode, shown.stderr.decode()), (0, ""))
        text = shown.stdout.decode()
        for path in COMMANDS:
            if path:
                self.assertIn("hapax " + path, text)
        environment = text[text.index("\nENVIRONMENT"):]
        for variable in set(re.findall(r"\bHAPAX_[A-Z_]+", run("--help").out)) | {"HAPAX_TOKEN"}:
            self.assertIn(variable, environment)
        for meaning in TREE["exit_codes"]:
            self.assertRegex(text, rf"\n\s+{meaning['code']}\s")

    def test_a_folder_that_is_not_there_is_told(self):
        self.assertEqual(run("generate", "/nowhere/at/all").code, MISSING)


class Completion(unittest.TestCase):
    """One shell process answers for many lines, because starting a shell takes most of the time."""

    def ask(self, command, program, lines):
        done = subprocess.run([*command, program], capture_output=True, timeout=60)
        self.assertEqual(done.stderr.decode(), "")
        answers = done.stdout.decode().split("=== end\n")[:-1]
        self.assertEqual(len(answers), len(lines))
        return [answer.split() for answer in answers]

    def bash(self, *lines):
        """The completions that bash offers at the end of each line."""
        program = run("completion", "bash").out
        for line in lines:
            words = line.split(" ")
            program += "\nCOMP_WORDS=(" + " ".join(map(shlex.quote, words)) + f")\nCOMP_CWORD={len(words) - 1}\n" + \
                "_hapax\nprintf '%s\\n' \"${COMPREPLY[@]}\"\necho '=== end'\n"
        return self.ask(["bash", "-c"], program, lines)

    def zsh(self, *lines):
        self.assertTrue(shutil.which("zsh"), "zsh is not installed")
        # Stubs of zsh's completion functions that print what they are given.
        program = ("compdef() { :; }\n_files() { print -r -- FILES; }\ncompadd() { shift; print -rl -- \"$@\"; }\n"
                   "_describe() { local name=${@[-1]}; print -rl -- ${${(P)name}%%:*}; }\n") + run("completion", "zsh").out
        for line in lines:
            words = line.split(" ")
            program += "\n() {\n  local -a words=(" + " ".join(map(shlex.quote, words)) + \
                f")\n  local CURRENT={len(words)}\n  _hapax\n}}\nprint -r -- '=== end'\n"
        return self.ask(["zsh", "-f", "-c"], program, lines)

    def both(self, *lines):
        return zip(lines, self.bash(*lines), self.zsh(*lines))

    def test_commands_and_flags_of_the_whole_tree(self):
        paths = list(COMMANDS)
        lines = [("hapax " + path).strip() + " " for path in paths]
        for path, (line, *offers) in zip(paths, self.both(*lines)):
            below = {p.split()[-1] for p in COMMANDS if p and (p.rsplit(" ", 1)[0] if " " in p else "") == path}
            for offered in offers if below else ():
                self.assertEqual(set(offered), below, line)
        for path, (line, *offers) in zip(paths, self.both(*[line + "--" for line in lines])):
            for offered in offers:
                self.assertEqual({flag for flag in offered if flag.startswith("--")},
                                 {flag for flag in flags_of(path) if flag.startswith("--")}, line)

    def test_flags_with_values_before_the_command_do_not_confuse_it(self):
        for (_, *offers), word in zip(self.both("hapax --store sqlite:x.db queue ", "hapax --namespace list enqueue --"),
                                      ("pause", "--task-id")):
            for offered in offers:
                self.assertIn(word, offered)

    def test_words_that_flags_take(self):
        statuses = {"pending", "running", "completed", "failed", "cancelled", "timed_out"}
        conflicts = {"return_existing", "reject", "wait", "terminate_existing"}
        for (_, *offers), words in zip(self.both("hapax list --status ", "hapax enqueue t --on-conflict "), (statuses, conflicts)):
            for offered in offers:
                self.assertEqual(set(offered), words)
        for _, *offers in self.both("hapax guard list --status ", "hapax guard forget --name n --status "):
            for offered in offers:
                self.assertEqual(set(offered), {"in_progress", "completed", "failed"})
        self.assertEqual(self.bash("hapax enqueue t --queue "), [[]])
        self.assertEqual(self.zsh("hapax list --config "), [["FILES"]])

    def test_a_prefix_narrows(self):
        self.assertEqual(self.bash("hapax comp", "hapax queue pa"), [["completion"], ["pause"]])

    def test_other_shells_are_refused(self):
        answer = run("completion", "fish")
        self.assertEqual(answer.code, USAGE, answer)
        self.assertIn("bash or zsh", answer.err)


if __name__ == "__main__":
    unittest.main()
