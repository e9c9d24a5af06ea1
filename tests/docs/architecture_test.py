#!/usr/bin/env python3
"""architecture_test.py ROOT: ARCHITECTURE.md has fewer than 200 lines, each path that it names exists, and it names each folder
of src/. A path is a link, a name in backticks with a slash or a file's ending, or a word that begins with a folder of the root."""

import os
import re
import sys

MAX_LINES = 200
LINK = re.compile(r"\]\(([^)\s#]+)[^)\s]*\)")
IN_BACKTICKS = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+\.(?:hpp|cpp|py|sh|md|yaml|json|txt|cmake)")
SLASHED = re.compile(r"[\w.-]+(?:/[\w.-]+)+/?|[\w.-]+/")


def paths(text, folders):
    # Not src/<room>, not the end of /v1/<route>.
    bare = re.compile(r"(?<![\w/.-])(?:%s)(?:/[\w.-]*\w)+/?(?![\w/<])" % "|".join(map(re.escape, folders)))
    found = {link for link in LINK.findall(text) if not re.match(r"[a-z]+:", link)}
    for name in IN_BACKTICKS.findall(text):
        if FILE.fullmatch(name) or SLASHED.fullmatch(name):
            found.add(name)
    return found | set(bare.findall(text))


def breaches(root):
    with open(os.path.join(root, "ARCHITECTURE.md"), encoding="utf-8") as file:
        text = file.read()
    lines = text.count("\n")
    if lines >= MAX_LINES:
        yield f"{lines} lines; expected fewer than {MAX_LINES}"
    folders = sorted(name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name)) and name[0] != ".")
    named = paths(text, folders)
    for path in sorted(named):
        if not os.path.exists(os.path.join(root, path)):
            yield f"{path} does not exist"
    named = {path.rstrip("/") for path in named}
    for folder, _, files in os.walk(os.path.join(root, "src")):
        path = os.path.relpath(folder, root)
        if any(name.endswith((".cpp", ".hpp")) for name in files) and path not in named:
            yield f"{path} is not named"


def main(arguments):
    if len(arguments) != 1:
        sys.exit("usage: architecture_test.py ROOT")
    found = list(breaches(arguments[0]))
    for breach in found:
        print(f"ARCHITECTURE.md: {breach}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
