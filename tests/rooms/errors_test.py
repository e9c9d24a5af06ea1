"""The names of errors agree: hapax/error.hpp, the table of statuses and exit codes, and docs/reference/errors.md.

errors_test.py SOURCE_FOLDER: compares src/model/error_table.cpp with the names that hapax/error.hpp and src/ give their errors, with
the statuses of http::HttpError, and with the headings of the page and the numbers in them. Prints each difference and exits 1.
"""

import re
import sys
from pathlib import Path

# Errors of a workflow's function, and of guarded functions, have headings without an entry or without a number.
NOT_IN_TABLE = {"StepFailed", "InvalidSignal", "InvalidResult", "ExecutionFailed", "Stuck", "ClientGone"}


def table_of(source):
    """name -> (HTTP status, exit code)"""
    header = (source / "src/model/error_table.hpp").read_text(encoding="utf-8")
    codes = {name: int(code) for name, code in re.findall(r"^  (exit_\w+) = (\d+),", header, re.MULTILINE)}
    text = (source / "src/model/error_table.cpp").read_text(encoding="utf-8")
    rows = re.findall(r'ErrorKind\{"(\w+)", (\d+), (\w+)\}', text)
    table = {name: (int(status), codes[code]) for name, status, code in rows}
    if len(table) != len(rows):
        yield "src/model/error_table.cpp names an error twice"
    return table


def names_in_code(source):
    """(name, where) for each name that a class or a throw gives an error."""
    public = source / "include/hapax/error.hpp"
    named = re.compile(r'\b(?:Error|InvalidArgument|StoreUnavailable|HttpError)\((?:\d+, )?"([A-Z][a-z]\w+)"')
    for file in [public, *sorted((source / "src").rglob("*.[ch]pp"))]:
        text = re.sub(r"//[^\n]*", "", file.read_text(encoding="utf-8"))
        for name in named.findall(text):
            yield name, file.relative_to(source)


def http_statuses(source):
    for file in sorted((source / "src").rglob("*.[ch]pp")):
        for status, name in re.findall(r'HttpError\((\d+), "(\w+)"', file.read_text(encoding="utf-8")):
            yield name, int(status), file.relative_to(source)


def headings(source):
    """(name, numbers) for each name in a heading: '### Unauthorized (401), Forbidden (403)' has two."""
    text = (source / "docs/reference/errors.md").read_text(encoding="utf-8")
    for line in re.findall(r"^### (.*)$", text, re.MULTILINE):
        for name, note in re.findall(r"([A-Z]\w+)(?: and its kin)?(?: \(([^)]*)\))?", line):
            yield name, [int(number) for number in re.findall(r"\d+", note)]


def differences(source):
    table = yield from table_of(source)
    for name, file in names_in_code(source):
        if name not in table and name not in NOT_IN_TABLE:
            yield f"{file}: {name} has no status and no exit code in src/model/error_table.cpp"
    for name, status, file in http_statuses(source):
        if name in table and table[name][0] != status:
            yield f"{file}: {name} is answered with {status}, the table says {table[name][0]}"
    described = {}
    for name, numbers in headings(source):
        described.setdefault(name, set()).update(numbers)
    for name in table.keys() - described.keys():
        yield f"docs/reference/errors.md has no heading for {name}"
    for name, numbers in sorted(described.items()):
        if name in NOT_IN_TABLE:
            continue
        if name not in table:
            yield f"docs/reference/errors.md: {name} is not in src/model/error_table.cpp"
            continue
        status, code = table[name]
        told_codes = {number for number in numbers if number < 200}
        told_statuses = numbers - told_codes
        if told_codes and code not in told_codes:
            yield f"docs/reference/errors.md: {name} has the exit code {sorted(told_codes)}, the table says {code}"
        if told_statuses and status not in told_statuses:
            yield f"docs/reference/errors.md: {name} has the status {sorted(told_statuses)}, the table says {status}"
        if not numbers and code != 70:
            yield f"docs/reference/errors.md: the heading of {name} does not tell its exit code, {code}"


def main():
    found = list(differences(Path(sys.argv[1])))
    for difference in found:
        print(difference)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
