"""The roles of docs/operating/security.md: with the page's own statements, the application role can do
everything except change the schema."""

import json
import os
import pathlib
import re
import subprocess
import unittest
import urllib.parse
import uuid

from _hapax import OK, STORE, run

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operating" / "security.md"
ADMIN = os.environ["HAPAX_TEST_POSTGRES_URL"].split("?")[0]
DAY_US = 86_400_000_000


def statements(part):
    """The SQL block of the page behind `<!-- grants: PART -->`."""
    found = re.search(rf"^<!-- grants: {part} -->\n```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"),
                      flags=re.MULTILINE | re.DOTALL)
    assert found, part
    return found.group(1)


def psql(url, text):
    return subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", url], input=text, capture_output=True,
                          text=True, timeout=120)


def as_role(role):
    """The server's URL for another role. Each role's password is its name."""
    parts = urllib.parse.urlsplit(ADMIN)
    return urllib.parse.urlunsplit(parts._replace(netloc=f"{role}:{role}@{parts.netloc.rpartition('@')[2]}"))


class Grants(unittest.TestCase):
    def setUp(self):
        # Roles belong to the whole server, which other tests use at the same time, so their names need a suffix.
        self.suffix = "_" + uuid.uuid4().hex[:8]
        self.schema = "hapax" + self.suffix
        self.owner, self.app, self.reader = ("hapax_" + role + self.suffix for role in ("owner", "app", "reader"))
        self.addCleanup(self.remove)
        self.execute(ADMIN, "before migrate")
        self.hapax(self.owner, "migrate")
        self.execute(as_role(self.owner), "after migrate")

    def remove(self):
        roles = f"{self.owner}, {self.app}"
        if psql(ADMIN, f"SELECT 1 FROM pg_roles WHERE rolname = '{self.reader}'").stdout.strip():
            roles += ", " + self.reader
        done = psql(ADMIN, f"DROP SCHEMA IF EXISTS {self.schema} CASCADE; DROP OWNED BY {roles}; DROP ROLE {roles}")
        assert done.returncode == 0, done.stderr

    def execute(self, url, part):
        text = statements(part)
        text = re.sub(r"\bhapax_(owner|app|reader)\b", lambda found: found.group(0) + self.suffix, text)
        text = re.sub(r"\bhapax\b", self.schema, text)
        text = re.sub(r"(ROLE (\w+) LOGIN PASSWORD) '[^']*'", r"\1 '\2'", text)
        done = psql(url, text)
        self.assertEqual(done.returncode, 0, done.stderr)

    def hapax(self, role, *arguments, code=OK, env=None):
        answer = run(*arguments, "--json", env={"HAPAX_STORE_URL": as_role(role) + "?schema=" + self.schema, **(env or {})})
        self.assertEqual(answer.code, code, answer)
        return answer.json if answer.out.strip() else None

    def partitions(self):
        text = (f"SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = '{self.schema}.history'::regclass ORDER BY 1")
        return psql(ADMIN, text).stdout.split()

    def test_a_role_with_the_documented_grants_does_everything_but_change_the_schema(self):
        made = self.hapax(self.app, "enqueue", "job", "--queue", "mail", "--task-id", "once", "--tag", "blue")
        again = self.hapax(self.app, "enqueue", "job", "--queue", "mail", "--task-id", "once", "--tag", "blue")
        self.assertEqual((again["id"], again["created"]), (made["id"], False))
        self.hapax(self.app, "enqueue", "bad", "--queue", "mail", "--max-attempts", "1")
        worked = self.hapax(self.app, "work", "--queue", "mail", "--until-empty", "--exec", 'test "$HAPAX_TASK" = job')
        self.assertEqual((worked["completed"], worked["failed"]), (1, 1), worked)
        self.assertEqual(self.hapax(self.app, "show", made["id"])["status"], "completed")
        self.hapax(self.app, "queue", "set", "mail", "--concurrency", "4")
        self.hapax(self.app, "queue", "pause", "mail")
        self.hapax(self.app, "queue", "resume", "mail")
        self.hapax(self.app, "dlq", "retry", "--queue", "mail")
        self.hapax(self.app, "cancel", self.hapax(self.app, "list", "--queue", "mail", "--task", "bad")[0]["id"])
        self.hapax(self.app, "token", "create", "--scopes", "read", "--expires", "1d", "--name", "someone")
        self.hapax(self.app, "activity", "apply", self.activity())
        self.hapax(self.app, "activity", "trigger", "nightly")
        self.hapax(self.app, "cleanup")
        self.assertEqual(self.finding(self.app)["level"], "ok")
        for change in ("CREATE TABLE {}.mine ()", "DROP TABLE {}.live", "ALTER TABLE {}.live ADD COLUMN mine int",
                       "UPDATE {}.schema_version SET version = version + 1", "TRUNCATE {}.live"):
            done = psql(as_role(self.app), change.format(self.schema))
            self.assertNotEqual(done.returncode, 0, change)
            self.assertRegex(done.stderr, "permission denied|must be owner", change)

    def activity(self):
        path = os.path.abspath("activity.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"id": "nightly", "name": "Nightly", "trigger": {"type": "cron", "cron": "0 3 * * *"},
                       "target": {"task": "report"}, "input": {}}, file)
        return path

    def test_sweeps_of_a_role_that_owns_nothing_go_on_and_the_owner_sees_to_partitions(self):
        first = next(name for name in self.partitions() if "default" not in name)
        done = psql(as_role(self.owner), f"""
            DROP TABLE {first};
            CREATE TABLE {self.schema}.history_20200102 PARTITION OF {self.schema}.history
              FOR VALUES FROM ({18263 * DAY_US}) TO ({18264 * DAY_US})""")
        self.assertEqual(done.returncode, 0, done.stderr)
        changed = self.partitions()
        self.assertNotIn(first, changed)
        self.hapax(self.app, "cleanup")
        self.assertEqual(self.partitions(), changed)
        self.assertEqual(self.finding(self.app)["level"], "warning")
        self.assertIn("owner of the schema", self.finding(self.app)["advice"])
        self.hapax(self.owner, "cleanup")
        self.assertIn(first, self.partitions())
        self.assertNotIn(f"{self.schema}.history_20200102", self.partitions())
        self.assertEqual(self.finding(self.app)["level"], "ok")
        # As the page promises, default privileges cover a new partition.
        self.assertEqual(psql(as_role(self.app), f"SELECT count(*) FROM {first}").stdout.strip(), "0")

    def finding(self, role):
        answer = run("doctor", "--json", env={"HAPAX_STORE_URL": as_role(role) + "?schema=" + self.schema})
        return next(found for found in answer.json["findings"] if found["subject"] == "expired partitions")

    def test_a_reader_reads_and_changes_nothing(self):
        made = self.hapax(self.app, "enqueue", "job", "--queue", "mail")
        self.execute(ADMIN, "reader")
        self.assertEqual(self.hapax(self.reader, "show", made["id"])["status"], "pending")
        self.assertEqual(len(self.hapax(self.reader, "list", "--queue", "mail")), 1)
        self.hapax(self.reader, "sql", "SELECT id, status FROM executions")
        self.hapax(self.reader, "enqueue", "job", "--queue", "mail", code=STORE)
        self.hapax(self.reader, "cancel", made["id"], code=STORE)
        self.assertEqual(self.hapax(self.app, "show", made["id"])["status"], "pending")


if __name__ == "__main__":
    unittest.main(verbosity=2)
