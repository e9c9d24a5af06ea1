"""hapax.toml, the environment, hapax config and queue set: precedence, refused values, stored settings."""

import unittest

from _hapax import *

GOOD = """
[queues.payments]
retention = "30d"
rate_limit = "100/sec"
burst = 10
concurrency = 20
[queues.ephemeral]
retention = "0"
[tasks.generate-report]
queue = "reports"
identity_strategy = "contextual"
identity_keys = ["/customer_id", "/month"]
max_attempts = 6
[identity]
default = "always_unique"
"""

BAD = """[queues.payments]
retention = "7 days"
rate_limit = "fast"
retenton = "3d"
[tasks.report]
identity_strategy = "contextual"
identity_keys = ["customer"]
[worker]
lease = "10s"
heartbeat = "9s"
"""


ACTIVITIES = """[activities.daily]
input = { kind = "daily" }
target = { task = "generate-report", queue = "reports" }
trigger.start = 2026-03-01T00:00:00Z
trigger.cron = "0 9 * * MON-FRI"
trigger.time_zone = "Europe/Zurich"
trigger.type = "cron"
trigger.misfire_policy = "catchup"
trigger.catchup_limit = 3
[events]
require_event_id = true
"""


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


class Checking(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.abspath(tempfile.mkdtemp(dir="."))

    def file(self, text, name="hapax.toml", mode=0o644):
        return write(os.path.join(self.folder, name), text, mode)

    def check(self, *arguments, **options):
        return run("config", "check", *arguments, cwd=self.folder, **options)

    def test_a_good_file_is_told_with_where_each_value_comes_from(self):
        self.file(GOOD)
        answer = self.check("--json", env={"HAPAX_WORKER_LEASE": "1m"})
        self.assertEqual(answer.code, OK, answer)
        said = answer.json
        self.assertEqual((said["file"], said["good"]), ("hapax.toml", True))
        values = {one["key"]: (one["value"], one["from"]) for one in said["values"]}
        self.assertEqual(values["queues.payments.retention"], ("30d", "hapax.toml:3"))
        self.assertEqual(values["worker.lease"], ("1m", "HAPAX_WORKER_LEASE"))
        self.assertEqual(values["worker.heartbeat"], ("20s", "default"))
        self.assertEqual(values["store.url"], ("sqlite:hapax.db", "default"))
        self.assertTrue(any("100/sec burst 10" in sentence for sentence in said["words"]), said)
        plain = self.check()
        self.assertEqual(plain.code, OK, plain)
        self.assertIn("hapax.toml is good.", plain.out)
        self.assertIn("/customer_id and /month", plain.out)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "hapax.db")), "check touched a store")

    def test_the_file_of_the_documentation_is_good(self):
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/operating/configuration.md")
        with open(page, encoding="utf-8") as file:
            text = file.read().split("```toml\n")[1].split("```")[0]
        self.file(text)
        answer = self.check("--json")
        self.assertEqual(answer.code, OK, answer)
        self.assertGreater(len(answer.json["values"]), 30)

    def test_a_bad_file_has_all_its_problems_told_with_their_lines(self):
        self.file(BAD)
        plain = self.check()
        self.assertEqual((plain.code, plain.out), (CONFIGURATION, ""), plain)
        lines = plain.err.splitlines()
        self.assertEqual([line.split(": ")[1] for line in lines],
                         ["hapax.toml:2", "hapax.toml:3", "hapax.toml:4", "hapax.toml:7", "hapax.toml:10"], plain)
        self.assertTrue(all(line.startswith("ConfigurationError: ") for line in lines))
        self.assertIn('queues.payments.retention: \'7 days\'', lines[0])
        self.assertIn('did you mean "retention"?', lines[2])
        problem = self.check("--json")
        self.assertEqual((problem.code, problem.json["error"]), (CONFIGURATION, "ConfigurationError"), problem)
        self.assertEqual([one["key"] for one in problem.json["problems"]],
                         ["queues.payments.retention", "queues.payments.rate_limit", "queues.payments.retenton",
                          "tasks.report.identity_keys", "worker.heartbeat"])

    def test_activities_are_told_in_words(self):
        self.file(ACTIVITIES)
        answer = self.check("--json")
        self.assertEqual(answer.code, OK, answer)
        values = {one["key"]: (one["value"], one["from"]) for one in answer.json["values"]}
        self.assertEqual(values["activities.daily.trigger.cron"], ("0 9 * * MON-FRI", "hapax.toml:5"))
        self.assertEqual(values["activities.daily.input"], ('{"kind":"daily"}', "hapax.toml:2"))
        self.assertEqual(values["events.require_event_id"], ("true", "hapax.toml:11"))
        words = "\n".join(answer.json["words"])
        self.assertIn("Activity daily: at 09:00 on weekdays, Europe/Zurich, runs task generate-report in queue reports; "
                      "of what is missed by 1m the newest 3 are made up for; runs may overlap; from 2026-03-01T00:00:00Z.", words)
        self.assertIn("Activity daily: at 09:00 on weekdays", self.check().out)

    def test_bad_activities_are_told_at_their_lines(self):
        for old, new, told in (("0 9 * * MON-FRI", "61 9 * * *", "hapax.toml:5: activities.daily.trigger.cron: "),
                               ("cron =", "crom =", 'hapax.toml:5: activities.daily.trigger.crom: unknown key; did you mean "cron"?'),
                               ("Europe/Zurich", "Europe/Zurick", "hapax.toml:6: activities.daily.trigger.time_zone: "),
                               ("catchup_limit = 3", "catchup_limit = 0", "hapax.toml:9: activities.daily.trigger.catchup_limit: "),
                               ("{ task =", "{ tasks =", "hapax.toml:3: activities.daily.target.tasks: unknown key"),
                               ("target =", "traget =", 'hapax.toml:3: activities.daily.traget: unknown key; did you mean "target"?'),
                               ("[activities.daily]", '[activities."a:b"]\n[activities.daily]', 'hapax.toml:1: activities."a:b".id: '),
                               ("[activities.daily]", "[activitys.daily]", 'hapax.toml:1: activitys: unknown section; did you mean "activities"?'),
                               ("input =", 'id = "other"\ninput =', "hapax.toml:2: activities.daily.id: is \"other\""),
                               ("kind = ", "limit = inf, kind = ", "hapax.toml:2: "),
                               ("= true", '= "yes"', 'hapax.toml:11: events.require_event_id: is "yes"; expected true or false'),
                               ("require_event_id", "require_id", "hapax.toml:11: events.require_id: unknown key")):
            with self.subTest(new=new):
                self.file(ACTIVITIES.replace(old, new, 1))
                answer = self.check()
                self.assertEqual(answer.code, CONFIGURATION, answer)
                self.assertIn("ConfigurationError: " + told, answer.err)
                stopped = run("enqueue", "job", "--store", "memory:", cwd=self.folder)
                self.assertEqual(stopped.code, CONFIGURATION, stopped)

    def test_every_command_refuses_to_start_with_a_bad_file(self):
        self.file(BAD)
        for command in (["list"], ["queue", "list"], ["enqueue", "job"], ["config", "apply"]):
            with self.subTest(command=command):
                answer = run(*command, "--store", "memory:", cwd=self.folder)
                self.assertEqual(answer.code, CONFIGURATION, answer)
                self.assertTrue(answer.err.startswith("ConfigurationError: hapax.toml:2: queues.payments.retention: "), answer)
                self.assertEqual(answer.err.count("\n"), 1, answer)
        self.assertEqual(run("version", cwd=self.folder).code, OK)

    def test_bad_lines_each_have_their_error(self):
        for text, place in (("[queues.q]\nretention = \"1d\"\nretention = \"2d\"\n", "hapax.toml:3: "),
                            ("[queues.q]\nretention = 30\n", "hapax.toml:2: queues.q.retention: is 30"),
                            ("[queues.q]\nconcurrency = \"many\"\n", "hapax.toml:2: queues.q.concurrency: is \"many\""),
                            ("[queue.q]\n", "hapax.toml:1: queue: unknown section; did you mean \"queues\"?"),
                            ("[store\n", "hapax.toml:1: is not TOML"),
                            ("[store]\nurl = \"mysql://x\"\n", "hapax.toml:2: store.url: 'mysql'")):
            with self.subTest(text=text):
                self.file(text)
                answer = self.check()
                self.assertEqual(answer.code, CONFIGURATION, answer)
                self.assertIn("ConfigurationError: " + place, answer.err)

    def test_bad_variables_are_named(self):
        for name, value in (("HAPAX_CLEANUP_INTERVAL", "1 hour"), ("HAPAX_WORKER_LEASE", "30"), ("HAPAX_STORE_URL", "nonsense"),
                            ("HAPAX_IDENTITY_DEFAULT", "maybe"), ("HAPAX_NAMESPACE", "n" * 300)):
            with self.subTest(name=name):
                answer = run("list", env={name: value}, cwd=self.folder)
                self.assertEqual(answer.code, CONFIGURATION, answer)
                self.assertTrue(answer.err.startswith(f"ConfigurationError: {name}: "), answer)

    def test_a_password_in_a_file_that_others_can_read_is_refused(self):
        text = '[store]\nurl = "postgresql://me:secret@127.0.0.1:1/db"\n'
        for mode, code in ((0o644, CONFIGURATION), (0o640, CONFIGURATION), (0o604, CONFIGURATION), (0o600, OK)):
            with self.subTest(mode=oct(mode)):
                self.file(text, mode=mode)
                answer = self.check()
                self.assertEqual(answer.code, code, answer)
                self.assertNotIn("secret", answer.out + answer.err)

    def test_files_that_are_none(self):
        self.assertEqual(self.check("absent.toml").code, MISSING)
        self.assertEqual(run("list", "--config", "absent.toml", cwd=self.folder).code, MISSING)
        self.assertEqual(self.check(env={"HAPAX_CONFIG": "absent.toml"}).code, CONFIGURATION)
        self.assertEqual(self.check(".").code, CONFIGURATION)
        self.file("#" * (1 << 20) + "\n#")
        self.assertIn("1048576", self.check().err)
        with open(os.path.join(self.folder, "hapax.toml"), "wb") as file:
            file.write(b"# fine\n# \xff\n")
        self.assertIn("hapax.toml:2: is not UTF-8", self.check().err)

    def test_flags_go_over_variables_over_the_file(self):
        self.file('namespace = "of-the-file"\n[store]\nurl = "sqlite:file.db"\n')
        run("enqueue", "job", cwd=self.folder)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "file.db")))
        self.assertEqual(run("list", "--json", "--namespace", "of-the-file", cwd=self.folder).json[0]["namespace"], "of-the-file")
        run("enqueue", "job", cwd=self.folder, env={"HAPAX_STORE_URL": "sqlite:variable.db", "HAPAX_NAMESPACE": "v"})
        self.assertTrue(os.path.exists(os.path.join(self.folder, "variable.db")))
        run("enqueue", "job", "--store", "sqlite:flag.db", cwd=self.folder, env={"HAPAX_STORE_URL": "sqlite:variable.db"})
        self.assertTrue(os.path.exists(os.path.join(self.folder, "flag.db")))
        self.file('[store]\nurl = "sqlite:other.db"\n', name="other.toml")
        run("enqueue", "job", "--config", "other.toml", cwd=self.folder)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "other.db")))


