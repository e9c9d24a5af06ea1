"""enqueue, single and bulk: its answers, and the requests it refuses."""

import json
import os
import re
import unittest

from _hapax import *

UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")


@on_stores
class Enqueue:
    def test_an_enqueue_answers_with_id_created_status_and_run(self):
        answer = self.good("enqueue", "greet", "--input", '{"name":"Ada"}')
        self.assertRegex(answer["id"], UUID)
        self.assertEqual((answer["created"], answer["status"], answer["run"]), (True, "pending", 1))
        self.assertNotIn("deduplicated_from", answer)

    def test_trace_context_never_refuses_work(self):
        for bad in ("x", "00-" + "0" * 32 + "-b7ad6b7169203331-01"):
            for arguments, more in ((["--traceparent", bad], {}), ([], {"HAPAX_TRACEPARENT": bad})):
                done = self.hapax("enqueue", "greet", "--json", *arguments, env=more)
                self.assertEqual(done.code, OK, done)
                self.assertIn("is no W3C trace context and is ignored", done.err)

    def test_a_bare_name_runs_each_time(self):
        self.assertNotEqual(self.enqueue("greet"), self.enqueue("greet"))

    def test_the_same_key_is_answered_with_the_first_execution(self):
        first = self.good("enqueue", "pay", "--input", '{"a":1,"b":2}', "--task-id", "order-1")
        second = self.good("enqueue", "pay", "--input", ' { "b": 2, "a": 1.0 } ', "--task-id", "order-1")
        self.assertEqual(second["id"], first["id"])
        self.assertFalse(second["created"])
        self.assertIn("deduplicated_from", second)
        self.assertNotEqual(self.good("enqueue", "other", "--task-id", "order-1")["id"], first["id"])

    def test_a_completed_holder_answers_with_its_result(self):
        self.enqueue("pay", "--task-id", "k", "--input", "[1]")
        self.work("cat")
        again = self.good("enqueue", "pay", "--task-id", "k", "--input", "[1]")
        self.assertEqual((again["created"], again["status"], again["result"]), (False, "completed", [1]))

    def test_reject_is_a_conflict_with_facts(self):
        id = self.enqueue("pay", "--task-id", "k")
        problem = self.refused(CONFLICT, "TaskAlreadyExists", "enqueue", "pay", "--task-id", "k", "--on-conflict", "reject")
        self.assertEqual((problem["existing_execution_id"], problem["existing_status"]), (id, "pending"))
        self.assertEqual(problem["status"], 409)
        self.work("cat")
        problem = self.refused(CONFLICT, "TaskAlreadyCompleted", "enqueue", "pay", "--task-id", "k", "--on-conflict", "reject")
        self.assertEqual((problem["existing_execution_id"], problem["result"]), (id, None))
        self.assertIn("completed_at", problem)

    def test_terminate_existing_cancels_the_holder_and_makes_a_new_run(self):
        first = self.enqueue("pay", "--task-id", "k")
        second = self.good("enqueue", "pay", "--task-id", "k", "--on-conflict", "terminate_existing")
        self.assertEqual((second["created"], second["run"]), (True, 2))
        self.assertEqual(self.show(first)["status"], "cancelled")

    def test_wait_on_conflict_answers_when_the_holder_has_ended(self):
        id = self.enqueue("pay", "--task-id", "k", "--input", "7")
        waiting = self.start("enqueue", "pay", "--task-id", "k", "--input", "7", "--on-conflict", "wait", "--json")
        self.work("cat")
        out, _ = waiting.communicate(timeout=30)
        answer = json.loads(out)
        self.assertEqual((answer["id"], answer["created"], answer["status"], answer["result"]), (id, False, "completed", 7))

    def test_another_input_under_the_same_key_is_a_mismatch(self):
        id = self.enqueue("pay", "--task-id", "k", "--input", "1")
        problem = self.refused(DATA, "IdempotencyMismatch", "enqueue", "pay", "--task-id", "k", "--input", "2")
        self.assertEqual((problem["status"], problem["existing_execution_id"]), (422, id))

    def test_options_are_kept(self):
        id = self.enqueue("job", "--queue", "q", "--priority", "-5", "--max-attempts", "6", "--delay", "1h", "--timeout", "90s",
                          "--deadline", "2h", "--tag", "a", "--tag", "b", "--metadata", '{"who":"me"}', "--retry-base", "2s")
        shown = self.show(id)
        self.assertEqual((shown["queue"], shown["priority"], shown["max_attempts"]), ("q", -5, 6))
        self.assertEqual((shown["timeout"], shown["retry"]["base"]), ("1m30s", "2s"))
        self.assertEqual((sorted(shown["tags"]), shown["metadata"]), (["a", "b"], {"who": "me"}))
        self.assertGreater(shown["run_at"], shown["created_at"])
        self.assertIsNotNone(shown["deadline"])

    def test_input_comes_from_the_argument_a_file_or_standard_input(self):
        with open(self.path("in.json"), "w", encoding="utf-8") as file:
            file.write('{\n  "n": 9007199254740993\n}\n')
        self.assertEqual(self.show(self.enqueue("a", "--input", "@" + self.path("in.json")))["input"], {"n": 9007199254740993})
        self.assertEqual(self.show(self.enqueue("a", "--input", "-", input='["x"]'))["input"], ["x"])
        self.assertEqual(self.show(self.enqueue("a", "--input", "[1,2]"))["input"], [1, 2])
        self.assertIsNone(self.show(self.enqueue("a"))["input"])

    def test_enqueue_wait_tells_the_outcome(self):
        worker = self.start("work", "--exec", self.script('read line; [ "$line" = 1 ] && exit 65; echo "$line"'))
        done = self.hapax("enqueue", "job", "--input", "2", "--wait", "--json")
        self.assertEqual((done.code, done.json["status"], done.json["result"]), (OK, "completed", 2), done)
        failed = self.hapax("enqueue", "job", "--input", "1", "--wait", "--json")
        self.assertEqual((failed.code, failed.json["status"], failed.json["error"]["type"]), (UNSUCCESSFUL, "failed", "PermanentFailure"))
        worker.terminate()
        worker.wait(timeout=30)
        late = self.hapax("enqueue", "job", "--wait", "--wait-timeout", "50ms", "--json")
        self.assertEqual((late.code, late.json["status"]), (STILL_GOING, "pending"))

    def test_bad_arguments_are_usage_errors_and_store_nothing(self):
        for arguments in (["--priority", "40000"], ["--priority", "-40000"], ["--priority", "x"], ["--max-attempts", "0"],
                          ["--delay", "-5s"], ["--delay", "5"], ["--delay", ""], ["--delay", "99999d"], ["--delay", "1.5h"],
                          ["--queue", ""], ["--queue", "q" * 300], ["--queue", "a\nb"], ["--on-conflict", "maybe"],
                          ["--timeout", "0"], ["--tag", ""], ["--run-at", "tomorrow"], ["--namespace", "n" * 300],
                          ["--nonsense"], ["extra"]):
            with self.subTest(arguments=arguments):
                answer = self.hapax("enqueue", "job", *arguments, "--json")
                self.assertEqual(answer.code, USAGE, answer)
                self.assertIn(answer.json["error"], ("InvalidArgument", "UsageError"))
        self.assertEqual(self.good("list"), [])

    def test_bad_payloads_and_keys_are_data_errors_and_store_nothing(self):
        for arguments, name in ((["--input", "{"], "InvalidJson"), (["--input", ""], "InvalidJson"),
                                (["--input", '{"a":1,"a":2}'], "InvalidJson"), (["--input", '"\\ud800"'], "InvalidJson"),
                                (["--input", "1e400"], "InvalidJson"), (["--input", "NaN"], "InvalidJson"),
                                (["--input", "99999999999999999999"], "InvalidJson"), (["--input", "[" * 100 + "]" * 100], "InvalidJson"),
                                (["--metadata", "{"], "InvalidJson"), (["--task-id", ""], "InvalidIdempotencyKey"),
                                (["--task-id", "k" * 256], "InvalidIdempotencyKey"), (["--task-id", "a\tb"], "InvalidIdempotencyKey"),
                                (["--task-id", b"\xff\xfe"], "InvalidIdempotencyKey")):
            with self.subTest(arguments=arguments):
                plain = self.hapax("enqueue", "job", *[a if isinstance(a, str) else os.fsdecode(a) for a in arguments], "--json")
                self.assertEqual((plain.code, plain.json["error"]), (DATA, name), plain)
        big = self.hapax("enqueue", "job", "--input", "-", "--json", input='"' + "x" * (1 << 20) + '"')
        self.assertEqual((big.code, big.json["error"]), (DATA, "PayloadTooLarge"), big)
        self.assertIn("1048576", big.json["detail"])
        self.refused(MISSING, "MissingFile", "enqueue", "job", "--input", "@/no/such/file")
        self.assertEqual(self.good("list"), [])

    def test_the_payload_limit_is_a_setting(self):
        big = '"' + "x" * (2 << 20) + '"'
        one = self.good("enqueue", "big", "--input", "-", input=big, env={"HAPAX_LIMITS_PAYLOAD": "3MiB"})
        lines = json.dumps({"task": "big", "input": "x" * (2 << 20)}) + "\n"
        self.good("enqueue", "--bulk", "-", input=lines, env={"HAPAX_LIMITS_PAYLOAD": "3MiB"})
        small = self.hapax("enqueue", "job", "--input", '"' + "x" * 2000 + '"', "--json", env={"HAPAX_LIMITS_PAYLOAD": "1KiB"})
        self.assertEqual((small.code, small.json["error"]), (DATA, "PayloadTooLarge"), small)
        self.assertIn("the limit is 1024 bytes", small.json["detail"])
        bad = self.hapax("enqueue", "job", "--json", env={"HAPAX_LIMITS_PAYLOAD": "9MiB"})
        self.assertEqual((bad.code, bad.json["error"]), (CONFIGURATION, "ConfigurationError"), bad)
        # The limit on a program's output is the worker's, not the producer's.
        self.hapax("work", "--exec", "cat", "--until-empty", env={"HAPAX_LIMITS_PAYLOAD": "3MiB"})
        self.assertEqual(len(self.good("wait", one["id"])["result"]), 2 << 20)

    def test_namespaces_do_not_see_each_other(self):
        id = self.enqueue("job", "--namespace", "tenant", "--task-id", "k")
        self.assertEqual(self.good("list"), [])
        self.assertEqual([e["id"] for e in self.good("list", "--namespace", "tenant")], [id])
        self.refused(MISSING, "NotFound", "show", id)
        self.refused(MISSING, "NotFound", "cancel", id)
        self.assertNotEqual(self.enqueue("job", "--task-id", "k"), id)
        self.assertEqual(self.good("show", id, "--namespace", "tenant")["namespace"], "tenant")

    def test_a_draining_queue_takes_nothing_new(self):
        self.good("queue", "drain", "q", "--create")
        self.refused(CONFLICT, "QueueDraining", "enqueue", "job", "--queue", "q")
        self.good("queue", "resume", "q")
        self.enqueue("job", "--queue", "q")


