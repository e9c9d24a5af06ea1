"""hapax activity: definitions from files, what is shown of them, manual runs and backfills."""

import copy
import unittest

from _hapax import *

DAILY = {"id": "daily", "name": "Daily report",
         "trigger": {"type": "cron", "cron": "0 9 * * MON-FRI", "time_zone": "Europe/Zurich", "misfire_policy": "catchup",
                     "overlap": "skip"},
         "target": {"task": "generate-report", "queue": "reports"}, "input": {"kind": "daily"}, "dedupe_key_strategy": "catchup"}
ON_ORDER = {"id": "on-order", "trigger": {"type": "event", "types": ["order.*"], "source": "/shop",
                                          "filter": {"/data/country": ["CH", "AT"]}}, "target": {"workflow": "process_order"}}
ORDER = {"specversion": "1.0", "id": "evt_1", "source": "/shop", "type": "order.created", "data": {"country": "CH"}}

TOML = """
[activities.daily]
name = "Daily report"
target = { task = "generate-report", queue = "reports" }
input = { kind = "daily" }
dedupe_key_strategy = "catchup"
[activities.daily.trigger]
type = "cron"
cron = "0 9 * * MON-FRI"
time_zone = "Europe/Zurich"
misfire_policy = "catchup"
overlap = "skip"
"""


def changed(activity, path, value):
    """A copy of the activity with the member at a path such as trigger.cron set to a value; None removes the member."""
    activity = copy.deepcopy(activity)
    *outer, last = path.split(".")
    inner = activity
    for name in outer:
        inner = inner[name]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return activity


# A bad definition, the member that the error names, and a text that its message contains.
BAD = [
    (changed(DAILY, "trigger.cron", "61 9 * * *"), "trigger.cron", "minute"),
    (changed(DAILY, "trigger.cron", "0 9 30 FEB *"), "trigger.cron", "never"),
    (changed(DAILY, "trigger.cron", "tomorrow"), "trigger.cron", "expected"),
    (changed(DAILY, "trigger.cron", None), "trigger.cron", "is missing; expected a text such as \"0 9 * * MON-FRI\""),
    (changed(DAILY, "trigger.time_zone", "Europe/Zürich"), "trigger.time_zone", "Europe/Zurich"),
    (changed(DAILY, "trigger.time_zone", "Mars/Olympus"), "trigger.time_zone", "expected"),
    (changed(changed(DAILY, "trigger.start", "2027-01-01T00:00:00Z"), "trigger.end", "2026-01-01T00:00:00Z"), "trigger.end",
     "is before start"),
    (changed(DAILY, "dedupe_key_strategy", "skip"), "dedupe_key_strategy", "trigger.misfire_policy is catchup"),
    (changed(DAILY, "trigger.misfire_policy", "retry"), "trigger.misfire_policy", "catchup"),
    (changed(DAILY, "trigger.overlap", "queue"), "trigger.overlap", "buffer_one"),
    (changed(DAILY, "trigger.jitter", "7 minutes"), "trigger.jitter", "expected"),
    (changed(DAILY, "trigger.jiter", "7m"), "trigger.jiter", "did you mean \"jitter\"?"),
    (changed(DAILY, "trigger.catchup_limit", 0), "trigger.catchup_limit", "from 1 to"),
    (changed(DAILY, "trigger.type", "clock"), "trigger.type", "cron or event"),
    (changed(DAILY, "target", {"function": "f"}), "target.function", "unknown key"),
    (changed(DAILY, "target", {}), "target", "names neither a task nor a workflow"),
    (changed(DAILY, "target", None), "target", "is missing; expected what to run"),
    (changed(DAILY, "id", "a:b"), "id", "has a colon"),
    (changed(DAILY, "id", None), "id", "is missing"),
    (changed(DAILY, "input", {"at": "{{tomorrow}}"}), "input", "expected"),
    (changed(ON_ORDER, "trigger.types", []), "trigger.types", "expected"),
    (changed(ON_ORDER, "trigger.filter", {"country": "CH"}), "trigger.filter[\"country\"]", "expected"),
    (changed(ON_ORDER, "trigger.filter", {"/data/country": {"like": "C%"}}), "trigger.filter[\"/data/country\"].like", "unknown key"),
]


