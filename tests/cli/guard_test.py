"""guard list, show, forget: records of every store that keeps them."""

import subprocess
import unittest

from _hapax import *

CALLS = os.environ.get("HAPAX_GUARD_CALLS") or sys.exit("HAPAX_GUARD_CALLS is not set: it must name the program guard_calls")


class OnFile(StoreCase):
    def make_store(self):
        path = os.path.abspath(os.path.join(self.folder, "records"))
        os.mkdir(path)
        return "file:" + path


class OnRedis(StoreCase):
    def make_store(self):
        base = os.environ.get("HAPAX_TEST_REDIS_URL")
        self.assertTrue(base, "HAPAX_TEST_REDIS_URL is not set: run ./dev test, or ./dev servers and export what it prints")
        return base + "?prefix=cli_" + uuid.uuid4().hex[:12] + ":"


class Records:
    def call(self, name, key, end, result="null"):
        done = subprocess.run([CALLS, self.url, name, key, end, result], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done)

    def hapax(self, *arguments, **options):
        # HAPAX_STORE_URL names a store of executions; --store names the store of the records.
        return run(*arguments, **options)

    def guard(self, *arguments):
        return self.good("guard", *arguments, "--store", self.url)

    def test_list_has_what_scripts_lean_on(self):
        self.call("invoice", '["a"]', "completed", '{"id":7}')
        self.call("invoice", '["b"]', "failed")
        self.call("charge", '["c"]', "held")
        self.call("charge", '["d"]', "unlocked")
        listed = {record["key"]: record for record in self.guard("list")}
        self.assertEqual(set(listed), {'["a"]', '["b"]', '["c"]'})
        done = listed['["a"]']
        self.assertEqual(set(done), {"name", "key", "status", "result", "error", "started_at", "completed_at", "heartbeat",
                                     "fence", "expires_at", "takeover_after", "owner"})
        self.assertEqual((done["status"], done["result"], done["error"], done["fence"]), ("completed", {"id": 7}, None, 1))
        self.assertIsNone(done["expires_at"])
        failed = listed['["b"]']
        self.assertEqual((failed["status"], failed["result"], failed["error"]["type"], failed["error"]["message"]),
                         ("failed", None, "Declined", "no funds"))
        held = listed['["c"]']
        self.assertEqual((held["status"], held["completed_at"], held["takeover_after"], held["owner"]),
                         ("in_progress", None, "30s", "tests:1"))
        self.assertEqual({r["key"] for r in self.guard("list", "--name", "invoice")}, {'["a"]', '["b"]'})
        self.assertEqual([r["key"] for r in self.guard("list", "--status", "in_progress")], ['["c"]'])
        self.assertEqual([r["key"] for r in self.guard("list", "--key-prefix", '["b')], ['["b"]'])
        self.assertEqual(len(self.guard("list", "--limit", "2")), 2)

    def test_show_is_one_of_them(self):
        self.call("invoice", '["a"]', "completed", '"paid"')
        shown = self.guard("show", "--name", "invoice", "--key", '["a"]')
        self.assertEqual(shown, self.guard("list")[0])
        text = self.hapax("guard", "show", "--name", "invoice", "--key", '["a"]', "--store", self.url)
        self.assertEqual(text.code, OK, text)
        self.assertIn('"paid"', text.out)
        self.refused(MISSING, "NotFound", "guard", "show", "--name", "invoice", "--key", "other", "--store", self.url)
        self.refused(MISSING, "NotFound", "guard", "show", "--name", "invoice", "--key", '["a"]', "--namespace", "other",
                     "--store", self.url)

    def test_forgetting_by_key(self):
        self.call("invoice", "a", "completed")
        self.call("invoice", "held", "held")
        forget = ("guard", "forget", "--store", self.url, "--name", "invoice")
        self.assertEqual(self.good(*forget, "--key", "a"), {"forgotten": 1, "in_progress": 0})
        self.refused(MISSING, "NotFound", *forget, "--key", "a")
        self.refused(CONFLICT, "WrongStatus", *forget, "--key", "held")
        self.assertEqual(self.good(*forget, "--key", "held", "--even-in-progress")["forgotten"], 1)
        self.assertEqual(self.guard("list"), [])
        self.call("invoice", "a", "completed")

    def test_forgetting_by_name(self):
        for key in "abc":
            self.call("invoice", key, "completed")
        self.call("invoice", "failed", "failed")
        self.call("invoice", "held", "held")
        self.call("other", "a", "completed")
        forget = ("guard", "forget", "--store", self.url, "--name", "invoice")
        refusal = self.refused(USAGE, "UsageError", *forget)
        self.assertIn("5 records", refusal["detail"])
        self.assertEqual(self.good(*forget, "--status", "failed", "--yes"), {"forgotten": 1, "in_progress": 0})
        self.assertEqual(self.good(*forget, "--yes"), {"forgotten": 3, "in_progress": 1})
        self.assertEqual({(r["name"], r["key"]) for r in self.guard("list")}, {("invoice", "held"), ("other", "a")})

    def test_usage(self):
        self.refused(USAGE, "InvalidArgument", "guard", "list", "--status", "running", "--store", self.url)
        self.refused(USAGE, "InvalidArgument", "guard", "list", "--limit", "0", "--store", self.url)
        self.refused(USAGE, "UsageError", "guard", "forget", "--store", self.url)
        self.refused(USAGE, "UsageError", "guard", "forget", "--name", "a", "--key", "b", "--status", "failed", "--store", self.url)

    def test_tables_show_control_characters_harmlessly(self):
        self.call("invoice", "key", "completed", '"\\u001b]0;title\\u0007"')
        for arguments in (["list"], ["show", "--name", "invoice", "--key", "key"]):
            answer = self.hapax("guard", *arguments, "--store", self.url)
            self.assertEqual(answer.code, OK, answer)
            self.assertNotIn(b"\x1b", answer.raw_out)


for store in (OnSqlite, OnPostgres, OnFile, OnRedis):
    globals()["Records" + store.__name__] = type("Records" + store.__name__, (Records, store, unittest.TestCase), {})


class Places(unittest.TestCase):
    def refused(self, code, name, url):
        answer = run("guard", "list", "--store", url)
        self.assertEqual((answer.code, answer.err.split(":")[0]), (code, name), answer)
        self.assertNotIn("sesame", answer.err + answer.out)

    def test_what_is_no_place_of_records_is_refused(self):
        self.refused(USAGE, "UsageError", "memory:")
        self.refused(MISSING, "MissingFile", "file:/nowhere/at/all")
        self.refused(CONFIGURATION, "ConfigurationError", "nonsense")
        self.refused(CONFIGURATION, "ConfigurationError", "rediss://:sesame@host?ca_file=/no/such.pem")
        self.refused(CONFIGURATION, "ConfigurationError", "redis://:sesame@host?ca_file=/no/such.pem")
        self.refused(CONFIGURATION, "ConfigurationError", "rediss://:sesame@host?ca_file=")
        self.refused(STORE, "StoreUnavailable", "redis://:sesame@127.0.0.1:1?timeout=200ms")


if __name__ == "__main__":
    unittest.main()
