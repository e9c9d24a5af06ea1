"""The program itself: help, mistyped words, store URLs and unreachable stores."""

import os
import sqlite3
import unittest

from _hapax import *

COMMANDS = ["enqueue", "start", "signal", "journal", "work", "list", "show", "wait", "cancel", "retry", "explain", "activity", "event",
            "queue", "dlq", "config", "migrate", "cleanup", "sql", "doctor", "bench", "version"]


class Usage(unittest.TestCase):
    def test_help_lists_all_commands_and_each_has_its_own(self):
        text = run("--help")
        self.assertEqual(text.code, OK)
        for command in COMMANDS:
            self.assertIn(f"  {command} ", text.out)
            own = run(command, "--help")
            self.assertEqual(own.code, OK, own)
            self.assertIn("--namespace", own.out)
            self.assertIn("--json", own.out)
        for group, commands in (("queue", "list show pause resume drain purge move set"), ("dlq", "list show retry discard annotate"),
                                ("journal", "show export fork"), ("event", "send"),
                                ("activity", "apply list show pause resume trigger backfill preview runs delete")):
            for command in commands.split():
                self.assertEqual(run(group, command, "--help").code, OK)

    def test_help_and_version_by_their_usual_names(self):
        self.assertEqual(run("help").out, run("--help").out)
        for command in ("enqueue", "queue", "queue set", "help"):
            answer = run("help", *command.split())
            self.assertEqual((answer.code, answer.out), (OK, run(*command.split(), "--help").out), command)
        self.assertEqual(run("-v").out, run("--version").out)
        self.assertEqual(run("-v").code, OK)
        for words in (["help", "enqeue"], ["help", "queue", "pasue"]):
            answer = run(*words)
            self.assertEqual(answer.code, USAGE, answer)
            self.assertIn("did you mean", answer.err)

    def test_no_command_shows_help_on_standard_error(self):
        for arguments in ([], ["queue"], ["dlq"]):
            answer = run(*arguments)
            self.assertEqual((answer.code, answer.out), (USAGE, ""))
            self.assertIn("Subcommands", answer.err)

    def test_mistyped_words_get_a_suggestion(self):
        for arguments, suggestion in ((["enqeue", "x"], "'enqueue'"), (["queue", "pasue", "q"], "'pause'"),
                                      (["list", "--staus", "failed"], "'--status'"), (["dlq", "lits"], "'list'"),
                                      (["activity", "puase", "x"], "'pause'"), (["event", "sned"], "'send'")):
            answer = run(*arguments)
            self.assertEqual((answer.code, answer.err.count("\n")), (USAGE, 1), answer)
            self.assertTrue(answer.err.startswith("UsageError: unknown "), answer)
            self.assertIn("did you mean " + suggestion, answer.err)
        self.assertEqual(run("frobnicate", "--json").json["error"], "UsageError")
        self.assertEqual(run("list", "--limit", "many").code, USAGE)
        self.assertEqual(run("enqueue").code, USAGE)
        self.assertEqual(run("enqueue", "a", "--input").code, USAGE)
        self.assertEqual(run("enqueue", "a", "--bulk", "-", "--input", "1").code, USAGE)

    def test_a_task_may_have_a_commands_name(self):
        answer = run("enqueue", "list", "--store", "memory:", "--json")
        self.assertEqual((answer.code, answer.json["status"]), (OK, "pending"), answer)

    def test_common_flags_may_stand_before_the_command(self):
        answer = run("--json", "--store", "memory:", "list")
        self.assertEqual((answer.code, answer.json), (OK, []), answer)