@on_stores
class Applying:
    def file(self, text):
        return write(self.path("hapax.toml"), text)

    def test_apply_writes_shows_and_audits_what_changes(self):
        path = self.file(GOOD)
        dry = self.good("config", "apply", path, "--dry-run")
        self.assertFalse(dry["applied"])
        self.assertEqual(self.good("config", "audit"), [])
        made = self.good("config", "apply", path)
        self.assertTrue(made["applied"])
        self.assertEqual(made["changes"], dry["changes"])
        self.assertIn({"subject": "queues.payments.retention", "from": "default", "to": "30d", "note": None}, made["changes"])
        self.assertEqual(self.good("config", "apply", path)["changes"], [])
        queue = self.good("queue", "show", "payments")
        self.assertEqual((queue["retention"], queue["rate_limit"], queue["concurrency"]), ("30d", "100/sec burst 10", 20))
        self.assertEqual(self.good("queue", "show", "ephemeral")["retention"], "0")
        stored = self.good("config", "show")
        task = next(one for one in stored["tasks"] if one["task"] == "generate-report")
        self.assertEqual((task["origin"], task["definition"]["identity_keys"]), ("file", ["/customer_id", "/month"]))
        self.assertEqual(stored["settings"]["identity.default"], "always_unique")
        lines = self.good("config", "audit")
        self.assertLessEqual({"queue.configure", "task.replace", "setting"}, {line["action"] for line in lines})
        self.assertTrue(all("config apply of" in line["actor"] for line in lines), lines)
        self.assertEqual(len(self.good("config", "audit", "--limit", "1")), 1)
        for arguments in (["config", "show"], ["config", "audit"], ["config", "apply", path, "--dry-run"]):
            self.assertEqual(self.hapax(*arguments).code, OK)

    def test_a_start_applies_a_new_file_and_leaves_what_was_set_since(self):
        path = self.file("[queues.q]\nconcurrency = 5\n")
        self.enqueue("job", "--config", path)
        self.assertEqual(self.good("queue", "show", "q")["concurrency"], 5)
        self.good("queue", "set", "q", "--concurrency", "9")
        self.enqueue("job", "--config", path)
        self.assertEqual(self.good("queue", "show", "q")["concurrency"], 9)
        self.file("[queues.q]\nconcurrency = 6\n")
        self.work("cat", "--config", path)
        self.assertEqual(self.good("queue", "show", "q")["concurrency"], 6)

    def test_a_task_of_the_file_follows_its_strategy(self):
        path = self.file('[tasks.report]\nidentity_strategy = "contextual"\nidentity_keys = ["/month"]\nqueue = "reports"\n')
        first = self.good("enqueue", "report", "--input", '{"month":"2026-03","by":"ada"}', "--config", path)
        again = self.good("enqueue", "report", "--input", '{"month":"2026-03","by":"bob"}', "--config", path)
        other = self.good("enqueue", "report", "--input", '{"month":"2026-04","by":"ada"}', "--config", path)
        self.assertEqual((first["created"], again["created"], other["created"]), (True, False, True))
        self.assertEqual(again["id"], first["id"])
        self.assertEqual(self.show(first["id"])["queue"], "reports")

    def test_activities_of_the_file_are_applied(self):
        path = self.file(ACTIVITIES)
        dry = self.good("config", "apply", path, "--dry-run")
        self.assertEqual(self.good("activity", "list"), [])
        made = self.good("config", "apply", path)
        self.assertEqual(made["changes"], dry["changes"])
        self.assertIn({"subject": "activities.daily", "from": None, "to": "at 09:00 on weekdays, Europe/Zurich", "note": None},
                      made["changes"])
        self.assertIn({"subject": "events.require_event_id", "from": None, "to": "true", "note": None}, made["changes"])
        self.assertEqual(self.good("config", "apply", path)["changes"], [])
        line = next(line for line in self.good("config", "audit") if line["action"] == "activity.apply")
        self.assertEqual(line["subject"], "daily")
        self.assertIn("config apply of", line["actor"])
        self.file(ACTIVITIES.replace("catchup_limit = 3", "catchup_limit = 5"))
        self.assertEqual(self.good("config", "apply", path)["changes"],
                         [{"subject": "activities.daily.trigger.catchup_limit", "from": "3", "to": "5", "note": None}])
        self.assertEqual(self.good("activity", "show", "daily")["version"], 2)

    def test_a_start_applies_activities_and_leaves_what_was_done_since(self):
        path = self.file(ACTIVITIES)
        self.enqueue("job", "--config", path)
        self.assertEqual(self.good("activity", "show", "daily")["version"], 1)
        self.good("activity", "delete", "daily")
        self.enqueue("job", "--config", path)
        self.assertEqual(self.good("activity", "list"), [])
        self.file(ACTIVITIES.replace("MON-FRI", "MON"))
        self.good("event", "send", "--config", path, "--source", "/s", "--type", "t", "--id", "1")
        self.assertEqual(self.good("activity", "show", "daily")["definition"]["trigger"]["cron"], "0 9 * * MON")

    def test_forget_takes_a_task_out_of_the_catalogue(self):
        self.good("config", "apply", self.file("[tasks.report]\nmax_attempts = 6\n"))
        self.assertEqual(self.good("config", "forget", "report"), {"forgotten": "report"})
        self.assertEqual(self.good("config", "show")["tasks"], [])
        self.refused(MISSING, "NotFound", "config", "forget", "report")
        self.assertEqual(self.good("config", "audit")[0]["action"], "task.remove")

    def test_nothing_to_apply_is_usage(self):
        self.refused(USAGE, "UsageError", "config", "apply", cwd=self.folder)