class ActivityCase:
    """Definition files in the test's folder."""

    def file(self, content, name="activity.json"):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def apply(self, content, name="activity.json", *arguments):
        return self.good("activity", "apply", self.file(content, name), *arguments)

    def listed(self):
        return [one["id"] for one in self.good("activity", "list")]


@on_stores
class Applying(ActivityCase):
    def test_applying_says_what_it_did_and_again_changes_nothing(self):
        first = self.apply(DAILY)
        self.assertEqual((first["created"], first["changed"], first["unchanged"], first["applied"]), (1, 0, 0, True))
        one = first["activities"][0]
        self.assertEqual((one["id"], one["result"], one["version"]), ("daily", "created", 1))
        self.assertEqual(one["description"], "at 09:00 on weekdays, Europe/Zurich")
        self.assertEqual(self.apply(DAILY)["unchanged"], 1)
        other = self.apply(changed(DAILY, "trigger.cron", "30 9 * * MON-FRI"))
        self.assertEqual((other["changed"], other["activities"][0]["version"]), (1, 2))
        plain = self.hapax("activity", "apply", self.file([DAILY, ON_ORDER]))
        self.assertEqual(plain.code, OK, plain)
        self.assertRegex(plain.out, r"daily +changed +3 +at 09:00 on weekdays, Europe/Zurich\n")
        self.assertRegex(plain.out, r"on-order +created +1 +on order\.\* from /shop, filtered\n")

    def test_json_and_toml_say_the_same(self):
        self.apply(DAILY)
        self.assertEqual(self.apply(TOML, "activities.toml")["unchanged"], 1)
        by_input = self.hapax("activity", "apply", "-", "--json", input=TOML)
        self.assertEqual((by_input.code, by_input.json["unchanged"]), (OK, 1), by_input)
        by_input = self.hapax("activity", "apply", "-", "--json", input=json.dumps([DAILY]))
        self.assertEqual((by_input.code, by_input.json["unchanged"]), (OK, 1), by_input)

    def test_a_dry_run_stores_nothing(self):
        told = self.apply(DAILY, "activity.json", "--dry-run")
        self.assertEqual((told["created"], told["applied"], self.listed()), (1, False, []))

    def test_one_bad_activity_keeps_the_whole_file_out(self):
        path = self.file([DAILY, changed(ON_ORDER, "trigger.types", "order.*")])
        problem = self.refused(DATA, "InvalidArgument", "activity", "apply", path)
        self.assertEqual(problem["field"], "activities[1].trigger.types")
        problem = self.refused(DATA, "InvalidArgument", "activity", "apply", self.file([DAILY, DAILY]))
        self.assertIn("activities[1].id: 'daily' is given twice", problem["detail"])
        bad = TOML + "jiter = \"1m\"\n[activities.other]\n"
        problem = self.refused(DATA, "InvalidArgument", "activity", "apply", self.file(bad, "bad.toml"))
        self.assertIn("bad.toml:13: activities.daily.trigger.jiter: unknown key; did you mean \"jitter\"?", problem["detail"])
        self.assertIn("(1 more)", problem["detail"])
        self.assertEqual(self.listed(), [])

    def test_a_target_that_nobody_knows_is_taken_and_a_near_miss_is_told(self):
        self.hapax("config", "apply", self.file("[tasks.generate-report]\n[queues.reports]\nconcurrency = 2\n", "hapax.toml"))
        self.assertEqual(self.apply(DAILY)["activities"][0]["notes"], [])
        typo = changed(changed(changed(DAILY, "target.task", "generate_report"), "target.queue", "report"), "id", "typo")
        notes = self.apply(typo)["activities"][0]["notes"]
        self.assertEqual(notes, ["nothing is known here of task 'generate_report'; did you mean 'generate-report'?",
                                 "nothing is known here of queue 'report'; did you mean 'reports'?"])
        self.assertIn("did you mean 'generate-report'", self.hapax("activity", "apply", self.file(typo)).err)
        self.assertEqual(self.apply(changed(changed(DAILY, "target.task", "something-else"), "id", "new"))["activities"][0]["notes"], [])

    def test_who_changed_it_is_in_the_audit_and_in_its_versions(self):
        self.apply(DAILY)
        self.apply(changed(DAILY, "trigger.cron", "@daily"))
        line = self.good("config", "audit")[0]
        self.assertEqual(line["action"], "activity.apply")
        self.assertRegex(line["actor"], r"^command line \(.+@.+\)$")
        versions = self.good("activity", "show", "daily", "--versions")["versions"]
        self.assertEqual([(v["version"], v["definition"]["trigger"]["cron"]) for v in versions],
                         [(2, "@daily"), (1, "0 9 * * MON-FRI")])
        self.assertRegex(versions[0]["actor"], "^command line")
        self.assertIn("0 9 * * MON-FRI", self.hapax("activity", "show", "daily", "--versions").out)


