"""Shared by the command line's tests: runs the program on a store of the test's own, on SQLite and on PostgreSQL."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

BIN = os.environ.get("HAPAX_BIN") or sys.exit("HAPAX_BIN is not set: it must name the program under test")

OK, UNSUCCESSFUL, CONFLICT, USAGE, DATA, MISSING, STORE, CONFIGURATION, STILL_GOING = 0, 1, 3, 64, 65, 66, 75, 78, 124
LEFT = 4


class Answer:
    def __init__(self, done):
        self.code = done.returncode
        self.raw_out = done.stdout
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out[:2000]}\nstderr: {self.err[:2000]}"


def clean_environment(**extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HAPAX_")}
    kept.update(extra)
    return kept


def run(*arguments, input=b"", env=None, timeout=60, cwd=None):
    if isinstance(input, str):
        input = input.encode()
    done = subprocess.run([BIN, *map(os.fsencode, map(str, arguments))], input=input, capture_output=True, timeout=timeout,
                          env=clean_environment(**(env or {})), cwd=cwd)
    return Answer(done)


class StoreCase:
    """Mixed into unittest.TestCase by on_stores: self.hapax runs the program on a new store."""

    def make_store(self):
        raise NotImplementedError

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=".")
        self.url = self.make_store()
        self.children = []

    def tearDown(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.communicate()

    def hapax(self, *arguments, **options):
        env = {"HAPAX_STORE_URL": self.url, **options.pop("env", {})}
        return run(*arguments, env=env, **options)

    def good(self, *arguments, **options):
        """Runs with --json, expects exit code 0, returns the parsed output."""
        answer = self.hapax(*arguments, "--json", **options)
        self.assertEqual(answer.code, OK, answer)
        return answer.json

    def refused(self, code, name, *arguments, **options):
        """Expects that exit code, the single line `NAME: message` on standard error, and the same error as a
        problem object with --json."""
        plain = self.hapax(*arguments, **options)
        self.assertEqual(plain.code, code, plain)
        self.assertTrue(plain.err.startswith(name + ": "), plain)
        self.assertEqual(plain.err.count("\n"), 1, plain)
        self.assertEqual(plain.out, "", plain)
        problem = self.hapax(*arguments, "--json", **options)
        self.assertEqual(problem.code, code, problem)
        self.assertEqual(problem.json["error"], name)
        self.assertEqual(problem.json["detail"], problem.json["message"])
        self.assertLessEqual({"type", "title", "status", "detail", "message", "error"}, set(problem.json))
        return problem.json

    def start(self, *arguments, **options):
        env = clean_environment(HAPAX_STORE_URL=self.url, **options.pop("env", {}))
        child = subprocess.Popen([BIN, *map(str, arguments)], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, **options)
        self.children.append(child)
        return child

    def enqueue(self, task="job", *arguments, **options):
        return self.good("enqueue", task, *arguments, **options)["id"]

    def show(self, id):
        return self.good("show", id)

    def script(self, text, name="handler"):
        path = os.path.abspath(os.path.join(self.folder, name))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text if text.startswith("#!") else "#!/bin/sh\n" + text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def work(self, program, *arguments, **options):
        """Runs a worker until its queue is empty and returns its summary."""
        return self.good("work", "--exec", program, "--until-empty", *arguments, **options)

    def path(self, name):
        return os.path.abspath(os.path.join(self.folder, name))

    def until(self, condition, what, seconds=30):
        limit = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), limit, "in vain waited for: " + what)
            time.sleep(0.02)

    def until_status(self, id, status, seconds=30):
        self.until(lambda: self.show(id)["status"] == status, f"{id} to be {status}", seconds)
        return self.show(id)


class OnSqlite(StoreCase):
    def make_store(self):
        url = "sqlite:" + os.path.abspath(os.path.join(self.folder, "test.db"))
        migrated = run("migrate", "--store", url, "--json")
        self.assertEqual(migrated.code, OK, migrated)
        return url


class OnPostgres(StoreCase):
    def make_store(self):
        base = os.environ.get("HAPAX_TEST_POSTGRES_URL")
        self.assertTrue(base, "HAPAX_TEST_POSTGRES_URL is not set: run ./dev test, or ./dev servers and export what it prints")
        url = base + ("&" if "?" in base else "?") + "schema=cli_" + uuid.uuid4().hex[:12]
        migrated = run("migrate", "--store", url, "--json")
        self.assertEqual(migrated.code, OK, migrated)
        return url


def on_stores(case):
    """Class decorator: runs the tests of `case` once for each store."""
    module = sys.modules[case.__module__]
    for store in (OnSqlite, OnPostgres):
        name = case.__name__ + store.__name__
        setattr(module, name, type(name, (store, case, unittest.TestCase), {"__module__": case.__module__}))
    return case
