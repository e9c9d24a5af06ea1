"""A mistyped store, queue, task, activity, token or guard record is NotFound (66) with the nearest existing
name, and the command creates nothing. Only commands meant to create a store or a queue do so."""

import os
import tempfile
import unittest
import uuid

from _hapax import CONFIGURATION, MISSING, OK, USAGE, on_stores, run
from _serving import Serving

ID = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"

# Every command that reads existing objects or acts on them.
LOOKING = (
    "list", "dlq list", "dlq retry --all", "dlq discard --all", "dlq annotate --all --note x", f"show {ID}", f"wait {ID}",
    f"cancel {ID}", "cancel --all --yes", f"retry {ID}", f"explain {ID}", f"journal show {ID}", f"signal {ID} go",
    "identity job", "activity list", "activity show a", "activity pause a", "activity trigger a", "activity runs a",
    "event send --source /s --type t", "queue list", "queue show q", "queue pause q", "queue resume q", "queue drain q",
    "queue purge q --yes", "queue move a b", "config show", "config audit", "config forget job", "token list",
    "token revoke t", "audit", "cleanup", "sql SELECT+1", "doctor", "top --once", "bench --count 1", "guard list",
    "guard show --name f --key k",
)
MAKING = (
    "enqueue job", "start flow --workflow-id f-1", "work --exec cat --until-empty", "migrate", "token create --scopes read",
    "queue set q --concurrency 2", "queue pause q --create", "queue drain q --create",
)


def words(command):
    return [word.replace("+", " ") for word in command.split()]


class MissingStoreTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=".")

    def run_here(self, command, *more):
        return run(*words(command), *more, cwd=self.folder)

    def test_looking_never_makes_a_store(self):
        for command in LOOKING:
            with self.subTest(command):
                answer = self.run_here(command, "--store", "sqlite:nothere.db")
                self.assertEqual(answer.code, MISSING, answer)
                self.assertTrue(answer.err.startswith("NotFound: "), answer)
                self.assertIn("nothere.db", answer.err)
                self.assertEqual(os.listdir(self.folder), [], command)

    def test_the_usual_store_is_not_made_by_looking_either(self):
        answer = self.run_here("list")
        self.assertEqual((answer.code, os.listdir(self.folder)), (MISSING, []), answer)
        self.assertIn("hapax migrate", answer.err)

    def test_the_listed_commands_make_a_store(self):
        for i, command in enumerate(MAKING):
            with self.subTest(command):
                url = f"sqlite:made-{i}.db"
                self.assertEqual(self.run_here(command, "--store", url).code, OK, command)
                self.assertEqual(self.run_here("list", "--store", url).code, OK, command)

    def test_applying_makes_a_store_and_a_dry_run_does_not(self):
        with open(os.path.join(self.folder, "hapax.toml"), "w", encoding="utf-8") as file:
            file.write('[queues.reports]\nretention = "7d"\n[activities.tidy]\ntrigger = {type = "cron", cron = "@daily"}\n'
                       'target = {task = "tidy"}\n')
        for command in ("config apply", "activity apply hapax.toml"):
            name = command.split()[0] + ".db"
            with self.subTest(command):
                dry = self.run_here(command, "--dry-run", "--store", "sqlite:" + name)
                self.assertEqual(dry.code, OK, dry)
                self.assertNotIn(name, os.listdir(self.folder))
                done = self.run_here(command, "--store", "sqlite:" + name)
                self.assertEqual(done.code, OK, done)
                self.assertIn(name, os.listdir(self.folder))

    def test_the_nearest_file_is_told(self):
        self.assertEqual(self.run_here("migrate", "--store", "sqlite:orders.db").code, OK)
        answer = self.run_here("list", "--store", "sqlite:ordres.db")
        self.assertEqual(answer.code, MISSING, answer)
        self.assertIn("did you mean 'orders.db'?", answer.err)
        problem = self.run_here("list", "--store", "sqlite:ordres.db", "--json")
        self.assertEqual((problem.code, problem.json["error"], problem.json["status"]), (MISSING, "NotFound", 404))

    def test_a_file_of_another_program_is_not_turned_into_a_store(self):
        path = os.path.join(self.folder, "empty.db")
        open(path, "w", encoding="utf-8").close()
        answer = self.run_here("list", "--store", "sqlite:empty.db")
        self.assertEqual((answer.code, os.path.getsize(path)), (MISSING, 0), answer)

    def test_a_long_path_is_not_echoed_whole(self):
        answer = self.run_here("list", "--store", "sqlite:" + "x" * 240)
        self.assertEqual(answer.code, MISSING, answer)
        self.assertLess(len(answer.err), 320)

    def test_a_postgresql_schema_that_is_not_there(self):
        base = os.environ["HAPAX_TEST_POSTGRES_URL"]
        name = "missing_" + uuid.uuid4().hex[:12]
        url = base + ("&" if "?" in base else "?") + "schema="
        self.assertEqual(run("migrate", "--store", url + name).code, OK)
        for command in ("list", "queue pause q", "doctor", "guard list"):
            answer = run(*words(command), "--store", url + name + "x")
            self.assertEqual(answer.code, MISSING, answer)
            self.assertIn("did you mean schema=" + name, answer.err)
        answer = run("enqueue", "job", "--store", url + name + "x")
        self.assertEqual(answer.code, CONFIGURATION, answer)
        self.assertIn("hapax migrate", answer.err)

    def test_an_empty_memory_store_has_no_queues(self):
        self.assertEqual(run("list", "--store", "memory:").code, OK)
        self.assertEqual(run("queue", "pause", "nope", "--store", "memory:").code, MISSING)
        self.assertEqual(run("queue", "pause", "nope", "--create", "--store", "memory:").code, OK)