class Refusing(ActivityCase, StoreCase, unittest.TestCase):
    """An invalid definition is refused before a store is opened."""

    def make_store(self):
        return "sqlite:" + self.path("never.db")

    def tearDown(self):
        super().tearDown()
        self.assertFalse(os.path.exists(self.path("never.db")), "a store was made")

    def test_what_cannot_be_taken_names_the_member_and_stores_nothing(self):
        for activity, field, shown in BAD:
            with self.subTest(field=field, shown=shown):
                path = self.file(activity)
                problem = self.refused(DATA, "InvalidArgument", "activity", "apply", path)
                self.assertEqual(problem["field"], field, problem)
                self.assertTrue(problem["detail"].startswith(f"{path}: {field}: "), problem)
                self.assertIn(shown, problem["detail"])

    def test_what_is_no_definition_at_all(self):
        for text, name, error in (("{", "a.json", "InvalidJson"), ("7", "a.json", "InvalidArgument"), ("[]", "a.json", "InvalidArgument"),
                                  ("", "a.toml", "InvalidArgument"), ("[activities.x", "a.toml", "InvalidArgument"),
                                  ("x" * (1 << 21), "a.json", "PayloadTooLarge"),
                                  (json.dumps(changed(DAILY, "input", "x" * 70000)), "a.json", "PayloadTooLarge")):
            with self.subTest(text=text[:20]):
                self.refused(DATA, error, "activity", "apply", self.file(text, name))
        self.refused(MISSING, "MissingFile", "activity", "apply", "nowhere.json")


