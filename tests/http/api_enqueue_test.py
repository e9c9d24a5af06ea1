"""Enqueueing over HTTP: admissions, identities and conflicts, keys in headers and bodies, batches."""

import json
import socket
import threading
import unittest

from _api import on_stores
from _server import request


@on_stores
class Enqueue:
    def test_created(self):
        answer = self.api.post(f"/v1/tasks/{self.task}/executions", {"input": {"a": 1}, "queue": self.queue}, expect=201)
        made = answer.json
        self.assertEqual({"created": made["created"], "status": made["status"], "run": made["run"]},
                         {"created": True, "status": "pending", "run": 1})
        self.assertEqual(answer.headers["location"], "/v1/executions/" + made["id"])
        shown = self.api.get(answer.headers["location"]).json
        self.assertEqual((shown["task"], shown["queue"], shown["input"]), (self.task, self.queue, {"a": 1}))

    def test_a_body_is_not_needed(self):
        self.assertTrue(self.api.post(f"/v1/tasks/{self.task}/executions", expect=201).json["created"])

    def test_a_duplicate_is_409_with_facts(self):
        first = self.api.enqueue(self.task, {"a": 1}, idempotency_key="k")
        answer = self.api.post(f"/v1/tasks/{self.task}/executions", {"input": {"a": 1}, "idempotency_key": "k"}, expect=409)
        problem = self.problem(answer, 409, "TaskAlreadyExists", "Task with ID 'k' is already pending")
        self.assertEqual(problem["existing_execution_id"], first["id"])
        self.assertEqual(problem["existing_status"], "pending")
        self.assertIn("existing_created_at", problem)
        self.assertEqual(answer.headers["retry-after"], "1")

    def test_return_existing(self):
        first = self.api.enqueue(self.task, {"a": 1}, idempotency_key="k", queue=self.queue)
        again = self.api.enqueue(self.task, {"a": 1}, idempotency_key="k", queue=self.queue,
                                 on_conflict="return_existing", expect=200)
        self.assertEqual((again["id"], again["created"]), (first["id"], False))
        self.assertIn("deduplicated_from", again)
        self.assertNotIn("result", again)
        [claim] = self.api.claim(self.queue)["claims"]
        self.api.complete(claim, {"paid": True})
        again = self.api.enqueue(self.task, {"a": 1}, idempotency_key="k", on_conflict="return_existing", expect=200)
        self.assertEqual((again["status"], again["result"]), ("completed", {"paid": True}))
        answer = self.api.post(f"/v1/tasks/{self.task}/executions", {"input": {"a": 1}, "idempotency_key": "k"}, expect=409)
        problem = self.problem(answer, 409, "TaskAlreadyCompleted")
        self.assertEqual(problem["result"], {"paid": True})
        self.assertIn("completed_at", problem)
        self.assertNotIn("retry-after", answer.headers)

    def test_mismatch_is_422(self):
        self.api.enqueue(self.task, {"a": 1}, idempotency_key="k")
        for policy in ("reject", "return_existing"):
            answer = self.api.ask("POST", f"/v1/tasks/{self.task}/executions",
                                  {"input": {"a": 2}, "idempotency_key": "k", "on_conflict": policy})
            self.problem(answer, 422, "IdempotencyMismatch")

    def test_wait(self):
        first = self.api.enqueue(self.task, idempotency_key="k", queue=self.queue)
        still = self.api.enqueue(self.task, idempotency_key="k", on_conflict="wait", wait_timeout="100ms", expect=200)
        self.assertEqual((still["id"], still["status"]), (first["id"], "pending"))
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(
            self.api.enqueue(self.task, idempotency_key="k", on_conflict="wait", wait_timeout="30s", expect=200)))
        waiter.start()
        [claim] = self.api.claim(self.queue)["claims"]
        self.api.complete(claim, 7)
        waiter.join(30)
        self.assertEqual((answers[0]["status"], answers[0]["result"]), ("completed", 7))

    def test_the_retry_object_of_an_execution_is_taken_by_a_request(self):
        first = self.api.enqueue(self.task, retry={"base": "2s", "cap": "10m", "multiplier": 3, "jitter": "none"})
        shown = self.api.get("/v1/executions/" + first["id"]).json["retry"]
        self.assertEqual((shown["base"], shown["cap"], shown["multiplier"], shown["jitter"]), ("2s", "10m", 3, "none"))
        again = self.api.enqueue(self.task, retry=shown)
        self.assertEqual(self.api.get("/v1/executions/" + again["id"]).json["retry"], shown)
        for body in ({"retry": {"base": "soon"}}, {"retry": {"first": "1s"}}, {"retry": {"base": "1s"}, "retry_cap": "1m"}):
            self.problem(self.api.ask("POST", f"/v1/tasks/{self.task}/executions", body), 400, "InvalidArgument", "retry")

    def test_a_wait_that_no_answer_keeps_is_refused(self):
        made = self.api.enqueue(self.task, idempotency_key="k", queue=self.queue)["id"]
        task = f"/v1/tasks/{self.task}/executions"
        for method, path, body in (("GET", f"/v1/executions/{made}/result?wait=99h", None),
                                   ("POST", "/v1/claims", {"queues": ["none"], "wait": "99h", "worker": "w"}),
                                   ("POST", f"/v1/executions/{made}/queries/q?wait=99h", {}),
                                   ("POST", task, {"idempotency_key": "k", "on_conflict": "wait", "wait_timeout": "99h"})):
            with self.subTest(path):
                self.problem(self.api.ask(method, path, body), 400, "InvalidArgument", "wait", "5m")

    def test_a_taken_id_of_a_workflow_is_told_as_a_workflow(self):
        self.api.post("/v1/workflows/flow/executions", {"workflow_id": "w", "queue": self.queue}, expect=201)
        answer = self.api.ask("POST", "/v1/workflows/flow/executions", {"workflow_id": "w", "queue": self.queue})
        self.problem(answer, 409, "TaskAlreadyExists", "Workflow with ID 'w'")

    def test_terminate_existing(self):
        first = self.api.enqueue(self.task, 1, idempotency_key="k")
        second = self.api.enqueue(self.task, 2, idempotency_key="k", on_conflict="terminate_existing")
        self.assertEqual((second["created"], second["run"]), (True, 2))
        self.assertEqual(self.api.get("/v1/executions/" + first["id"]).json["status"], "cancelled")

    def test_the_header_is_the_key(self):
        def ask(value, body=None, expect=201):
            return self.api.ask("POST", f"/v1/tasks/{self.task}/executions", body or {}, expect=expect,
                                headers={"Idempotency-Key": value})

        made = ask('"charge-1"').json
        self.assertEqual(self.api.get("/v1/executions/" + made["id"]).json["task_id"], "charge-1")
        ask("charge-1", expect=409)  # an unquoted key is the same key
        ask('"charge-1";p=1', expect=409)
        ask('"a \\"b\\" \\\\"')
        ask('"charge-2"', {"idempotency_key": "charge-2"})
        for value, body in (('"charge-3"', {"idempotency_key": "other"}), ('"open', None), ('"a"b', None),
                            ('"', None), ('"\\x"', None)):
            answer = ask(value, body, expect=400)
            self.assertIn(answer.json["error"], ("InvalidIdempotencyKey", "InvalidArgument"))
            self.assertIn("dempotency", answer.json["detail"])

    def test_two_key_headers(self):
        answer = self.api.server.ask("POST", f"/v1/tasks/{self.task}/executions", "Idempotency-Key: a",
                                     "Idempotency-Key: b", "Content-Type: application/json", body="{}")
        self.assertEqual((answer.status, answer.json["error"]), (400, "InvalidIdempotencyKey"))

    def test_bad_keys(self):
        for key in ("", "x" * 256, "a\nb", "a\u0000b", "\u0085"):
            answer = self.api.ask("POST", f"/v1/tasks/{self.task}/executions", {"idempotency_key": key})
            self.problem(answer, 400, "InvalidIdempotencyKey", "idempotency_key: ")
        self.api.enqueue(self.task, idempotency_key="x" * 255)

    def test_a_key_that_is_required(self):
        self.api.put(f"/v1/tasks/{self.task}", {"identity_strategy": "caller_provided"}, expect=201)
        answer = self.api.ask("POST", f"/v1/tasks/{self.task}/executions", {"input": 1})
        self.problem(answer, 400, "IdempotencyKeyRequired", self.task)
        self.api.enqueue(self.task, 1, idempotency_key="k")

    def test_bad_json_tells_the_byte(self):
        for body, offset in (('{"input":', 9), ('{"input":1,"input":2}', 11), ('{"input":NaN}', 9), ('{"input":1e400}', 9),
                             ('{"input":123456789012345678901234567890}', 9), ('{"input":"\\ud800"}', None), ("[1]", None),
                             ('{"input":' + "[" * 70 + "]" * 70 + "}", None)):
            answer = self.api.ask("POST", f"/v1/tasks/{self.task}/executions", body)
            self.assertEqual(answer.status, 400, answer)
            if offset is not None:
                self.problem(answer, 400, "InvalidJson", f"(at byte {offset})")
        answer = self.api.ask("POST", f"/v1/tasks/{self.task}/executions", b'{"input":"\xff"}')
        self.problem(answer, 400, "InvalidJson", "at byte 10")

    def test_integers_are_exact(self):
        made = self.api.post(f"/v1/tasks/{self.task}/executions", '{"input":9007199254740993}', expect=201).json
        self.assertIn(b'"input":9007199254740993', self.api.get("/v1/executions/" + made["id"]).body)

    def test_fields_that_cannot_be(self):
        for field, value in (("priority", 40000), ("priority", "high"), ("delay", "5"), ("delay", "-5s"),
                             ("delay", "99999999999999999d"), ("run_at", "2090-01-01T00:00:00Z"), ("run_at", "tomorrow"),
                             ("max_attempts", 0), ("on_conflict", "maybe"), ("reuse", "often"), ("tags", "x"),
                             ("timeout", "1 hour"), ("weight", 0), ("wait_timeout", "x"), ("queue", ""), ("queue", 7),
                             ("metadata", [1])):
            answer = self.api.ask("POST", f"/v1/tasks/{self.task}/executions", {field: value})
            problem = self.problem(answer, 400, "InvalidArgument", field)
            self.assertEqual(problem["field"], field)
            if not isinstance(value, str):
                self.assertIn(json.dumps(value, separators=(",", ":")), problem["detail"].replace(", ", ","), "what came is told")
        answer = self.api.ask("POST", f"/v1/tasks/{self.task}/executions", {"prioritty": 1})
        self.problem(answer, 400, "InvalidArgument", 'did you mean "priority"?')
        self.assertEqual(self.api.get(f"/v1/executions?task={self.task}").json["executions"], [])

    def test_an_input_over_the_limit(self):
        answer = self.api.ask("POST", f"/v1/tasks/{self.task}/executions", {"input": "x" * (1 << 20)})
        self.problem(answer, 413, "PayloadTooLarge", "input", "1048576")

    def test_a_trace_is_carried(self):
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        self.api.enqueue(self.task, queue=self.queue, headers={"traceparent": trace, "tracestate": "a=1,b=2"})
        [claim] = self.api.claim(self.queue)["claims"]
        self.assertEqual((claim["traceparent"], claim["tracestate"]), (trace, "a=1,b=2"))
        made = self.api.enqueue(self.task, queue=self.queue, traceparent=trace, tracestate="c=3", headers={"tracestate": "a=1"})
        self.assertEqual(self.api.get("/v1/executions/" + made["id"]).json["tracestate"], "c=3")

    def test_a_tracestate_never_refuses_work(self):
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        for sent in ("=", "A=b", "a=" + "x" * 600, 5, ["a=b"]):
            made = self.api.enqueue(self.task, queue=self.queue, traceparent=trace, tracestate=sent)
            self.assertIsNone(self.api.get("/v1/executions/" + made["id"]).json["tracestate"], sent)
        made = self.api.enqueue(self.task, queue=self.queue, headers={"tracestate": "a=b"})
        self.assertIsNone(self.api.get("/v1/executions/" + made["id"]).json["tracestate"], "without a traceparent")

    def test_trace_context_never_refuses_work(self):
        trace = "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        read = {"cc" + trace + "-x": "00" + trace, "cc" + trace: "00" + trace, "ff" + trace: None, "00" + trace + "-x": None,
                "x": None, "": None, 5: None, "x" * 5000: None}
        path = f"/v1/tasks/{self.task}/executions"
        for sent, carried in read.items():
            made = [self.api.post(path, {"traceparent": sent, "queue": self.queue}, expect=201)]
            if isinstance(sent, str):
                made.append(self.api.post(path, {"queue": self.queue}, headers={"traceparent": sent}, expect=201))
            for one in made:
                self.assertEqual(self.api.get("/v1/executions/" + one.json["id"]).json["traceparent"], carried, sent)

    def test_a_draining_queue(self):
        self.api.post(f"/v1/queues/{self.queue}/drain", {"create": True})
        answer = self.api.ask("POST", f"/v1/tasks/{self.task}/executions", {"queue": self.queue})
        self.problem(answer, 409, "QueueDraining")

    def test_debounce(self):
        first = self.api.enqueue(self.task, 1, idempotency_key="k", debounce="1h")
        second = self.api.enqueue(self.task, 2, idempotency_key="k", debounce="1h", expect=200)
        self.assertEqual((second["id"], second["created"]), (first["id"], False))
        self.assertEqual(self.api.get("/v1/executions/" + first["id"]).json["input"], 2)

    def test_what_has_no_effect_under_a_mode_is_refused(self):
        path = f"/v1/tasks/{self.task}/executions"
        for mode in {"throttle": "1h"}, {"debounce": "1h"}, {"keep_last": True}:
            asked = {"idempotency_key": "k", **mode}
            self.problem(self.api.ask("POST", path, {**asked, "on_conflict": "terminate_existing"}), 400, "InvalidArgument", "on_conflict")
            self.problem(self.api.ask("POST", path, {**asked, "reuse": "reject"}), 400, "InvalidArgument", "reuse")
        self.problem(self.api.ask("POST", path, {"idempotency_key": "k", "keep_last": True, "on_conflict": "reject"}), 400,
                     "InvalidArgument", "on_conflict")
        kept = self.api.enqueue(self.task, 1, idempotency_key="k", keep_last=True, queue=self.queue)
        self.assertEqual(self.api.enqueue(self.task, 2, idempotency_key="k", keep_last=True, queue=self.queue, expect=200)["id"], kept["id"])
        elsewhere = self.api.ask("POST", path, {"idempotency_key": "k", "keep_last": True, "queue": self.queue + "-b"})
        self.problem(elsewhere, 409, "TaskAlreadyExists", "ask for the same queue")

    def test_identity_says_what_an_enqueue_would_meet(self):
        path = f"/v1/tasks/{self.task}/identity"
        self.assertEqual(self.api.post(path, {"idempotency_key": "k", "input": 1}).json["would"], "created")
        made = self.api.enqueue(self.task, 1, idempotency_key="k")
        told = self.api.post(path, {"idempotency_key": "k", "input": 1}).json
        self.assertEqual((told["would"], told["holder"]["id"]), ("TaskAlreadyExists", made["id"]))

    def test_workflows(self):
        path = "/v1/workflows/process_order/executions"
        key = self.task
        first = self.api.post(path, {"workflow_id": key, "input": {"id": "456"}}, expect=201).json
        again = self.api.post(path, {"workflow_id": key, "input": {"id": "456"}, "on_conflict": "return_existing"}).json
        self.assertEqual((again["id"], again["created"]), (first["id"], False))
        self.assertEqual(self.api.get("/v1/executions/" + first["id"]).json["kind"], "workflow")
        self.problem(self.api.ask("POST", path, {"input": 1}), 400, "InvalidArgument", "workflow_id")
        self.problem(self.api.ask("POST", path, {"workflow_id": key, "input": {"id": "457"}}), 422, "IdempotencyMismatch")

    def test_a_workflow_takes_nothing_that_only_tasks_have(self):
        for member, value in {"keep_last": True, "debounce": "1h", "throttle": "1h", "ordering_key": "k", "concurrency_key": "k",
                              "weight": 2, "max_attempts": 3, "retry_base": "1s", "retry_cap": "1s", "retry": {}, "timeout": "1s"}.items():
            with self.subTest(member):
                answer = self.api.ask("POST", "/v1/workflows/process_order/executions", {"workflow_id": self.task, member: value})
                self.problem(answer, 400, "InvalidArgument", member, "is for tasks")
        whole = {"workflow_id": self.task, "input": 1, "queue": self.queue, "priority": 3, "delay": "1h", "deadline": "2h", "tags": ["a"],
                 "metadata": {"a": 1}, "reuse": "allow", "on_conflict": "reject"}
        self.api.post("/v1/workflows/process_order/executions", whole, expect=201)

    def test_fields_are_named_as_they_were_given(self):
        def told(path, body):
            return self.api.ask("POST", path, body).json["detail"]

        task, workflow = f"/v1/tasks/{self.task}/executions", f"/v1/workflows/{self.task}/executions"
        self.assertTrue(told(task, {"idempotency_key": ""}).startswith("idempotency_key:"))
        self.assertTrue(told(workflow, {"workflow_id": ""}).startswith("workflow_id:"))
        self.assertTrue(told(task, {"timeout": "0"}).startswith("timeout:"))
        self.assertIn("high", told(task, {"priority": "high"}))
        made = self.api.post(workflow, {"workflow_id": "w", "queue": self.queue}, expect=201).json["id"]
        self.assertIn("Workflow with ID 'w'", told(workflow, {"workflow_id": "w", "queue": self.queue}))
        self.assertTrue(told(f"/v1/executions/{made}/fork", {"workflow_id": "", "steps": 0}).startswith("workflow_id:"))
        self.assertTrue(told(f"/v1/executions/{made}/signals/s?once=", {}).startswith("once:"))

    def test_herd(self):
        answers = []
        def ask():
            answers.append(self.api.ask("POST", f"/v1/tasks/{self.task}/executions",
                                        {"input": 1, "idempotency_key": "k", "on_conflict": "return_existing"}).json)
        threads = [threading.Thread(target=ask) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(sum(answer["created"] for answer in answers), 1)
        self.assertEqual(len({answer["id"] for answer in answers}), 1)


@on_stores
class Batch:
    NDJSON = {"Content-Type": "application/x-ndjson"}

    def send(self, *lines):
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n"
        answer = self.api.post("/v1/executions/batch", text, headers=self.NDJSON)
        told = [json.loads(line) for line in answer.body.splitlines()]
        for one in told:
            self.api.document.check_schema("BatchAnswer", one)
        return told

    def test_answers_in_order(self):
        told = self.send({"task": self.task, "input": 1, "idempotency_key": "a"}, "{bad",
                         {"task": self.task, "input": 1, "idempotency_key": "a"}, "",
                         {"task": self.task, "input": 2, "idempotency_key": "a"}, {"input": 1},
                         {"task": self.task, "input": 1, "idempotency_key": "a", "on_conflict": "return_existing"},
                         {"task": self.task, "delay": "soon"})
        self.assertEqual([one["line"] for one in told], [1, 2, 3, 5, 6, 7, 8])
        self.assertTrue(told[0]["created"])
        self.assertEqual([one.get("error") for one in told[1:5]],
                         ["InvalidJson", "TaskAlreadyExists", "IdempotencyMismatch", "InvalidArgument"])
        self.assertIn("at byte 1", told[1]["detail"])
        self.assertEqual(told[2]["existing_execution_id"], told[0]["id"])
        self.assertEqual((told[5]["id"], told[5]["created"]), (told[0]["id"], False))
        self.assertIn("delay", told[6]["detail"])
        self.assertEqual(len(self.api.get(f"/v1/executions?task={self.task}").json["executions"]), 1)

    def test_many(self):
        lines = [json.dumps({"task": self.task, "queue": self.queue, "input": number}) for number in range(12_000)]
        answer = self.api.post("/v1/executions/batch", "\n".join(lines), headers=self.NDJSON)
        told = [json.loads(line) for line in answer.body.splitlines()]
        self.assertEqual([one["line"] for one in told], list(range(1, 12_001)))
        self.assertTrue(all(one["created"] for one in told))
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").json["ready"], 12_000)

    def test_a_line_over_the_limit_is_answered_in_its_place(self):
        one = json.dumps({"task": self.task, "queue": self.queue})
        long = json.dumps({"task": self.task, "queue": self.queue, "input": "x" * (3 << 20)})
        answer = self.api.post("/v1/executions/batch", "\n".join([one] * 6000 + [long, one, long]), headers=self.NDJSON)
        told = [json.loads(line) for line in answer.body.splitlines()]
        self.assertEqual([line["line"] for line in told], list(range(1, 6004)))
        self.assertEqual([(line["line"], line["error"], line["status"]) for line in told if "error" in line],
                         [(6001, "PayloadTooLarge", 413), (6003, "PayloadTooLarge", 413)])
        self.assertEqual(self.api.get(f"/v1/queues/{self.queue}").json["ready"], 6001)

    def test_a_body_that_breaks_off_still_tells_which_lines_were_admitted(self):
        line = (json.dumps({"task": self.task, "queue": self.queue}) + "\n").encode()
        head = ("POST /v1/executions/batch HTTP/1.1", f"Hapax-Namespace: {self.api.ns or 'default'}",
                "Content-Type: application/x-ndjson")
        whole = line * 6000
        chunk = f"{len(whole):x}\r\n".encode() + whole + b"\r\n"
        broken = {"malformed chunk": (request(*head, "Transfer-Encoding: chunked", body=chunk + b"zz\r\n"), False),
                  "early end": (request(*head, f"Content-Length: {len(whole) + 10}", body=whole), True)}
        for name, (data, ends) in broken.items():
            with self.subTest(name), self.api.server.connect(timeout=60) as client:
                before = self.ready()
                client.send(data)
                if ends:
                    client.socket.shutdown(socket.SHUT_WR)
                answer = client.answer()
                self.assertEqual(answer.status, 200, answer)
                told = [json.loads(one) for one in answer.body.splitlines()]
                admitted = [one for one in told if one.get("created")]
                self.assertEqual([one["line"] for one in told], list(range(1, 6002)))
                self.assertEqual(len(admitted), 5000)
                self.assertEqual([one["line"] for one in admitted], list(range(1, 5001)))
                for one in told[5000:]:
                    self.assertEqual((one["error"], one["status"]), ("BadRequest", 400))
                    self.assertIn("not admitted", one["detail"])
                    self.api.document.check_schema("BatchAnswer", one)
                self.assertEqual(self.ready() - before, 5000)

    def test_a_body_that_breaks_off_before_anything_was_admitted_is_400(self):
        data = request("POST /v1/executions/batch HTTP/1.1", "Content-Type: application/x-ndjson", "Transfer-Encoding: chunked",
                       body=b"zz\r\n")
        self.assertEqual(self.api.server.raw(data).status, 400)

    def ready(self):
        queues = self.api.get("/v1/queues").json["queues"]
        return sum(queue["ready"] for queue in queues if queue["queue"] == self.queue)

    def test_nothing(self):
        self.assertEqual(self.api.post("/v1/executions/batch", "", headers=self.NDJSON).body, b"")

    def test_another_content_type(self):
        self.assertEqual(self.api.ask("POST", "/v1/executions/batch", "{}").status, 415)


if __name__ == "__main__":
    unittest.main()
