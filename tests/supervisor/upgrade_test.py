"""A rolling upgrade of the schema: this build works on during the next release's migration, new processes of
this build start on the new schema, and a schema that this build may not use is refused without harm to
running work."""

import contextlib
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from supervisor_test import *

del InTheLibrary, InTheLibraryOnSqlite, InTheLibraryOnPostgres, OnTheCommandLine, Schema, Usage
del OnTheCommandLineOnSqlite, OnTheCommandLineOnPostgres


@on_stores
class Upgrade:
    """The changes that a migration may make to a table in use: new columns and tables, in one transaction
    with its version."""

    def newest(self):
        return self.good("migrate", "--status")["newest"]

    def next_release(self, version, usable_from):
        changes = [f"ALTER TABLE {{s}}live ADD COLUMN note_{version} text", f"ALTER TABLE {{s}}sessions ADD COLUMN zone_{version} text",
                   f"ALTER TABLE {{s}}queues ADD COLUMN colour_{version} text", f"CREATE TABLE {{s}}invoices_{version} (id integer)"]
        if self.url.startswith("sqlite:"):
            path = self.url[len("sqlite:"):]
            changes.append(f"INSERT INTO migrations(version, usable_from) VALUES ({version}, {usable_from})")
            # Holds the lock file, as every writer does, so that nothing else writes meanwhile.
            with open(path + ".lock", "r+", encoding="utf-8") as lock, contextlib.closing(
                    sqlite3.connect(path, isolation_level=None, timeout=30)) as db:
                fcntl.flock(lock, fcntl.LOCK_EX)
                db.execute("PRAGMA wal_autocheckpoint = 0")
                db.execute("BEGIN IMMEDIATE")
                for change in changes:
                    db.execute(change.format(s=""))
                db.execute("COMMIT")
        else:
            url, schema = re.match(r"(.*)[?&]schema=(\w+)$", self.url).groups()
            changes.append(f"INSERT INTO {{s}}schema_version(version, usable_from) VALUES ({version}, {usable_from})")
            text = "BEGIN;" + "".join(change.format(s=schema + ".") + ";" for change in changes) + "COMMIT;"
            for _ in range(5):
                done = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", url], input=text.encode(), capture_output=True, timeout=60)
                # The migration locks tables in its own order, so it may deadlock with another transaction.
                if b"deadlock detected" not in done.stderr:
                    break
            self.assertEqual(done.returncode, 0, done.stderr)

    def completed(self):
        return self.good("sql", "SELECT count(*) AS n FROM executions WHERE status = 'completed'")[0]["n"]

    def load(self, count):
        lines = "".join(json.dumps({"task": "job", "input": n}) + "\n" for n in range(count))
        self.good("enqueue", "--bulk", "-", input=lines)

    def test_this_build_works_on_a_schema_that_the_next_release_made(self):
        self.good("list")
        newest = self.newest()
        supervisor = Supervisor(self, [SUPERVISED, self.url, "2"])
        supervisor.said("works as", 2)
        for n in range(60):
            self.enqueue("quick", "--input", json.dumps({}))
            if n == 20:
                self.next_release(newest + 1, newest)
            if n == 40:  # the replacement process meets the new schema
                os.kill(supervisor.workers()[0], signal.SIGKILL)
        supervisor.said("works as", 3)
        self.until(lambda: self.completed() == 60, "all to be completed")
        self.assertEqual(self.good("migrate", "--status")["current"], newest + 1)

        # The release after that locks this build out: running processes go on, new ones are refused with a reason.
        self.next_release(newest + 2, newest + 2)
        supervisor.send(signal.SIGHUP)
        supervisor.said("the rolling restart is given up: .*SchemaMismatch")
        refused = self.hapax("list")
        self.assertEqual(refused.code, CONFIGURATION, refused)
        supervisor.send(signal.SIGTERM)
        code, summary = supervisor.ends()
        self.assertEqual((code, summary["failed"]), (0, 0))


if __name__ == "__main__":
    unittest.main()