@on_stores
class Looking(ActivityCase):
    def test_list_and_show(self):
        self.assertEqual(self.hapax("activity", "list").out, "no activities\n")
        self.apply([DAILY, ON_ORDER])
        daily, on_order = self.good("activity", "list")
        self.assertEqual((daily["id"], daily["kind"], daily["paused"], daily["trouble"]), ("daily", "cron", False, None))
        self.assertEqual(daily["definition"]["trigger"]["misfire_grace"], "1m")
        self.assertEqual((on_order["kind"], on_order["next_due"]), ("event", None))
        self.assertEqual(daily["counts"], {"started": 0, "duplicates": 0, "missed": 0, "overlapped": 0, "refused": 0})
        shown = self.good("activity", "show", "daily")
        self.assertEqual(len(shown["next_fires"]), 5)
        self.assertRegex(shown["next_fires"][0]["run_id"], r"^activity-daily:\d{4}-\d\d-\d\dT0[78]:00:00\+00:00$")
        self.assertRegex(shown["next_fires"][0]["local"], r"T09:00:00\+0[12]:00$")
        plain = self.hapax("activity", "show", "daily").out
        for text in ("Daily report", "at 09:00 on weekdays, Europe/Zurich", "task generate-report in queue reports",
                     "catchup, the newest 10", "{\"kind\":\"daily\"}"):
            self.assertIn(text, plain)
        self.assertIn("/data/country", self.hapax("activity", "show", "on-order").out)
        self.assertRegex(self.hapax("activity", "list").out, r"on-order +active +on order\.\* from /shop, filtered +workflow process_order")
        self.assertEqual([one["id"] for one in self.good("activity", "list", "--limit", "1")], ["daily"])
        self.assertEqual([one["id"] for one in self.good("activity", "list", "--after", "daily")], ["on-order"])
        self.refused(USAGE, "InvalidArgument", "activity", "list", "--limit", "0")

    def test_what_is_shown_can_be_applied_again(self):
        self.apply([DAILY, ON_ORDER])
        for id in ("daily", "on-order"):
            self.assertEqual(self.apply(self.good("activity", "show", id)["definition"])["unchanged"], 1)

    def test_an_activity_that_is_not_there(self):
        self.apply(DAILY)
        for arguments in (["show"], ["pause"], ["resume"], ["trigger"], ["delete"], ["runs"], ["preview"],
                          ["backfill", "--from", "2026-03-01", "--to", "2026-03-02"]):
            command, *flags = arguments
            problem = self.refused(MISSING, "NotFound", "activity", command, "dayly", *flags)
            self.assertIn("no activity 'dayly' in namespace 'default'; did you mean 'daily'?", problem["detail"])

    def test_namespaces_are_apart(self):
        self.apply(DAILY, "activity.json", "--namespace", "other")
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.good("activity", "show", "daily", "--namespace", "other")["namespace"], "other")

    def test_pause_resume_and_delete(self):
        self.apply(DAILY)
        paused = self.good("activity", "pause", "daily", "--note", "the warehouse moves")
        self.assertEqual((paused["paused"], paused["note"], paused["next_due"]), (True, "the warehouse moves", None))
        self.assertIn("paused: the warehouse moves", self.hapax("activity", "show", "daily").out)
        self.assertTrue(self.good("activity", "show", "daily")["paused"])
        self.assertEqual(self.apply(changed(DAILY, "input", 1))["changed"], 1)
        self.assertTrue(self.good("activity", "show", "daily")["paused"], "a change of the definition ended the pause")
        resumed = self.good("activity", "resume", "daily")
        self.assertEqual((resumed["paused"], resumed["note"]), (False, None))
        self.assertIsNotNone(resumed["next_due"])
        self.refused(DATA, "PayloadTooLarge", "activity", "pause", "daily", "--note", "x" * 3000)
        self.assertEqual(self.good("activity", "delete", "daily"), {"deleted": "daily"})
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.good("activity", "runs", "daily"), [])


