#!/usr/bin/env python3
"""run.py PROGRAM ROOT PAGE...: runs the examples of the pages (extract.py) in folders below the current one.

PROGRAM is the pages' compiled C++; HAPAX_BIN names the program that shell examples call `hapax`; HAPAX_DOCS_STORE is the
store of the C++ examples, "sqlite:example.db" unless set. Each C++ example has a process and a folder of its own. The shell
examples of a page share a folder, as if a reader typed them one after the other.

The output of a console block, standard error included, must be as shown, except for

    …            any text within its line; alone on a line: any lines
    0197c1…      an ID or a hash: any value at its first use, the same value at later uses, in commands too
    a timestamp  any timestamp

A command may fail only if its shown output is an error's name.
"""

import os
import re
import subprocess
import sys

import extract

LIMIT_SECONDS = 60
ABBREVIATED = re.compile(r"\b([0-9a-f]{4,12})…")
TIMESTAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
TOKEN = re.compile(f"(?P<lines>^…$)|(?P<short>{ABBREVIATED.pattern})|(?P<time>{TIMESTAMP})|(?P<any>…)", re.MULTILINE)


class Failed(Exception):
    pass


def pattern(shown, known):
    """A regular expression for the shown output, and the abbreviations that a match defines."""
    out, learned, at = [], [], 0
    for token in TOKEN.finditer(shown):
        out.append(re.escape(shown[at:token.start()]))
        at = token.end()
        if token["lines"]:
            out.append(r".*(?:\n.*)*")
        elif token["time"]:
            out.append(TIMESTAMP)
        elif token["any"]:
            out.append(".*")
        elif (short := ABBREVIATED.fullmatch(token["short"]).group(1)) in known:
            out.append(re.escape(known[short]))
        elif short in learned:
            out.append(f"(?P=short_{short})")
        else:
            learned.append(short)
            out.append(f"(?P<short_{short}>[0-9a-f]{{64}}|[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})")
    out.append(re.escape(shown[at:]))
    return "".join(out), learned


def matches(shown, printed, known):
    """Whether the printed output matches, and records the values of abbreviations. A hash never changes, so
    its digits must be right."""
    expression, learned = pattern(shown, known)
    found = re.fullmatch(expression, printed)
    if not found:
        return False
    for short in learned:
        value = found[f"short_{short}"]
        if len(value) == 64 and not value.startswith(short):
            return False
        known[short] = value
    return True


def commands(block):
    """(line, command, shown output) of a console block."""
    out = []
    for number, line in enumerate(block.code.lines, block.code.line):
        if line.startswith("$ "):
            out.append([number, line[2:], []])
        elif not out:
            raise Failed(f"{block.page}:{number}: a console block begins with a command behind \"$ \"")
        elif out[-1][1].endswith("\\") and not out[-1][2]:
            out[-1][1] += "\n" + line
        else:
            out[-1][2].append(line)
    return [(number, command, "\n".join(shown)) for number, command, shown in out]


class Shell:
    """The shell examples of one page."""

    def __init__(self, folder, hapax):
        self.folder = folder
        self.known = {}
        programs = os.path.join(os.path.abspath(folder), ".bin")
        os.makedirs(programs)
        os.symlink(os.path.abspath(hapax), os.path.join(programs, "hapax"))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HAPAX_")}
        self.environment = {**kept, "PATH": programs + os.pathsep + os.environ["PATH"], "LC_ALL": "C.UTF-8"}

    def bash(self, script):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LIMIT_SECONDS, check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def must(self, place, script):
        code, printed = self.bash(script)
        if code != 0:
            raise Failed(f"{place}: exit {code}\n{script}{printed}")

    def run(self, block):
        if block.language == "toml":
            with open(os.path.join(self.folder, "hapax.toml"), "w", encoding="utf-8") as file:
                file.write(block.code.text)
            self.must(block.place, "hapax config check\n")
            return
        if block.language == "sh":
            self.must(block.place, block.script)
            return
        for part in block.before:
            self.must(f"{block.page}:{part.line}", part.text)
        for number, command, shown in commands(block):
            self.console(f"{block.page}:{number}", command, shown)
        for part in block.after:
            self.must(f"{block.page}:{part.line}", part.text)

    def console(self, place, command, shown):
        filled = ABBREVIATED.sub(lambda short: self.known.get(short.group(1), short.group(0)), command)
        code, printed = self.bash(filled)
        printed = "\n".join(line.rstrip() for line in printed.rstrip("\n").split("\n"))
        if code != 0 and not re.match(r"[A-Z]\w+: ", shown):
            raise Failed(f"{place}: exit {code}\n{filled}\n{printed}")
        if not matches(shown, printed, self.known):
            raise Failed(f"{place}: prints something else\n$ {filled}\n--- shown\n{shown}\n--- printed\n{printed}")


def run_program(program, block, folder):
    os.makedirs(folder)
    try:
        done = subprocess.run([program, block.place], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"{block.place}: not over after {LIMIT_SECONDS} s") from None
    if done.returncode != 0:
        raise Failed(f"{block.place}: exit {done.returncode}\n{done.stdout.decode('utf-8', 'replace')}")


def run_page(program, hapax, root, page):
    """Runs a page. Returns the number of examples and the failures."""
    failures = []
    name = re.sub(r"\W", "_", page)
    try:
        blocks = extract.read_page(os.path.join(root, page), page)
    except (extract.PageError, OSError) as error:
        return 0, [str(error)]
    os.makedirs(name)
    shell = Shell(name, hapax)
    all_examples = extract.examples(blocks, *extract.RUN)
    for block in all_examples:
        try:
            if block.language == "cpp":
                run_program(program, block, os.path.join(name, str(block.code.line)))
            else:
                shell.run(block)
        except Failed as failure:
            failures.append(str(failure))
        except subprocess.TimeoutExpired:
            failures.append(f"{block.place}: not over after {LIMIT_SECONDS} s")
    if not all_examples:
        failures.append(f"{page}: has no example; is it the right page?")
    return len(all_examples), failures


def main(arguments):
    hapax = os.environ.get("HAPAX_BIN") or sys.exit("HAPAX_BIN is not set: it must name the program under test")
    if len(arguments) < 3:
        sys.exit("usage: run.py PROGRAM ROOT PAGE...")
    program, root, pages = os.path.abspath(arguments[0]), arguments[1], arguments[2:]
    failed = False
    for page in pages:
        count, failures = run_page(program, hapax, root, page)
        print(f"{page}: {count} examples, {len(failures)} failed")
        for failure in failures:
            print(failure.rstrip() + "\n")
        failed = failed or bool(failures)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
