#!/usr/bin/env python3
"""links.py ROOT: every relative link of the root's pages and docs/ leads to a file, and its anchor to a heading; every
curl that posts says its Content-Type, without which the server refuses it."""

import glob
import os
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
CURL_POSTS = re.compile(r"\bcurl .*(-X (POST|PUT|PATCH)|\s-d\b|--data)")


def without_code(text):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path):
    """Anchors as GitHub derives them from headings."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```$", "", file.read(), flags=re.MULTILINE | re.DOTALL)
    found = set()
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(words.replace(" ", "-"))
    return found


def breaches(root):
    pages = [os.path.join(root, name) for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]
    pages += sorted(glob.glob(os.path.join(root, "docs", "**", "*.md"), recursive=True))
    for page in pages:
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for number, line in enumerate(text.split("\n"), 1):
            if CURL_POSTS.search(line) and "content-type: " not in line.lower():
                yield f"{os.path.relpath(page, root)}:{number}: a curl that posts without its Content-Type"
        links = LINK.findall(without_code(text))
        for link in links:
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            where = os.path.relpath(page, root)
            if not os.path.exists(target):
                yield f"{where}: {link} leads nowhere"
            elif anchor and anchor not in anchors(target):
                yield f"{where}: {link}: no such heading there"


def main(arguments):
    if len(arguments) != 1:
        sys.exit("usage: links.py ROOT")
    found = list(breaches(arguments[0]))
    for breach in found:
        print(breach)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