@on_stores
class MissingNameTest:
    """On the store itself and through a server."""

    def begin(self):
        self.enqueue("charge", "--queue", "payments")
        self.serving = Serving(self, self.url)

    def both(self, name, *arguments):
        """Refused as NotFound on the store and through the server, with `name` as the nearest existing name."""
        for place in (["--store", self.url], ["--server", self.serving.url]):
            problem = self.refused(MISSING, "NotFound", *arguments, *place, env={"HAPAX_STORE_URL": ""})
            self.assertIn(f"did you mean '{name}'?", problem["detail"], (arguments, place))

    def queues(self):
        return [queue["queue"] for queue in self.good("queue", "list")]

    def test_a_mistyped_queue_is_not_made(self):
        self.begin()
        for act in (["show"], ["pause"], ["resume"], ["drain"], ["purge", "--yes"]):
            self.both("payments", "queue", act[0], "payment", *act[1:])
        self.both("payments", "queue", "move", "payment", "payments")
        self.both("payments", "queue", "move", "payments", "payment")
        self.assertEqual(self.queues(), ["payments"])

    def test_filters_by_a_mistyped_queue_or_task(self):
        self.begin()
        for command in (["list"], ["dlq", "list"], ["dlq", "retry"], ["dlq", "discard"], ["dlq", "annotate", "--note", "n"],
                        ["cancel"], ["retry"]):
            self.both("payments", *command, "--queue", "paymetns")
            self.both("charge", *command, "--task", "chargee")
        # A filter by an existing queue and task that matches nothing is no error.
        self.assertEqual(self.good("dlq", "list", "--queue", "payments", "--task", "charge"), [])
        self.assertEqual(self.good("list", "--status", "failed", "--queue", "payments"), [])

    def test_create_makes_a_queue(self):
        self.begin()
        self.assertTrue(self.good("queue", "pause", "new", "--create")["paused"])
        self.assertTrue(self.good("queue", "drain", "old", "--create", "--server", self.serving.url,
                                  env={"HAPAX_STORE_URL": ""})["draining"])
        self.assertEqual(self.good("queue", "move", "payments", "slow", "--create")["moved"], 1)
        self.assertEqual(self.queues(), ["new", "old", "payments", "slow"])
        self.refused(USAGE, "UsageError", "queue", "resume", "new", "--create")

    def test_mistyped_tasks_workflows_and_activities(self):
        self.begin()
        self.good("enqueue", "charge", "--task-id", "k")
        self.both("charge", "show", "--task", "chargee", "--task-id", "k")
        self.both("charge", "explain", "--workflow", "chargee", "--workflow-id", "k")
        with open(self.path("a.json"), "w", encoding="utf-8") as file:
            file.write('{"id":"daily","trigger":{"type":"cron","cron":"@daily"},"target":{"task":"charge"}}')
        self.good("activity", "apply", self.path("a.json"))
        for act in (["show"], ["pause"], ["resume"], ["trigger"], ["runs"], ["delete"]):
            self.both("daily", "activity", act[0], "dialy", *act[1:])
        self.both("daily", "list", "--activity", "daly")

    def test_mistyped_tokens_and_catalogue_entries(self):
        self.begin()
        self.good("token", "create", "--scopes", "read", "--name", "billing")
        self.assertIn("did you mean 'billing'?", self.refused(MISSING, "NotFound", "token", "revoke", "biling")["detail"])
        with open(self.path("t.toml"), "w", encoding="utf-8") as file:
            file.write('[tasks.generate-report]\nmax_attempts = 2\n')
        self.good("config", "apply", self.path("t.toml"))
        problem = self.refused(MISSING, "NotFound", "config", "forget", "generate-raport")
        self.assertIn("did you mean 'generate-report'?", problem["detail"])

    def test_mistyped_guard_records(self):
        self.begin()
        for command in (["guard", "list", "--name", "nope"], ["guard", "show", "--name", "nope", "--key", "k"],
                        ["guard", "forget", "--name", "nope", "--yes"]):
            self.refused(MISSING, "NotFound", *command)

    def test_an_unknown_execution(self):
        self.begin()
        for command in (["show", ID], ["cancel", ID], ["retry", ID], ["dlq", "show", ID], ["dlq", "retry", ID]):
            self.refused(MISSING, "NotFound", *command)


if __name__ == "__main__":
    unittest.main()
