"""Strategies, modes and keys from the command line, and the questions that operators ask about them."""

import json
import os
import re
import unittest

from _hapax import *

TASKS = """
[tasks.generate-report]
queue = "reports"
identity_strategy = "contextual"
identity_keys = ["/customer_id", "/month"]
max_attempts = 6
[tasks.charge]
[tasks.pay]
identity_strategy = "caller_provided"
[tasks.notify]
identity_strategy = "always_unique"
"""


@on_stores
class Identity:
    def catalogue(self, text=TASKS):
        path = self.path("tasks.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.good("config", "apply", path)

    def test_a_catalogued_task_follows_its_strategy_through_this_door(self):
        self.catalogue()
        report = '{"customer_id": 7, "month": "2026-03", "by": "%s"}'
        first = self.good("enqueue", "generate-report", "--input", report % "ann")
        same = self.good("enqueue", "generate-report", "--input", report % "ben")
        self.assertEqual((same["id"], same["created"]), (first["id"], False))
        shown = self.show(first["id"])
        self.assertEqual((shown["queue"], shown["max_attempts"]), ("reports", 6))
        self.assertEqual(self.enqueue("charge", "--input", '{"a":1,"b":2}'), self.enqueue("charge", "--input", '{"b":2.0,"a":1}'))
        self.assertNotEqual(self.enqueue("charge", "--input", "1"), self.enqueue("charge", "--input", "2"))
        self.assertNotEqual(self.enqueue("notify"), self.enqueue("notify"))
        self.assertNotEqual(self.enqueue("nobody-knows-me"), self.enqueue("nobody-knows-me"))

    def test_the_vectors_of_the_documentation_are_the_identities(self):
        self.catalogue(TASKS + "[tasks.ship]\n")
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/concepts/identity.md")
        with open(page, encoding="utf-8") as file:
            rows = [[cell.strip(" `") for cell in line.strip("|\n").split("|")] for line in file if re.search(r"`[0-9a-f]{64}` \|$", line)]
        self.assertGreaterEqual(len(rows), 9)
        for task, strategy, given, canonical, identity in rows:
            told = self.good("identity", task, *(["--task-id", given] if strategy == "key" else ["--input", given]))
            self.assertEqual((told["identity"], told.get("canonical") or ""), (identity, canonical), given)

    def test_a_task_that_wants_a_key_says_so(self):
        self.catalogue()
        problem = self.refused(DATA, "IdempotencyKeyRequired", "enqueue", "pay")
        self.assertEqual(problem["status"], 400)
        self.assertIn("'pay'", problem["detail"])
        self.assertEqual(self.enqueue("pay", "--task-id", "k"), self.enqueue("pay", "--task-id", "k"))

    def test_a_field_that_is_not_there_is_named(self):
        self.catalogue()
        problem = self.refused(DATA, "InvalidArgument", "enqueue", "generate-report", "--input", '{"customer_id":7}')
        self.assertIn("/month", problem["detail"])
        self.assertEqual(problem["field"], "input")
        self.assertEqual(self.good("list"), [])

    def test_bulk_lines_follow_it_too_and_meet_each_other(self):
        self.catalogue()
        lines = ['{"task":"charge","input":%d}' % number for number in (1, 2, 1, 1)] + ['{"task":"pay","input":1,"task_id":"k"}'] * 2
        answer = self.good("enqueue", "--bulk", "-", input="\n".join(lines))
        self.assertEqual((answer["admitted"], answer["deduplicated"], answer["rejected"]), (3, 3, 0))
        bad = self.hapax("enqueue", "--bulk", "-", "--json", input='{"task":"pay","input":1}\n')
        self.assertEqual((bad.code, bad.json["error"]), (DATA, "IdempotencyKeyRequired"), bad)

    def test_identity_says_what_is_compared_and_who_holds_it(self):
        self.catalogue()
        question = ("identity", "generate-report", "--input", '{"month":"2026-03","customer_id":7.0,"by":"ann"}')
        free = self.good(*question)
        self.assertEqual((free["strategy"], free["scope"], free["queue"]), ("contextual", "task", "reports"))
        self.assertEqual(free["canonical"], '[["/customer_id",7],["/month","2026-03"]]')
        self.assertEqual((len(free["identity"]), free["holder"], free["would"]), (64, None, "created"))
        self.assertEqual(self.good("list"), [], "it asks, and changes nothing")
        id = self.enqueue("generate-report", "--input", '{"month":"2026-03","customer_id":7}')
        held = self.good(*question)
        self.assertEqual((held["identity"], held["holder"]["id"], held["would"]), (free["identity"], id, "deduplicated"))
        self.assertEqual(self.show(id)["identity"], free["identity"])
        self.assertEqual(self.good(*question, "--on-conflict", "reject")["would"], "TaskAlreadyExists")
        self.assertEqual(self.good(*question, "--on-conflict", "terminate_existing")["would"], "created")
        plain = self.hapax(*question)
        self.assertIn("deduplicated", plain.out)
        self.assertIn(id, plain.out)

    def test_a_key_of_a_queue_is_found_with_its_queue_and_stays_there(self):
        self.catalogue("""
[tasks.q]
identity_scope = "queue"
""")
        there = self.good("enqueue", "q", "--task-id", "k", "--queue", "a")["id"]
        here = self.good("enqueue", "q", "--task-id", "k")["id"]
        self.assertNotEqual(there, here)
        self.assertEqual(self.good("show", "--task", "q", "--task-id", "k", "--queue", "a")["id"], there)
        self.assertEqual(self.good("show", "--task", "q", "--task-id", "k")["id"], here)
        self.refused(MISSING, "NotFound", "show", "--task", "q", "--task-id", "k", "--queue", "b")
        self.refused(USAGE, "UsageError", "show", there, "--queue", "a")
        self.refused(USAGE, "UsageError", "show", "--queue", "a")
        problem = self.refused(USAGE, "InvalidArgument", "queue", "move", "a", "b", "--create")
        self.assertIn("scope queue", problem["detail"])
        self.assertEqual(self.show(there)["queue"], "a")
        self.good("cancel", there)
        self.assertEqual(self.good("queue", "move", "a", "b", "--create")["moved"], 0)

    def test_a_wider_scope_does_not_make_two_tasks_one(self):
        self.catalogue("""
[tasks.charge]
identity_scope = "queue"
[tasks.refund]
identity_scope = "queue"
[tasks.audit]
identity_strategy = "contextual"
identity_keys = ["/order"]
identity_scope = "global"
[tasks.report]
identity_strategy = "contextual"
identity_keys = ["/order"]
identity_scope = "global"
""")
        tasks = ("charge", "refund", "audit", "report")
        ids = [self.enqueue(task, "--input", '{"order":1}') for task in tasks]
        self.assertEqual(len(set(ids)), 4)
        self.assertEqual([self.enqueue(task, "--input", '{"order":1.0}') for task in tasks], ids)
        self.assertEqual(self.good("identity", "refund", "--input", '{"order":1}')["holder"]["id"], ids[1])
        self.assertEqual(self.enqueue("charge", "--task-id", "k"), self.enqueue("refund", "--task-id", "k"), "a key is shared")

    def agree(self, would, task, *arguments, id=None):
        """`hapax identity` predicts what the enqueue then does."""
        said = self.good("identity", task, *arguments)
        self.assertEqual(said["would"], would, said)
        if id:
            self.assertEqual(said["holder"]["id"], id)
        answer = self.hapax("enqueue", task, *arguments, "--json")
        did = answer.json.get("error") or ("created" if answer.json["created"] else "deduplicated")
        self.assertEqual(did, would, answer)
        return said, answer.json

    def test_identity_says_what_an_enqueue_then_does_where_only_a_stub_is_left(self):
        self.catalogue("""
[queues.default]
retention = "0"
dedup_window = "1d"
[tasks.report]
identity_strategy = "contextual"
identity_keys = ["/c"]
fingerprint = ["/d"]
""")
        id = self.enqueue("pay", "--task-id", "k", "--input", '{"a":1}')
        fields = self.enqueue("report", "--input", '{"c":1,"d":1}')
        self.work("cat")
        said, _ = self.agree("deduplicated", "pay", "--task-id", "k", "--input", '{"a":1}', id=id)
        self.assertEqual((said["holder"]["status"], said["holder"]["expired"]), ("completed", False))
        self.agree("IdempotencyMismatch", "pay", "--task-id", "k", "--input", '{"a":2}', id=id)
        self.agree("deduplicated", "report", "--input", '{"c":1,"d":1}', id=fields)
        self.agree("IdempotencyMismatch", "report", "--input", '{"c":1,"d":2}', id=fields)

    def test_identity_and_enqueue_know_a_tombstone(self):
        self.good("queue", "set", "default", "--retention", "1s", "--dedup-window", "1d")
        done = self.enqueue("pay", "--task-id", "done", "--input", "1")
        self.work("cat")
        broken = self.enqueue("pay", "--task-id", "broken", "--input", "1", "--max-attempts", "1")
        self.hapax("work", "--exec", "false", "--until-empty")
        self.until(lambda: self.good("list") == [], "their records to expire")
        said, did = self.agree("deduplicated", "pay", "--task-id", "done", "--input", "1", id=done)
        self.assertEqual((said["holder"]["status"], said["holder"]["expired"]), ("completed", True))
        self.assertGreater(said["holder"]["held_until"], said["holder"]["finished_at"])
        self.assertEqual((did["id"], did["status"], did["result_expired"]), (done, "completed", True))
        self.assertNotIn("result", did, "it is not null, it is not known")
        plain = self.hapax("enqueue", "pay", "--task-id", "done", "--input", "1")
        self.assertIn("its record has expired", plain.out)
        self.assertEqual(plain.out.count("\n"), 1, plain)
        self.refused(MISSING, "ResultExpired", "enqueue", "pay", "--task-id", "done", "--input", "1", "--wait")
        self.agree("IdempotencyMismatch", "pay", "--task-id", "done", "--input", "2", id=done)
        self.assertEqual(self.agree("created", "pay", "--task-id", "broken", "--input", "1", id=broken)[1]["run"], 2)

    def test_identity_knows_a_draining_queue(self):
        id = self.enqueue("pay", "--task-id", "k", "--input", "1")
        self.good("queue", "drain", "default")
        self.agree("deduplicated", "pay", "--task-id", "k", "--input", "1", id=id)
        self.agree("QueueDraining", "pay", "--task-id", "other")
        self.agree("QueueDraining", "pay")
        self.agree("created", "pay", "--task-id", "other", "--queue", "elsewhere")

    def test_identity_applies_no_configuration(self):
        path = self.path("unapplied.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TASKS)
        self.assertFalse(self.good("identity", "charge", "--config", path)["catalogued"])
        self.assertFalse(self.good("identity", "charge")["catalogued"])
        self.enqueue("notify", "--config", path)
        self.assertTrue(self.good("identity", "charge")["catalogued"], "who enqueues applies it")

    def reason(self, id, code):
        reasons = {reason["code"]: reason for reason in self.good("explain", id)["reasons"]}
        self.assertIn(code, reasons)
        return reasons[code]["sentence"]

    def test_explain_says_until_when_a_key_is_held_and_when_it_is_free(self):
        self.good("queue", "set", "default", "--retention", "0")
        free = self.enqueue("pay", "--task-id", "free")
        self.good("queue", "set", "windowed", "--retention", "0", "--dedup-window", "1d")
        held = self.enqueue("pay", "--task-id", "held", "--queue", "windowed")
        self.work("cat")
        self.work("cat", "--queue", "windowed")
        self.assertIn("'free'", self.reason(free, "key_free"))
        until = self.good("identity", "pay", "--task-id", "held", "--queue", "windowed")["holder"]["held_until"]
        shown = self.show(held)
        self.assertGreater(until, shown["expires_at"])
        self.assertIn("until " + until[:19], self.reason(held, "holds_key"))

    def code(self, id):
        return self.good("explain", id)["reasons"][0]["code"]

    def test_explain_names_the_limit_that_holds_back_and_no_other(self):
        self.good("queue", "set", "default", "--worker-concurrency", "1", "--rate-limit", "1000/sec burst 1000")
        worker = self.start("work", "--exec", self.script("sleep 60; cat", "slow"), "--concurrency", "4")
        self.until_status(self.enqueue("job"), "running")
        held = self.enqueue("job")
        self.until(lambda: self.code(held) == "worker_concurrency", "the worker's limit to be named")
        self.good("queue", "set", "default", "--worker-concurrency", "none")
        self.until_status(held, "running")
        worker.kill()
        self.good("queue", "set", "rated", "--rate-limit", "1/hour")
        self.start("work", "--queue", "rated", "--exec", "cat")
        self.until_status(self.enqueue("job", "--queue", "rated"), "completed")
        held = self.enqueue("job", "--queue", "rated")
        self.until(lambda: self.code(held) == "rate_limit", "the rate to be named")

    def test_a_stub_is_found_by_its_key_while_it_is_there(self):
        self.good("queue", "set", "default", "--retention", "0")
        id = self.enqueue("pay", "--task-id", "k", "--input", "7")
        self.work("cat")
        shown = self.good("show", "--task", "pay", "--task-id", "k")
        self.assertEqual((shown["id"], shown["result"]), (id, 7))
        again = self.good("enqueue", "pay", "--task-id", "k", "--input", "7")
        self.assertTrue(again["created"])
        self.assertEqual(self.good("show", "--task", "pay", "--task-id", "k")["id"], again["id"], "the holder comes first")

    def test_identity_of_a_key_and_of_a_bare_name(self):
        id = self.enqueue("pay", "--task-id", "k", "--input", "1")
        same = self.good("identity", "pay", "--task-id", "k", "--input", "1")
        self.assertEqual((same["task_id"], same["holder"]["id"], same["would"]), ("k", id, "deduplicated"))
        self.assertEqual(self.good("identity", "pay", "--task-id", "k", "--input", "2")["would"], "IdempotencyMismatch")
        bare = self.good("identity", "pay", "--input", "1")
        self.assertEqual((bare["strategy"], bare["catalogued"], bare["identity"]), ("always_unique", False, None))

    def test_bad_keys_and_inputs_are_refused(self):
        self.catalogue()
        for key in ("", "x" * 256, "a\nb", b"\xff".decode("utf-8", "surrogateescape")):
            self.refused(DATA, "InvalidIdempotencyKey", "enqueue", "pay", "--task-id", key)
        for text in ('{"a":1,"a":2}', '"\\ud800"', "NaN", "18446744073709551616", "[" * 65 + "]" * 65):
            self.refused(DATA, "InvalidJson", "enqueue", "charge", "--input", text)
        two = self.hapax("enqueue", "--bulk", "-", "--json", input='{"task":"pay","task_id":"a","idempotency_key":"b"}\n')
        self.assertEqual(two.code, DATA, two)
        self.assertIn("'b' after 'a'", two.json["detail"])
        self.assertIn('such as "task_id": "charge-order-456"', two.json["detail"])
        twice = self.refused(USAGE, "UsageError", "enqueue", "pay", "--task-id", "a", "--task-id", "b")
        self.assertIn("--task-id was given 2 times, as 'a' and 'b'; expected it once", twice["detail"])
        self.assertEqual(self.good("list"), [])

    def test_reuse_and_modes_are_flags(self):
        first = self.enqueue("pay", "--task-id", "k")
        self.work("cat")
        self.assertEqual(self.enqueue("pay", "--task-id", "k"), first)
        again = self.good("enqueue", "pay", "--task-id", "k", "--reuse", "allow")
        self.assertEqual((again["created"], again["run"]), (True, 2))
        late = self.enqueue("index", "--task-id", "i", "--input", "1", "--debounce", "1h")
        self.assertEqual(self.enqueue("index", "--task-id", "i", "--input", "2", "--debounce", "1h"), late)
        self.assertEqual(self.show(late)["input"], 2)
        self.assertEqual(self.enqueue("sync", "--task-id", "s", "--throttle", "1h"), self.enqueue("sync", "--task-id", "s", "--throttle", "1h"))
        kept = self.enqueue("last", "--task-id", "l", "--input", "1", "--keep-last")
        self.assertEqual(self.enqueue("last", "--task-id", "l", "--input", "2", "--keep-last"), kept)
        self.refused(USAGE, "InvalidArgument", "enqueue", "bare", "--throttle", "1h")
        self.refused(USAGE, "InvalidArgument", "enqueue", "pay", "--task-id", "x", "--throttle", "1h", "--keep-last")
        self.refused(USAGE, "InvalidArgument", "enqueue", "pay", "--task-id", "x", "--keep-last", "--on-conflict", "reject")
        self.refused(USAGE, "InvalidArgument", "enqueue", "pay", "--task-id", "x", "--throttle", "1h", "--reuse", "reject")

    def test_ordering_keys_keep_their_order_and_explain_names_them(self):
        log = self.path("log")
        handler = self.script(f'read -r line; echo "$line" >> {log}; sleep 0.05; echo "$line"')
        ids = [self.enqueue("step", "--input", str(number), "--ordering-key", "account-7", "--priority", str(number)) for number in range(6)]
        self.work(handler, "--concurrency", "4")
        with open(log, encoding="utf-8") as file:
            self.assertEqual([int(line) for line in file], list(range(6)))
        slow = self.script("sleep 60; cat", "slow")
        self.enqueue("step", "--ordering-key", "account-7")
        next_one = self.enqueue("step", "--ordering-key", "account-7")
        self.start("work", "--exec", slow, "--concurrency", "2")
        self.until(lambda: self.good("explain", next_one)["reasons"][0]["code"] == "ordering_key", "it to be parked")
        self.assertIn("account-7", self.good("explain", next_one)["reasons"][0]["sentence"])

    def test_a_duplicate_of_a_running_one_gets_its_result_from_another_process(self):
        self.catalogue()
        gate = self.path("gate")
        worker = self.start("work", "--exec", self.script(f"for i in $(seq 600); do [ -e {gate} ] && break; sleep 0.1; done; sleep 1; cat"))
        first = self.start("enqueue", "charge", "--input", '{"n":1}', "--wait", "--json")
        self.until(lambda: any(one["status"] == "running" for one in self.good("list")), "it to run")
        second = self.start("enqueue", "charge", "--input", '{"n":1}', "--wait", "--json")
        open(gate, "w", encoding="utf-8").close()
        first, second = (json.loads(each.communicate(timeout=30)[0]) for each in (first, second))
        self.assertEqual((second["id"], second["created"], second["result"]), (first["id"], False, {"n": 1}))
        worker.terminate()

    def test_conflicting_flags_are_refused(self):
        self.refused(USAGE, "InvalidArgument", "enqueue", "x", "--ordering-key", "a", "--concurrency-key", "b")
        self.refused(USAGE, "InvalidArgument", "enqueue", "x", "--weight", "0")
        self.refused(USAGE, "InvalidArgument", "enqueue", "x", "--task-id", "k", "--reuse", "sometimes")


if __name__ == "__main__":
    unittest.main()
