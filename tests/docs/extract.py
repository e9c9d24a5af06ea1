#!/usr/bin/env python3
"""Extracts the examples of the documentation's pages.

    extract.py PAGE NAME OUTPUT        writes the page's C++ as one source file; messages call the page NAME

The language of a fenced block says what kind of example it is:

    cpp       statements of a function of their own; `app` is open on a new store, unless the block opens a store itself
    sh        commands; all must succeed
    console   commands behind "$ ", each followed by its output (run.py says how the two are compared)
    toml      a hapax.toml, checked by `hapax config check`; the shell blocks that follow find it in their folder

Blocks without a language, or of "text", are not tested. Other languages are refused, so that no example is skipped because
of a typing error. HTML comments, which readers do not see, contain code that an example needs:

    <!-- example: shared         C++ at namespace scope
    …
    -->
    <!-- example: before         before the next block, in its language
    <!-- example: after          after the block above
    <!-- example: declarations -->   the next cpp block is at namespace scope, for the blocks below it
"""

import os
import re
import sys

RUN = ("cpp", "sh", "console", "toml")
READ = ("", "text")


class PageError(Exception):
    pass


class Code:
    """Lines of a page, starting at a line number."""

    def __init__(self, line, lines):
        self.line = line
        self.lines = lines

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)


class Block:
    def __init__(self, page, language, code):
        self.page = page
        self.language = language
        self.code = code
        self.before = []
        self.after = []
        self.declarations = False
        self.shared = False

    @property
    def place(self):
        return f"{self.page}:{self.code.line}"

    @property
    def parts(self):
        return [*self.before, self.code, *self.after]

    @property
    def script(self):
        return "".join(part.text for part in self.parts)


def parse(text, page):
    """The page's examples in order. Throws PageError with the line."""
    lines = text.split("\n")
    blocks = []
    before = []
    declarations = None
    at = 0

    def until(end, what):
        nonlocal at
        begun = at
        at += 1
        while at < len(lines) and lines[at].rstrip() != end:
            at += 1
        if at == len(lines):
            raise PageError(f"{page}:{begun + 1}: {what} is not closed")
        return Code(begun + 2, lines[begun + 1:at])

    while at < len(lines):
        here = f"{page}:{at + 1}"
        if lines[at].startswith("```"):
            language = lines[at][3:].strip()
            block = Block(page, language, until("```", "a block"))
            if language not in RUN + READ:
                raise PageError(f"{here}: a block of '{language}'; expected {', '.join(RUN)}, or none for what is not run")
            if language in RUN:
                block.before, before = before, []
                if declarations and language != "cpp":
                    raise PageError(f"{declarations}: declarations before a block of {language}; expected cpp")
                block.declarations, declarations = declarations is not None, None
                blocks.append(block)
        elif re.match(r"\s+```", lines[at]):
            raise PageError(f"{here}: an indented block; expected it at the start of the line")
        elif marker := re.fullmatch(r"<!-- example: (\S+)( -->)?\s*", lines[at]):
            word, closed = marker.group(1), marker.group(2)
            if word == "declarations" and closed:
                declarations = here
            elif word == "shared" and not closed:
                shared = Block(page, "cpp", until("-->", "a comment"))
                shared.shared = shared.declarations = True
                blocks.append(shared)
            elif word == "before" and not closed:
                before.append(until("-->", "a comment"))
            elif word == "after" and not closed and blocks:
                blocks[-1].after.append(until("-->", "a comment"))
            else:
                raise PageError(f"{here}: '{lines[at]}' is no example's comment; see tests/docs/extract.py")
        elif lines[at].startswith("<!-- example"):
            raise PageError(f"{here}: '{lines[at]}' is no example's comment; see tests/docs/extract.py")
        at += 1
    if before or declarations:
        raise PageError(f"{page}: a comment at its end belongs to no block")
    return blocks


def examples(blocks, *languages):
    return [block for block in blocks if block.language in languages and not block.declarations]


def opens_app(block):
    return re.search(r"\bapp = ", block.script) is not None


def source(blocks, page):
    """One translation unit. #line lets compiler and assert name the page's lines."""
    name = re.sub(r"\W", "_", page)
    out = [f'#include "docs/examples.hpp"\n\nnamespace {name} {{\n\nusing namespace std::chrono_literals;\n']
    for block in blocks:
        if block.language != "cpp":
            continue
        body = "".join(f'#line {part.line} "{page}"\n{part.text}' for part in block.parts)
        if block.declarations:
            out.append(body)
            continue
        function = f"example_{block.code.line}"
        opened = "" if opens_app(block) else "auto app = docs::open();\n"
        out.append(f"void {function}();\nvoid {function}() {{\n{opened}{body}}}\n"
                   f'const docs::Registration registered_{block.code.line}("{block.place}", {function});\n')
    out.append(f"}}  // namespace {name}\n")
    return "\n".join(out)


def read_page(path, page):
    with open(path, encoding="utf-8") as file:
        return parse(file.read(), page)


def main(arguments):
    if len(arguments) != 3:
        sys.exit("usage: extract.py PAGE NAME OUTPUT")
    path, page, output = arguments
    try:
        text = source(read_page(path, page), page)
    except PageError as error:
        sys.exit(str(error))
    os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