class Stores(unittest.TestCase):
    def test_a_url_that_is_none_is_a_configuration_error(self):
        for url in ("mysql://x", "nonsense", "sqlite:", "postgresql:/x y"):
            answer = run("list", "--store", url, "--json")
            self.assertIn(answer.code, (CONFIGURATION, STORE), answer)
        self.assertEqual(run("list", "--store", "mysql://x").code, CONFIGURATION)
        self.assertTrue(run("list", env={"HAPAX_STORE_URL": "nonsense"}).err.startswith("ConfigurationError: "))

    def test_a_server_that_is_away_is_a_store_error_without_the_password(self):
        answer = run("list", "--store", "postgresql://me:secret@127.0.0.1:1/db?connect_timeout=2")
        self.assertEqual(answer.code, STORE, answer)
        self.assertTrue(answer.err.startswith("StoreUnavailable: "), answer)
        self.assertEqual(answer.err.count("\n"), 1)
        self.assertNotIn("secret", answer.err)

    def test_a_postgresql_store_without_schema_says_what_to_run(self):
        url = os.environ["HAPAX_TEST_POSTGRES_URL"]
        url += ("&" if "?" in url else "?") + "schema=never_migrated"
        for command, code, name in (("list", MISSING, "NotFound: "), ("enqueue job", CONFIGURATION, "SchemaMismatch: ")):
            answer = run(*command.split(), "--store", url)
            self.assertEqual(answer.code, code, answer)
            self.assertTrue(answer.err.startswith(name), answer)
            self.assertIn("hapax migrate", answer.err)
        status = run("migrate", "--status", "--json", "--store", url)
        self.assertEqual((status.code, status.json["current"]), (UNSUCCESSFUL, 0), status)

    def test_files_that_are_no_store(self):
        with open("text.db", "w", encoding="utf-8") as file:
            file.write("this is not a database, and long enough to look at " * 20)
        for url in ("sqlite:text.db", "sqlite:/no/such/folder/x.db", "sqlite:."):
            answer = run("list", "--store", url)
            self.assertIn(answer.code, (STORE, CONFIGURATION, MISSING), answer)
            self.assertEqual(answer.err.count("\n"), 1, answer)
            self.assertEqual(run("enqueue", "job", "--store", url).code, STORE, url)
        self.assertEqual(run("doctor", "--store", "sqlite:absent.db").code, MISSING)
        self.assertFalse(os.path.exists("absent.db"))

    def test_a_newer_schema_is_refused(self):
        self.assertEqual(run("migrate", "--store", "sqlite:newer.db").code, OK)
        with sqlite3.connect("newer.db") as db:
            db.execute("INSERT INTO migrations(version, name, applied_at, usable_from) VALUES (9999, 'later', 0, 9999)")
        db.close()
        answer = run("list", "--store", "sqlite:newer.db")
        self.assertEqual(answer.code, CONFIGURATION, answer)
        self.assertTrue(answer.err.startswith("SchemaMismatch: "), answer)

    def test_a_schema_from_before_the_first_release_is_refused_by_name(self):
        store = "sqlite:early.db"
        self.assertEqual(run("migrate", "--store", store).code, OK)
        with sqlite3.connect("early.db") as db:
            db.execute("UPDATE migrations SET version = 5")
        db.close()
        for command in (["list"], ["migrate"], ["doctor"], ["enqueue", "job"], ["serve", "--listen", "127.0.0.1:0"]):
            answer = run(*command, "--store", store)
            self.assertEqual(answer.code, CONFIGURATION, answer)
            self.assertIn("SchemaMismatch: SQLite store early.db: the schema has version 5, which a build from before the first "
                          "release made; no release uses it; run hapax migrate on a new file", answer.err)
        status = run("migrate", "--status", "--store", store)
        self.assertEqual(status.code, UNSUCCESSFUL, status)
        self.assertIn("the schema has version 5, which a build from before the first release made", status.out)
        told = run("migrate", "--status", "--json", "--store", store)
        self.assertEqual((told.code, told.json), (UNSUCCESSFUL, {"current": 5, "newest": 9, "up_to_date": False}))

    def test_the_default_store_is_a_file_in_this_folder(self):
        self.assertEqual(run("enqueue", "job").code, OK)
        self.assertTrue(os.path.exists("hapax.db"))

    def test_a_full_disk_below_standard_output_is_told(self):
        import subprocess
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([BIN, "version"], stdout=full, stderr=subprocess.PIPE, env=clean_environment())
        self.assertEqual((done.returncode, done.stderr.startswith(b"OutputError: ")), (STORE, True))


if __name__ == "__main__":
    unittest.main()