@on_stores
class Bulk:
    def lines(self, *items):
        return "".join(json.dumps(item) + "\n" for item in items)

    def test_lines_are_admitted_and_counted(self):
        text = self.lines(*({"task": "load", "input": {"n": n}, "queue": "imports"} for n in range(12_000)))
        answer = self.good("enqueue", "--bulk", "-", input=text)
        self.assertEqual([answer[k] for k in ("admitted", "deduplicated", "rejected", "lines")], [12_000, 0, 0, 12_000])
        self.assertEqual(self.good("queue", "show", "imports")["ready"], 12_000)

    def test_members_of_a_line_and_defaults_from_flags(self):
        line = {"task": "a", "input": [1.0], "task_id": "k", "priority": 3, "delay": "1h", "max_attempts": 2, "tags": ["t"],
                "metadata": {"m": 1}, "timeout": "5s"}
        with open(self.path("lines"), "w", encoding="utf-8") as file:
            file.write(self.lines(line, line) + "\n" + '{"input":2}')
        answer = self.good("enqueue", "fallback", "--queue", "q", "--bulk", self.path("lines"))
        self.assertEqual([answer[k] for k in ("admitted", "deduplicated", "rejected", "lines")], [2, 1, 0, 3])
        shown = self.good("show", "--task", "a", "--task-id", "k")
        self.assertEqual((shown["queue"], shown["priority"], shown["max_attempts"], shown["tags"]), ("q", 3, 2, ["t"]))
        self.assertEqual([e["task"] for e in self.good("list", "--task", "fallback")], ["fallback"])

    def test_each_prints_an_admission_a_line(self):
        answer = self.hapax("enqueue", "--bulk", "-", "--each", input=self.lines({"task": "a", "task_id": "k"}, {"task": "a", "task_id": "k"}))
        first, second = [json.loads(line) for line in answer.out.splitlines()[:2]]
        self.assertEqual((first["line"], first["created"], second["line"], second["created"]), (1, True, 2, False))
        self.assertEqual(first["id"], second["id"])
        # A bulk line is answered like a single request.
        self.assertNotIn("deduplicated_from", first)
        self.assertEqual(second["deduplicated_from"], self.show(first["id"])["created_at"])

    def test_the_retry_object_that_show_prints_is_taken_by_a_line(self):
        first = self.good("enqueue", "a", "--retry-base", "2s", "--retry-cap", "1m")["id"]
        retry = self.show(first)["retry"]
        self.good("enqueue", "--bulk", "-", input=self.lines({"task": "b", "task_id": "k", "retry": retry}))
        self.assertEqual(self.good("show", "--task", "b", "--task-id", "k")["retry"], retry)

    def test_a_bad_line_is_named_and_its_batch_is_not_written(self):
        for bad in ("{", '"text"', "[]", '{"input":1}', '{"task":"a","inptu":1}', '{"task":1}', '{"task":"a","priority":"high"}',
                    '{"task":"a","delay":"-1s"}', '{"task":"a","task_id":""}', '{"task":"a","task_id":"x","idempotency_key":"y"}'):
            with self.subTest(bad=bad):
                answer = self.hapax("enqueue", "--bulk", "-", "--json", input='{"task":"a"}\n{"task":"b"}\n' + bad + '\n{"task":"c"}\n')
                self.assertEqual(answer.code, DATA, answer)
                self.assertIn("line 3", answer.json["detail"])
                self.assertIn("0 of the lines before were admitted", answer.json["detail"])
        self.assertEqual(self.good("list"), [])

    def test_batches_before_a_bad_line_stay(self):
        text = self.lines(*({"task": "a"} for _ in range(5_001))) + "oops\n"
        answer = self.hapax("enqueue", "--bulk", "-", "--json", input=text)
        self.assertEqual(answer.code, DATA)
        self.assertIn("line 5002", answer.json["detail"])
        self.assertIn("5000 of the lines before were admitted", answer.json["detail"])
        self.assertEqual(self.good("queue", "show", "default")["ready"], 5_000)

    def test_a_refused_key_is_counted_and_told(self):
        text = self.lines({"task": "a", "task_id": "k", "input": 1}, {"task": "a", "task_id": "k", "input": 2}, {"task": "a"})
        answer = self.hapax("enqueue", "--bulk", "-", "--json", input=text)
        self.assertEqual(answer.code, CONFLICT, answer)
        self.assertEqual([answer.json[k] for k in ("admitted", "rejected")], [2, 1])
        self.assertEqual([(r["line"], r["error"]) for r in answer.json["refusals"]], [(2, "IdempotencyMismatch")])

    def test_a_missing_file(self):
        self.refused(MISSING, "MissingFile", "enqueue", "--bulk", "/no/such/file")


if __name__ == "__main__":
    unittest.main()
