"""hapax event send: one event, many events, and refused events."""

import contextlib
import hashlib
import re
import sqlite3
import subprocess
import unittest
import uuid

from _hapax import *

ON_ORDER = {"id": "on-order", "trigger": {"type": "event", "types": ["order.*"], "source": "/shop"}, "target": {"task": "process"}}
BILLING = {"id": "billing", "trigger": {"type": "event", "types": ["order.created"]}, "target": {"task": "bill"}}


def event(id="evt_1", type="order.created", source="/shop", **more):
    return {"specversion": "1.0", "id": id, "source": source, "type": type, **more}


def lines(events):
    return "".join(json.dumps(one) + "\n" for one in events)


def without_id(**more):
    made = event(**more)
    del made["id"]
    return made


@on_stores
class Sending:
    def subscribe(self):
        self.good("activity", "apply", "-", input=json.dumps([ON_ORDER, BILLING]))

    def send(self, *arguments, code=OK, **options):
        """The objects that --json prints."""
        answer = self.hapax("event", "send", *arguments, "--json", **options)
        self.assertEqual(answer.code, code, answer)
        return [json.loads(line) for line in answer.out.splitlines()]

    def file(self, text, name="events"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def rename_as_before(self, id, name):
        """Gives a run an ID that another run has, as builds before decision 58 did."""
        if self.url.startswith("sqlite:"):
            with contextlib.closing(sqlite3.connect(self.url[len("sqlite:"):], isolation_level=None, timeout=30)) as db:
                db.execute("UPDATE live SET identity_key = ? WHERE id = ?", (name, uuid.UUID(id).bytes))
            return
        base, schema = re.split("[?&]schema=", self.url)
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c",
                        f"UPDATE {schema}.live SET identity_key = '{name}' WHERE id = '{id}'", base], check=True)

    def started(self):
        return sorted(one["task_id"] for one in self.good("list"))

    def test_an_event_starts_each_activity_that_wants_it_once(self):
        self.subscribe()
        told, = self.send(json.dumps(event(data={"n": 1})))
        self.assertEqual((told["id"], told["source"], told["type"], told["paused"]), ("evt_1", "/shop", "order.created", []))
        self.assertEqual([(run["activity"], run["run_id"], run["created"], run["error"]) for run in told["runs"]],
                         [("billing", "activity-billing:evt_1", True, None), ("on-order", "activity-on-order:evt_1", True, None)])
        again, = self.send(json.dumps(event(data={"n": 2})))
        self.assertEqual([(run["created"], run["execution"]) for run in again["runs"]],
                         [(False, run["execution"]) for run in told["runs"]])
        self.assertEqual(self.show(told["runs"][0]["execution"])["input"],
                         {"input": None, "trigger": {"kind": "event", "event": event(data={"n": 1})}})
        counts = self.good("activity", "show", "billing")["counts"]
        self.assertEqual((counts["started"], counts["duplicates"]), (1, 1))
        self.assertEqual(self.good("show", "--run", "activity-billing:evt_1")["id"], told["runs"][0]["execution"])

    def test_a_run_by_hand_and_an_event_never_share_a_name(self):
        self.subscribe()
        by_hand = self.good("activity", "trigger", "billing", "--key", "k")
        sent = [self.send(json.dumps(event(id=id)))[0]["runs"][0] for id in ("manual-k", "2026-03-01T09:00:00+00:00", "manual-k")]
        self.assertEqual(by_hand["run_id"], "activity-billing:manual-k")
        source = hashlib.sha256(b"/shop").hexdigest()[:16]
        self.assertEqual([run["run_id"] for run in sent], ["activity-billing:manual-k~" + source,
                         "activity-billing:2026-03-01T09:00:00+00:00~" + source, "activity-billing:manual-k~" + source])
        self.assertEqual([run["created"] for run in sent], [True, True, False])
        for run in (by_hand, sent[0], sent[1]):
            self.assertEqual(self.good("show", "--run", run["run_id"])["task_id"], run["run_id"])
        self.assertEqual(self.good("show", "--run", sent[0]["run_id"])["id"], sent[2]["execution"])

    def test_one_id_from_two_sources_gives_two_names(self):
        self.subscribe()
        runs = [self.send(json.dumps(event(source=source)))[0]["runs"][0] for source in ("/shop", "/market", "/market")]
        market = hashlib.sha256(b"/market").hexdigest()[:16]
        self.assertEqual([run["run_id"] for run in runs], ["activity-billing:evt_1"] + 2 * ["activity-billing:evt_1~" + market])
        self.assertEqual([run["created"] for run in runs], [True, True, False])
        for run in runs:
            shown = self.good("show", "--run", run["run_id"])
            self.assertEqual((shown["id"], shown["task_id"]), (run["execution"], run["run_id"]))

    def test_show_says_when_the_name_of_a_run_is_ambiguous(self):
        self.subscribe()
        ids = [self.send(json.dumps(event(source=source)))[0]["runs"][0]["execution"] for source in ("/shop", "/market")]
        self.rename_as_before(ids[1], "activity-billing:evt_1")
        problem = self.refused(USAGE, "InvalidArgument", "show", "--run", "activity-billing:evt_1")
        self.assertEqual(problem["field"], "run")
        for id in ids:
            self.assertIn(id, problem["detail"])
        self.assertNotEqual(self.good("show", "--run", "activity-on-order:evt_1")["id"], ids[0])

    def test_one_event_is_told_in_full(self):
        self.subscribe()
        plain = self.hapax("event", "send", json.dumps(event(type="order.paid")))
        self.assertEqual(plain.code, OK, plain)
        self.assertRegex(plain.out, r"^event evt_1, order\.paid from /shop\n  started   activity-on-order:evt_1  [0-9a-f-]{36}\n$")
        self.assertIn("existing  activity-on-order:evt_1", self.hapax("event", "send", json.dumps(event(type="order.paid"))).out)
        self.assertIn("no activity wants it", self.hapax("event", "send", json.dumps(event(type="mail.sent"))).out)
        self.good("activity", "pause", "on-order")
        self.assertIn("dropped   on-order is paused", self.hapax("event", "send", json.dumps(event("evt_2", type="order.paid"))).out)

    def test_an_event_made_of_flags(self):
        self.subscribe()
        told, = self.send("--id", "evt_9", "--source", "/shop", "--type", "order.created", "--subject", "orders/9", "--data", '{"n":9}')
        made = self.show(told["runs"][0]["execution"])["input"]["trigger"]["event"]
        self.assertEqual(made, event("evt_9", subject="orders/9", data={"n": 9}))
        told, = self.send("--source", "/shop", "--type", "order.created", "--data", "-", input="[1]")
        self.assertRegex(told["id"], "^sha256-[0-9a-f]{64}$")
        self.refused(USAGE, "UsageError", "event", "send", "--source", "/shop")
        self.refused(USAGE, "UsageError", "event", "send")
        self.refused(USAGE, "UsageError", "event", "send", "{}", "--type", "x")
        self.refused(DATA, "InvalidJson", "event", "send", "--source", "/shop", "--type", "t", "--data", "{")

    def test_files_and_standard_input(self):
        self.subscribe()
        one = json.dumps(event(), indent=2)
        for arguments, options in ((["@" + self.file(one)], {}), ([self.file(one)], {}), (["-"], {"input": one}),
                                   (["-"], {"input": json.dumps(event())})):
            told, = self.send(*arguments, **options)
            self.assertEqual(told["id"], "evt_1")
        *told, summary = self.send("-", input=json.dumps([event("a"), event("b")], indent=1))
        self.assertEqual(([one["id"] for one in told], summary["events"]), (["a", "b"], 2))
        self.refused(MISSING, "MissingFile", "event", "send", "nowhere.json")
        self.refused(DATA, "InvalidArgument", "event", "send", self.file(" \n"))

    def test_a_stream_is_sent_in_batches_with_a_summary(self):
        self.subscribe()
        events = [event(f"evt_{n % 1100}", data={"n": n}) for n in range(1250)] + [event("x", type="mail.sent")]
        *told, summary = self.send("--bulk", self.file(lines(events)))
        self.assertEqual(summary, {"events": 1251, "started": 2200, "duplicates": 300, "unmatched": 1, "dropped": 0, "refused": 0})
        self.assertEqual([one["line"] for one in told], list(range(1, 1252)))
        counts = self.good("activity", "show", "on-order")["counts"]
        self.assertEqual((counts["started"], counts["duplicates"]), (1100, 150))
        plain = self.hapax("event", "send", "-", input=lines(events))
        self.assertRegex(plain.out, r"^1,251 events: 0 started, 2,500 duplicates, 1 unmatched in \d+ ms \([\d,]+/s\)\n$")
        self.assertEqual(self.send("--bulk", "-", input="\n\n"),
                         [{"events": 0, "started": 0, "duplicates": 0, "unmatched": 0, "dropped": 0, "refused": 0}])

    def test_a_bad_line_stops_the_stream_and_is_named(self):
        self.subscribe()
        events = [event(f"evt_{n}", source="/mail", type="order.created") for n in range(10001)]
        text = lines(events) + '{"specversion":"1.0","id":"late","source":"/shop"}\n' + lines([event("after")])
        answer = self.hapax("event", "send", "--bulk", "-", input=text)
        self.assertEqual((answer.code, answer.out), (DATA, ""), answer)
        self.assertIn("InvalidArgument: line 10002: type: ", answer.err)
        self.assertIn("10000 of the events before were routed, nothing of this batch", answer.err)
        self.assertEqual(self.good("activity", "show", "billing")["counts"]["started"], 10000)

    def test_what_is_no_event(self):
        self.subscribe()
        deep = "[" * 50 + "]" * 50
        for text, error, field in (("{", "InvalidJson", "event"), ("{}", "InvalidArgument", "specversion"),
                                   (json.dumps({**event(), "specversion": "0.3"}), "InvalidArgument", "specversion"),
                                   (json.dumps(event("")), "InvalidArgument", "id"), (json.dumps(event("x" * 300)), "InvalidArgument", "id"),
                                   (json.dumps({**event(), "type": 7}), "InvalidArgument", "type"),
                                   (json.dumps({**event(), "time": "yesterday"}), "InvalidArgument", "time"),
                                   (json.dumps({**event(), "Tenant": "a"}), "InvalidArgument", "Tenant"),
                                   (json.dumps(event(data=1, data_base64="AA==")), "InvalidArgument", "data_base64"),
                                   (json.dumps(event(data=json.loads(deep))), "InvalidArgument", "data"),
                                   (json.dumps([event("a"), event("b", type="")]), "InvalidArgument", "events[1].type")):
            with self.subTest(text=text[:60]):
                problem = self.refused(DATA, error, "event", "send", text)
                self.assertEqual(problem["field"], field, problem)
        self.refused(DATA, "PayloadTooLarge", "event", "send", self.file(json.dumps(event(data="x" * 300000))))
        self.assertEqual(self.started(), [])

    def test_an_event_without_id_gets_one_or_is_refused(self):
        self.subscribe()
        first, = self.send(json.dumps(without_id(data={"n": 1.0})))
        again, = self.send(json.dumps(without_id(data={"n": 1}, time="2026-03-01T09:00:00Z")))
        self.assertEqual((first["id"], again["runs"][0]["created"]), (again["id"], False))
        problem = self.refused(DATA, "InvalidArgument", "event", "send", "--require-id", json.dumps(without_id()))
        self.assertEqual(problem["field"], "id")
        self.assertIn("expected", problem["detail"])
        with open(self.path("hapax.toml"), "w", encoding="utf-8") as file:
            file.write("[events]\nrequire_event_id = true\n")
        self.good("config", "apply", self.path("hapax.toml"))
        self.refused(DATA, "InvalidArgument", "event", "send", json.dumps(without_id()))
        self.refused(DATA, "InvalidArgument", "event", "send", "--source", "/shop", "--type", "order.created")
        self.assertEqual(len(self.started()), 2)

    def test_what_cannot_be_started_is_refused_and_counted(self):
        self.subscribe()
        self.enqueue("process")
        self.good("queue", "drain", "default")
        told, = self.send(json.dumps(event(type="order.paid")), code=CONFLICT)
        self.assertEqual((told["runs"][0]["created"], told["runs"][0]["execution"]), (False, None))
        self.assertIn("draining", told["runs"][0]["error"])
        plain = self.hapax("event", "send", "--bulk", "-", input=lines([event("b", type="order.paid")]))
        self.assertEqual(plain.code, CONFLICT, plain)
        self.assertRegex(plain.err, "^refused: line 1: on-order: ")
        self.assertIn("1 refused", plain.out)
        self.assertIn("draining", self.good("activity", "show", "on-order")["trouble"])


if __name__ == "__main__":
    unittest.main()