@on_stores
class QueueSettings:
    def test_set_takes_every_setting_and_takes_it_away(self):
        said = self.good("queue", "set", "q", "--retention", "30d", "--failed-retention", "90d", "--dedup-window", "60d",
                         "--rate-limit", "30/min burst 5", "--key-rate-limit", "2/sec", "--concurrency", "20",
                         "--worker-concurrency", "4", "--key-concurrency", "2")
        self.assertEqual({name: said[name] for name in ("retention", "failed_retention", "dedup_window", "rate_limit", "key_rate_limit",
                                                        "concurrency", "worker_concurrency", "key_concurrency", "parked")},
                         {"retention": "30d", "failed_retention": "90d", "dedup_window": "60d", "rate_limit": "30/min burst 5",
                          "key_rate_limit": "2/sec", "concurrency": 20, "worker_concurrency": 4, "key_concurrency": 2, "parked": 0})
        self.assertIn("30/min burst 5", self.hapax("queue", "list").out)
        self.assertIn("30/min burst 5", self.hapax("queue", "show", "q").out)
        gone = self.good("queue", "set", "q", "--retention", "default", "--failed-retention", "same", "--dedup-window", "none",
                         "--rate-limit", "none", "--key-rate-limit", "none", "--concurrency", "none", "--worker-concurrency", "none",
                         "--key-concurrency", "none")
        self.assertEqual((gone["retention"], gone["failed_retention"], gone["rate_limit"], gone["concurrency"]), ("7d", None, None, None))
        line = self.good("config", "audit")[1]
        self.assertEqual((line["action"], line["subject"]), ("queue.configure", "q"))
        self.assertRegex(line["actor"], r"^command line \(.+@.+\)$")
        self.assertEqual(json.loads(line["detail"])["rate_limit"], "30/min burst 5")

    def test_set_changes_only_what_is_given(self):
        self.good("queue", "set", "q", "--concurrency", "5")
        self.assertEqual(self.good("queue", "set", "q", "--rate-limit", "1/sec")["concurrency"], 5)

    def test_bad_settings_are_refused_and_nothing_is_written(self):
        for flag, value in (("--retention", "7 days"), ("--retention", "-1d"), ("--rate-limit", "fast"), ("--rate-limit", "0/sec"),
                            ("--key-rate-limit", "5"), ("--concurrency", "0"), ("--concurrency", "many"), ("--key-concurrency", "2000000"),
                            ("--dedup-window", "soon"), ("--failed-retention", "none")):
            with self.subTest(flag=flag, value=value):
                problem = self.refused(USAGE, "InvalidArgument", "queue", "set", "q", f"{flag}={value}")
                self.assertEqual(problem["field"].split(".")[0], flag[2:].replace("-", "_"))
        self.refused(USAGE, "UsageError", "queue", "set", "q")
        self.assertEqual(self.good("queue", "list"), [])


if __name__ == "__main__":
    unittest.main()
