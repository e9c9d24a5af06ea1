"""Tokens and the audit from the command line."""

import hashlib
import json
import os
import re
import stat
import unittest

from _hapax import CONFIGURATION, MISSING, OK, USAGE, on_stores

SECRET = re.compile(r"^hapax_[0-9A-Za-z]{49}$")


@on_stores
class Token:
    def create(self, *arguments):
        return self.good("token", "create", *arguments)

    def test_the_secret_is_printed_once_and_only_its_hash_is_kept(self):
        answer = self.hapax("token", "create", "--scopes", "enqueue,read", "--namespace", "shop", "--expires", "90d",
                            "--name", "billing")
        self.assertEqual(answer.code, OK, answer)
        secret = answer.out.strip()
        self.assertRegex(secret, SECRET)
        listed = self.hapax("token", "list", "--all", "--json", "--namespace", "shop")
        self.assertNotIn(secret, listed.out)
        (token,) = listed.json
        self.assertEqual((token["name"], token["namespace"], token["state"]), ("billing", "shop", "good"))
        self.assertEqual(token["scopes"], ["enqueue", "read"])
        self.assertIn("command line (", token["created_by"])
        self.assertIsNone(token["last_used_at"])
        rows = self.good("sql", "SELECT * FROM " + self.table("tokens"))
        self.assertNotIn(secret, json.dumps(rows))
        self.assertEqual(self.good("token", "list"), [], "of another namespace")

    def table(self, name):
        return name if self.url.startswith("sqlite:") else self.url.split("schema=")[1] + "." + name

    def test_json_has_the_secret_and_what_it_is_good_for(self):
        made = self.create("--scopes", "admin", "--expires", "never")
        self.assertRegex(made["token"], SECRET)
        self.assertEqual(made["scopes"], ["admin"])
        self.assertIsNone(made["expires_at"])
        self.assertIsNone(made["name"])
        self.assertNotEqual(made["token"], self.create("--scopes", "admin")["token"])

    def test_a_token_expires_in_90_days_unless_told_otherwise(self):
        made = self.create("--scopes", "read")
        self.assertGreater(made["expires_at"], made["created_at"])

    def test_revoked_by_id_or_by_name(self):
        first = self.create("--scopes", "read", "--name", "one")
        second = self.create("--scopes", "read", "--name", "two")
        self.assertEqual(self.good("token", "revoke", first["id"])["revoked"], first["id"])
        self.refused(MISSING, "NotFound", "token", "revoke", first["id"])
        self.assertEqual(self.good("token", "revoke", "two")["revoked"], second["id"])
        self.refused(MISSING, "NotFound", "token", "revoke", "two")
        self.refused(MISSING, "NotFound", "token", "revoke", "nobody")
        self.assertEqual(self.good("token", "list"), [])
        self.assertEqual({token["state"] for token in self.good("token", "list", "--all")}, {"revoked"})

    def test_a_name_of_several_is_not_guessed(self):
        for _ in range(2):
            self.create("--scopes", "read", "--name", "same")
        self.refused(USAGE, "UsageError", "token", "revoke", "same")
        self.assertEqual(len(self.good("token", "list")), 2)

    def test_another_namespaces_token_is_not_there(self):
        made = self.create("--scopes", "read", "--namespace", "shop")
        self.refused(MISSING, "NotFound", "token", "revoke", made["id"])

    def test_bad_input(self):
        for arguments in (["--scopes", "all"], ["--scopes", ""], ["--scopes", "read,read"],
                          ["--scopes", "read", "--expires", "soon"], ["--scopes", "read", "--expires", "0"],
                          ["--scopes", "read", "--expires", "-1d"], ["--scopes", "read", "--name", "a\nb"], []):
            answer = self.hapax("token", "create", *arguments)
            self.assertIn(answer.code, (USAGE, 65), answer)
            self.assertEqual(answer.out, "", answer)
        self.assertEqual(self.good("token", "list", "--all"), [])

    def test_into_a_file_no_store_is_touched(self):
        path = self.path("tokens")
        made = self.create("--scopes", "work", "--namespace", "shop", "--name", "runner", "--file", path)
        self.create("--scopes", "read", "--expires", "never", "--file", path)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn(made["token"], text)
        line = json.loads(text.splitlines()[0])
        self.assertEqual(line["hash"], hashlib.sha256(made["token"].encode()).hexdigest())
        self.assertEqual((line["namespace"], line["scopes"], line["name"]), ("shop", ["work"], "runner"))
        self.assertEqual(len(text.splitlines()), 2)
        self.assertEqual(self.good("token", "list", "--all", "--namespace", "shop"), [])
        os.chmod(path, 0o644)
        self.refused(CONFIGURATION, "ConfigurationError", "token", "create", "--scopes", "work", "--file", path)


@on_stores
class Audit:
    def test_who_enqueued_stays_with_the_execution(self):
        id = self.enqueue("job")
        self.assertIn("command line (", self.show(id)["enqueued_by"])
        self.assertIn("enqueued by", self.hapax("show", id).out)

    def test_a_bulk_file_is_enqueued_by_somebody_too(self):
        self.good("enqueue", "--bulk", "-", input='{"task":"job"}\n')
        (only,) = self.good("list")
        self.assertIn("command line (", self.show(only["id"])["enqueued_by"])

    def test_what_the_command_line_does_is_in_the_audit(self):
        failing = self.enqueue("job", "--max-attempts", "1")
        self.work(self.script("exit 65"), "--queue", "default")
        self.good("dlq", "annotate", failing, "--note", "vendor is down")
        self.good("retry", failing)
        cancelled = self.enqueue("job")
        self.good("cancel", cancelled, "--reason", "wrong order")
        self.good("queue", "move", "default", "other", "--create")
        self.good("queue", "purge", "other", "--yes")
        self.good("queue", "pause", "default")
        made = self.good("token", "create", "--scopes", "read")
        lines = self.good("audit")
        actions = [line["action"] for line in lines]
        self.assertEqual(actions, ["token.create", "queue.configure", "queue.purge", "queue.move", "execution.cancel",
                                   "execution.retry", "execution.annotate"])
        self.assertTrue(all(line["actor"].startswith("command line (") for line in lines))
        self.assertNotIn(made["token"], json.dumps(lines))
        (line,) = self.good("audit", "--subject", cancelled)
        self.assertEqual((line["action"], line["detail"]), ("execution.cancel", "wrong order"))
        self.assertEqual(len(self.good("audit", "--action", "queue.purge")), 1)
        self.assertEqual(self.good("audit", "--before", "2020-01-01T00:00:00Z"), [])
        self.assertEqual(len(self.good("audit", "--from", "2020-01-01T00:00:00Z", "--limit", "3")), 3)
        self.assertEqual(self.good("config", "audit", "--limit", "100"), lines)

    def test_bad_filters(self):
        self.assertEqual(self.hapax("audit", "--limit", "0").code, USAGE)
        self.assertEqual(self.hapax("audit", "--from", "yesterday").code, USAGE)

    def test_the_audit_is_the_namespaces_own(self):
        id = self.enqueue("job", "--namespace", "shop")
        self.good("cancel", id, "--namespace", "shop")
        self.assertEqual(self.good("audit"), [])
        self.assertEqual(len(self.good("audit", "--namespace", "shop")), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