@on_stores
class Running(ActivityCase):
    def test_a_run_by_hand(self):
        self.apply(DAILY)
        first = self.good("activity", "trigger", "daily", "--key", "again")
        second = self.good("activity", "trigger", "daily", "--key", "again")
        self.assertEqual((first["run_id"], first["created"], first["status"]), ("activity-daily:manual-again", True, "pending"))
        self.assertEqual((second["created"], second["id"]), (False, first["id"]))
        self.assertNotEqual(self.good("activity", "trigger", "daily")["id"], self.good("activity", "trigger", "daily")["id"])
        shown = self.show(first["id"])
        self.assertEqual((shown["task"], shown["queue"], shown["task_id"]), ("generate-report", "reports", first["run_id"]))
        self.assertEqual((shown["input"]["input"], shown["input"]["trigger"]["kind"]), ({"kind": "daily"}, "manual"))
        self.refused(DATA, "InvalidIdempotencyKey", "activity", "trigger", "daily", "--key", "")
        problem = self.refused(USAGE, "InvalidArgument", "activity", "trigger", "daily", "--event", json.dumps(ORDER))
        self.assertIn("has a cron trigger", problem["detail"])
        self.good("queue", "drain", "reports", "--create")
        self.refused(CONFLICT, "QueueDraining", "activity", "trigger", "daily")

    def test_a_run_by_hand_may_have_an_event(self):
        self.apply(changed(ON_ORDER, "target", {"task": "process"}))
        with open(self.path("order.json"), "w", encoding="utf-8") as file:
            json.dump(ORDER, file, indent=2)
        for event in (self.path("order.json"), "@" + self.path("order.json"), json.dumps(ORDER)):
            id = self.good("activity", "trigger", "on-order", "--event", event)["id"]
            self.assertEqual(self.show(id)["input"]["trigger"]["event"]["id"], "evt_1")
        self.refused(DATA, "InvalidArgument", "activity", "trigger", "on-order", "--event", '{"specversion":"1.0"}')
        self.refused(MISSING, "MissingFile", "activity", "trigger", "on-order", "--event", "nowhere.json")

    def test_waiting_for_a_run(self):
        self.apply(DAILY)
        worker = self.start("work", "--queue", "reports", "--exec", self.script("echo '{\"pages\":7}'"))
        done = self.good("activity", "trigger", "daily", "--wait")
        self.assertEqual((done["status"], done["result"]), ("completed", {"pages": 7}))
        worker.terminate()

    def test_a_backfill_runs_what_has_not_run(self):
        self.apply(DAILY)
        week = ("--from", "2026-03-02", "--to", "2026-03-08")
        self.assertEqual(self.good("activity", "backfill", "daily", "--from", "2026-03-03", "--to", "2026-03-03T23:00:00Z"),
                         {"from": "2026-03-02T23:00:00Z", "to": "2026-03-03T23:00:00Z", "ticks": 1, "started": 1, "existing": 0,
                          "refused": 0, "trouble": None})
        report = self.good("activity", "backfill", "daily", *week)
        self.assertEqual({name: report[name] for name in ("ticks", "started", "existing", "refused", "trouble")},
                         {"ticks": 5, "started": 4, "existing": 1, "refused": 0, "trouble": None})
        self.assertEqual(self.good("activity", "backfill", "daily", *week)["existing"], 5)
        runs = self.good("activity", "runs", "daily")
        self.assertEqual(len(runs), 5)
        self.assertEqual({run["run_id"] for run in runs}, {f"activity-daily:2026-03-0{day}T08:00:00+00:00" for day in range(2, 7)})
        self.assertIn("5 ticks: 0 started, 5 had run before", self.hapax("activity", "backfill", "daily", *week).out)
        self.assertIn("no ticks", self.hapax("activity", "backfill", "daily", "--from", "2026-03-07", "--to", "2026-03-08").out)

    def test_a_backfill_that_cannot_be(self):
        self.apply([DAILY, ON_ORDER])
        for id, start, end, field in (("daily", "2026-03-08", "2026-03-02", "to"), ("daily", "2026-03-08", "2999-03-02", "to"),
                                      ("daily", "yesterday", "now", "from"), ("daily", "2026-03-01", "2026-13-01", "to"),
                                      ("on-order", "2026-03-01", "2026-03-02", "activity")):
            with self.subTest(id=id, start=start, end=end):
                problem = self.refused(USAGE, "InvalidArgument", "activity", "backfill", id, "--from", start, "--to", end)
                self.assertEqual(problem["field"], field, problem)
        self.assertEqual(self.good("list"), [])

    def test_runs_have_their_task_instances(self):
        self.apply(changed(changed(DAILY, "target.queue", "default"), "tasks",
                           [{"task_type": "extract", "input": {"n": 1}}, {"task_type": "load"}]))
        self.good("activity", "backfill", "daily", "--from", "2026-03-02", "--to", "2026-03-02")
        run_id = "activity-daily:2026-03-02T08:00:00+00:00"
        run, = self.good("activity", "runs", "daily", "--tasks")
        self.assertEqual([(task["run_id"], task["task"]) for task in run["tasks"]],
                         [(f"task-{run_id}:extract:0", "extract"), (f"task-{run_id}:load:0", "load")])
        self.work(self.script('[ "$HAPAX_TASK" = load ] && exit 65; echo 1'))
        run, = self.good("activity", "runs", "daily", "--tasks")
        self.assertEqual((run["status"], [task["status"] for task in run["tasks"]]), ("completed", ["completed", "failed"]))
        self.assertGreater(run["duration_ms"], 0)
        self.assertEqual(self.good("activity", "runs", "daily", "--status", "failed,pending"), [])
        self.assertEqual(len(self.good("activity", "runs", "daily", "--status", "completed", "--limit", "1")), 1)
        plain = self.hapax("activity", "runs", "daily", "--tasks").out
        self.assertRegex(plain, r"(?m)^" + run_id.replace("+", r"\+") + " +" + run["id"] + " +completed")
        self.assertRegex(plain, r"(?m)^  task-activity-daily:.*:load:0 +\S+ +failed")
        self.assertEqual(self.good("show", "--run", run_id)["id"], run["id"])
        self.assertEqual(self.good("show", "--run", f"task-{run_id}:load:0")["id"], run["tasks"][1]["id"])
        self.assertEqual([one["id"] for one in self.good("list", "--activity", "daily")], [run["id"]])
        self.refused(MISSING, "NotFound", "show", "--run", "activity-daily:2026-03-03T08:00:00+00:00")
        self.refused(USAGE, "InvalidArgument", "show", "--run", "daily")
        self.refused(USAGE, "UsageError", "show", "--run", run_id, "--task", "x")
        self.good("activity", "delete", "daily")
        self.assertEqual(len(self.good("activity", "runs", "daily")), 1)

    def test_explain_tells_of_the_activity_and_of_the_run_before(self):
        def explained():
            return {reason["code"]: reason for reason in self.good("explain", "--run", "activity-daily:manual-k")["reasons"]}

        self.apply(DAILY)
        done = self.path("done")
        self.start("work", "--queue", "reports", "--exec", self.script(f"for i in $(seq 600); do [ -e {done} ] && exit 0; sleep 0.1; done"),
                   "--concurrency", "2")
        first = self.good("activity", "trigger", "daily")["id"]
        second = self.good("activity", "trigger", "daily", "--key", "k")["id"]
        self.until(lambda: "earlier_run" in explained(), "the second run to meet the first")
        reasons = explained()
        self.assertIn("It waits for the earlier runs of activity 'daily'", reasons["earlier_run"]["sentence"])
        self.assertIn("Activity 'daily' started it, as run activity-daily:manual-k.", reasons["started_by_activity"]["sentence"])
        self.assertIn("so its activity does not start it again", reasons["holds_key"]["sentence"])
        self.assertNotIn("earlier_run", [reason["code"] for reason in self.good("explain", first)["reasons"]])
        open(done, "w", encoding="utf-8").close()
        self.until_status(second, "completed")
        self.assertRegex(self.hapax("show", second).out, r"(?m)^activity +daily$")
        own = self.enqueue("job", "--task-id", "activity-daily:mine")
        self.assertNotIn("started_by_activity", [reason["code"] for reason in self.good("explain", own)["reasons"]])

    def test_a_worker_runs_the_ticks(self):
        self.apply({"id": "tick", "trigger": {"type": "cron", "cron": "@every 1s"}, "target": {"task": "tick"}})
        self.start("work", "--exec", self.script("cat"))
        self.until(lambda: len(self.good("activity", "runs", "tick", "--status", "completed")) >= 2, "two ticks")
        run = self.good("activity", "runs", "tick", "--status", "completed")[-1]
        shown = self.show(run["id"])
        self.assertEqual("activity-tick:" + shown["input"]["trigger"]["scheduled_for"], run["run_id"])
        self.assertGreaterEqual(self.good("activity", "show", "tick")["counts"]["started"], 2)


class Previewing(unittest.TestCase):
    """A file is previewed without a store."""

    def setUp(self):
        self.folder = os.path.abspath(tempfile.mkdtemp(dir="."))

    def preview(self, activity, *arguments):
        path = os.path.join(self.folder, "activity.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(activity, file)
        answer = run("activity", "preview", path, *arguments, cwd=self.folder)
        self.assertEqual(os.listdir(self.folder), ["activity.json"], "a store was made")
        return answer

    def nightly(self, **trigger):
        return {"id": "nightly", "target": {"task": "t"},
                "trigger": {"type": "cron", "cron": "30 2 * * *", "time_zone": "Europe/Zurich", **trigger}}

    def test_fires_across_a_change_of_the_clocks(self):
        answer = self.preview(self.nightly(), "--from", "2026-03-28", "--count", "3", "--json")
        self.assertEqual(answer.code, OK, answer)
        said = answer.json
        self.assertEqual((said["id"], said["time_zone"], said["from"]), ("nightly", "Europe/Zurich", "2026-03-27T23:00:00Z"))
        self.assertEqual([(fire["local"], fire["scheduled_for"]) for fire in said["fires"]],
                         [("2026-03-28T02:30:00+01:00", "2026-03-28T01:30:00+00:00"),
                          ("2026-03-29T03:00:00+02:00", "2026-03-29T01:00:00+00:00"),
                          ("2026-03-30T02:30:00+02:00", "2026-03-30T00:30:00+00:00")])
        self.assertIn("02:30 does not exist on this day", said["fires"][1]["note"])
        self.assertEqual(said["fires"][0]["note"], None)
        plain = self.preview(self.nightly(), "--from", "2026-10-24", "--count", "2").out
        self.assertIn("nightly: at 02:30 every day, Europe/Zurich", plain)
        self.assertIn("comes twice on this day", plain)

    def test_an_outage_under_each_policy(self):
        hourly = self.nightly(cron="*/10 * * * *", time_zone="UTC", misfire_policy="catchup", catchup_limit=3)
        answer = self.preview(hourly, "--from", "2026-03-01T09:00:00Z", "--down", "2h30m", "--count", "1", "--json")
        self.assertEqual(answer.code, OK, answer)
        outage = answer.json["outage"]
        self.assertEqual((outage["from"], outage["to"], outage["down"]), ("2026-03-01T09:00:00Z", "2026-03-01T11:30:00Z", "2h30m"))
        skip, catchup, compress = outage["policies"]
        self.assertEqual([policy["own"] for policy in outage["policies"]], [False, True, False])
        self.assertEqual(([run["run_id"] for run in skip["runs"]], skip["dropped"]), (["activity-nightly:2026-03-01T11:30:00+00:00"], 14))
        self.assertEqual(([run["run_id"][-14:-6] for run in catchup["runs"]], catchup["dropped"]),
                         (["11:00:00", "11:10:00", "11:20:00", "11:30:00"], 11))
        self.assertEqual((compress["runs"][0]["window"], compress["dropped"]),
                         ({"from": "2026-03-01T09:10:00+00:00", "to": "2026-03-01T11:20:00+00:00", "missed": 14}, 0))
        plain = self.preview(hourly, "--from", "2026-03-01T09:00:00Z", "--down", "2h30m").out
        self.assertIn("If everything is down for 2h30m, from 2026-03-01T09:00:00Z to 2026-03-01T11:30:00Z:", plain)
        self.assertRegex(plain, r"catchup \(its own\) +activity-nightly:2026-03-01T11:00:00\+00:00 +made up for")
        self.assertIn("for 14 missed ticks", plain)

    def test_what_cannot_be_previewed(self):
        for activity, arguments, code, error in (
                (ON_ORDER, [], USAGE, "InvalidArgument"), (self.nightly(), ["--count", "0"], USAGE, "InvalidArgument"),
                (self.nightly(), ["--count", "1001"], USAGE, "InvalidArgument"), (self.nightly(), ["--from", "soon"], USAGE, "InvalidArgument"),
                (self.nightly(), ["--down", "2 hours"], USAGE, "InvalidArgument"), (self.nightly(), ["--down", "99999d"], USAGE, "InvalidArgument"),
                (self.nightly(cron="61 * * * *"), [], DATA, "InvalidArgument"), ([DAILY, ON_ORDER], [], USAGE, "UsageError"),
                ([DAILY, ON_ORDER], ["--activity", "nobody"], USAGE, "UsageError")):
            with self.subTest(arguments=arguments, code=code):
                answer = self.preview(activity, *arguments, "--json")
                self.assertEqual((answer.code, answer.json["error"]), (code, error), answer)
        self.assertEqual(self.preview([DAILY, ON_ORDER], "--activity", "daily").code, OK)


@on_stores
class PreviewingStored(ActivityCase):
    def test_an_activity_of_the_store(self):
        self.apply(DAILY)
        said = self.good("activity", "preview", "daily", "--from", "2026-03-27T12:00", "--count", "2")
        self.assertEqual([fire["local"] for fire in said["fires"]], ["2026-03-30T09:00:00+02:00", "2026-03-31T09:00:00+02:00"])
        self.assertEqual(said["fires"][0]["note"], "clocks went forward by 1h on 2026-03-29")
        self.assertEqual(len(self.good("activity", "preview", "daily")["fires"]), 20)


if __name__ == "__main__":
    unittest.main()
