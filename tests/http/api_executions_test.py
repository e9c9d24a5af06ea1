"""Reading executions and acting on them: lists, cursors, results, cancel, retry, signals, queries, explain."""

import threading
import time
import unittest
import urllib.parse

from _api import UUID, on_stores


@on_stores
class Looking:
    def test_one(self):
        made = self.api.enqueue(self.task, {"a": 1}, queue=self.queue, tags=["t"], priority=5)
        shown = self.api.get("/v1/executions/" + made["id"]).json
        self.assertEqual((shown["status"], shown["priority"], shown["tags"], shown["attempts"]), ("pending", 5, ["t"], []))
        self.assertEqual((shown["parent"], shown["parent_workflow_id"]), (None, None))
        self.assertEqual(self.api.get(f"/v1/executions/{made['id']}/attempts").json, {"id": made["id"], "attempts": []})
        self.assertEqual(self.api.get(f"/v1/executions/{made['id']}/journal").json, {"id": made["id"], "journal": []})
        reasons = self.api.get(f"/v1/executions/{made['id']}/explain").json["reasons"]
        self.assertIn("no_worker", [reason["code"] for reason in reasons])

    def test_one_that_is_not_there(self):
        for path in ("", "/attempts", "/journal", "/result", "/explain"):
            for id in (UUID, "x", "..%2fqueues"):
                self.problem(self.api.ask("GET", f"/v1/executions/{id}{path}"), 404, "NotFound")

    def test_filters(self):
        one = self.api.enqueue(self.task, {"word": "needle"}, queue=self.queue, tags=["red"], metadata={"customer": "ada", "n": 7})["id"]
        two = self.api.enqueue(self.task, {"word": "straw"}, queue=self.queue, idempotency_key="k", delay="1h")["id"]
        [claim] = self.api.claim(self.queue)["claims"]
        def found(query):
            return [each["id"] for each in self.api.get(f"/v1/executions?task={self.task}&{query}").json["executions"]]
        self.assertEqual(found("limit=10"), [two, one])
        self.assertEqual(found("status=running"), [one])
        self.assertEqual(found("status=pending,running"), [two, one])
        self.assertEqual(found("queue=elsewhere"), [])
        self.assertEqual(found("tag=red"), [one])
        self.assertEqual(found("metadata=customer%3Dada"), [one])
        self.assertEqual(found("metadata=customer%3Dada&metadata=n%3D7"), [one])
        self.assertEqual(found("metadata=customer%3Dada&metadata=n%3D8"), [])
        self.problem(self.api.ask("GET", "/v1/executions?metadata=customer"), 400, "InvalidArgument", "metadata")
        self.assertEqual(found("text=needle"), [one])
        self.assertEqual(found("idempotency_key=k"), [two])
        identity = self.api.get("/v1/executions/" + two).json["identity"]
        self.assertEqual(found("identity=" + identity), [two])
        self.assertEqual(found("created_from=2100-01-01T00:00:00Z"), [])
        self.assertEqual(found("created_before=2100-01-01T00:00:00Z"), [two, one])
        page = self.api.get(f"/v1/executions?task={self.task}&payloads=true").json["executions"]
        self.assertEqual([each["input"]["word"] for each in page], ["straw", "needle"])
        self.assertEqual(claim["id"], one)

    def test_a_key_of_a_queue_is_found_with_its_queue(self):
        self.api.put(f"/v1/tasks/{self.task}", {"identity_scope": "queue"}, expect=None)
        there = self.api.enqueue(self.task, queue=self.queue, idempotency_key="k")["id"]
        def found(query):
            return [each["id"] for each in self.api.get(f"/v1/executions?task={self.task}&idempotency_key=k{query}").json["executions"]]
        self.assertEqual(found(f"&queue={self.queue}"), [there])
        self.assertEqual(found(""), [])
        answer = self.api.ask("POST", f"/v1/queues/{self.queue}/move", {"to": self.queue + "-2", "create": True})
        self.problem(answer, 400, "InvalidArgument", "from")

    def test_filters_of_acts_may_ask_for_metadata(self):
        one = self.api.enqueue(self.task, metadata={"customer": "ada"})["id"]
        self.api.enqueue(self.task, metadata={"customer": "bob"})
        told = self.api.post("/v1/executions/cancel", {"filter": {"task": self.task, "metadata": {"customer": "ada"}}}).json
        self.assertEqual([each["id"] for each in told["executions"]], [one])
        for wrong in ("ada", {"customer": 7}, ["customer"]):
            answer = self.api.ask("POST", "/v1/executions/cancel", {"filter": {"metadata": wrong}})
            self.assertEqual(answer.status, 400, answer)

    def test_pages(self):
        made = [self.api.enqueue(self.task, number)["id"] for number in range(7)]
        seen, cursor = [], None
        for _ in range(10):
            query = f"/v1/executions?task={self.task}&limit=3" + (f"&cursor={cursor}" if cursor else "")
            page = self.api.get(query).json
            seen += [each["id"] for each in page["executions"]]
            cursor = page["next"]
            if cursor is None:
                break
        self.assertEqual(seen, list(reversed(made)))

    def pages(self, query):
        """All pages of a list."""
        pages, cursor = [], None
        while not pages or cursor:
            pages.append(self.api.get(query + (f"&cursor={cursor}" if cursor else "")).json)
            cursor = pages[-1]["next"]
            self.assertLess(len(pages), 100)
        return pages

    def peak(self):
        """The server's peak memory since the last call, in bytes."""
        proc = f"/proc/{self.servers[0].process.pid}"
        with open(proc + "/status", encoding="utf-8") as status:
            peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
        with open(proc + "/clear_refs", "w", encoding="utf-8") as clear:
            clear.write("5")
        return peak

    def test_lists_and_searches_are_bounded_by_the_bytes_of_payloads(self):
        large = 900_000
        made = [self.api.enqueue(self.task, ("needle" if number == 0 else "") + "x" * large, queue=self.queue)["id"]
                for number in range(80)]
        made.reverse()
        query = f"/v1/executions?task={self.task}&limit=1000"
        self.peak()
        before = self.peak()
        self.assertEqual([each["id"] for each in self.api.get(query).json["executions"]], made)
        self.assertEqual(self.api.get(f"/v1/executions/{made[0]}/explain").json["id"], made[0])
        self.assertLess(self.peak() - before, 40 * large)

        pages = self.pages(query + "&payloads=true")
        self.assertEqual([each["id"] for page in pages for each in page["executions"]], made)
        for page in pages:
            self.assertLessEqual(sum(len(each["input"]) for each in page["executions"]), (16 << 20) + 2 * large)
            self.assertNotIn("search_stopped", page)
        self.assertGreaterEqual(len(pages), 4)

        searched = self.pages(query + "&text=needle")
        self.assertEqual([each["id"] for page in searched for each in page["executions"]], made[-1:])
        self.assertEqual([page["search_stopped"] for page in searched], [True, False])

    def test_a_tampered_cursor(self):
        for number in range(3):
            self.api.enqueue(self.task, number)
        cursor = self.api.get(f"/v1/executions?task={self.task}&limit=1").json["next"]
        self.api.get(f"/v1/executions?task={self.task}&limit=2&cursor={cursor}")
        other = ("0" if cursor[0] != "0" else "1") + cursor[1:]
        for query in (f"task={self.task}&cursor={other}", f"task={self.task}&cursor={cursor[:-1]}",
                      f"task={self.task}&cursor=x", f"task={self.task}&cursor=", f"cursor={cursor}",
                      f"task={self.task}&status=failed&cursor={cursor}"):
            self.problem(self.api.ask("GET", "/v1/executions?" + query), 400, "InvalidArgument", "cursor")

    def test_bad_filters(self):
        for query, field in (("limit=0", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("status=done", "status"),
                             ("identity=xyz", "identity"), ("created_from=yesterday", "created_from"), ("parent=1", "id"),
                             ("payloads=maybe", "payloads"), ("statsu=failed", "statsu"), ("limit=1&limit=2", "limit"),
                             ("text=" + "x" * 201, "text"), ("idempotency_key=k", "task")):
            self.problem(self.api.ask("GET", "/v1/executions?" + query), 400, "InvalidArgument", field)


@on_stores
class Results:
    def test_still_going(self):
        made = self.api.enqueue(self.task, queue=self.queue)
        answer = self.api.get(f"/v1/executions/{made['id']}/result", expect=202)
        self.assertEqual(answer.json, {"id": made["id"], "status": "pending"})
        began = time.monotonic()
        self.api.get(f"/v1/executions/{made['id']}/result?wait=300ms", expect=202)
        self.assertGreater(time.monotonic() - began, 0.25)

    def test_the_end_is_told_at_once(self):
        made = self.api.enqueue(self.task, queue=self.queue)
        told = []
        waiters = [threading.Thread(target=lambda: told.append(
            self.api.get(f"/v1/executions/{made['id']}/result?wait=60s").json)) for _ in range(5)]
        for waiter in waiters:
            waiter.start()
        [claim] = self.api.claim(self.queue)["claims"]
        self.api.finish({"id": claim["id"], "fence": 1, "status": "failed", "permanent": True,
                         "error": {"type": "E", "message": "m"}})
        for waiter in waiters:
            waiter.join(30)
        self.assertEqual([(each["status"], each["error"]["message"]) for each in told], [("failed", "m")] * 5)

    def test_bad_waits(self):
        made = self.api.enqueue(self.task)
        for wait in ("5", "-1s", "x", ""):
            self.problem(self.api.ask("GET", f"/v1/executions/{made['id']}/result?wait={wait}"), 400, "InvalidArgument", "wait")

    def test_a_result_that_is_gone(self):
        self.api.put(f"/v1/queues/{self.queue}", {"retention": "100ms"})
        made = self.api.enqueue(self.task, queue=self.queue)
        self.api.complete(self.api.claim(self.queue)["claims"][0], 1)
        deadline = time.monotonic() + 20
        while self.api.ask("GET", f"/v1/executions/{made['id']}/result").status == 200:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.problem(self.api.ask("GET", f"/v1/executions/{made['id']}/result"), 410, "ResultExpired")


@on_stores
class Acting:
    def test_cancel(self):
        made = self.api.enqueue(self.task)
        told = self.api.post(f"/v1/executions/{made['id']}/cancel", {"reason": "no longer"}).json
        self.assertEqual((told["verdict"], told["status"]), ("cancelled", "cancelled"))
        self.assertEqual(self.api.get("/v1/executions/" + made["id"]).json["error"]["message"], "no longer")
        problem = self.problem(self.api.ask("POST", f"/v1/executions/{made['id']}/cancel"), 409, "WrongStatus", "cancelled")
        self.assertEqual(problem["existing_status"], "cancelled")
        self.problem(self.api.ask("POST", f"/v1/executions/{UUID}/cancel"), 404, "NotFound")
        self.problem(self.api.ask("POST", f"/v1/executions/{UUID}/cancel", {"reasn": ""}), 400, "InvalidArgument", "reasn")

    def test_cancel_by_filter(self):
        for number in range(3):
            self.api.enqueue(self.task, number, queue=self.queue)
        told = self.api.post("/v1/executions/cancel", {"filter": {"task": self.task}}).json
        self.assertEqual((told["cancelled"], len(told["executions"])), (3, 3))
        for body in ({}, {"ids": [], "all": True}, {"filter": {}}, {"ids": ["x"]}, {"filter": {"taks": "x"}}):
            self.problem(self.api.ask("POST", "/v1/executions/cancel", body), 400, "InvalidArgument")

    def test_retry(self):
        made = self.api.enqueue(self.task, 1, queue=self.queue, idempotency_key="k")
        self.problem(self.api.ask("POST", f"/v1/executions/{made['id']}/retry"), 409, "WrongStatus")
        [claim] = self.api.claim(self.queue)["claims"]
        self.api.finish({"id": claim["id"], "fence": 1, "status": "failed", "permanent": True})
        again = self.api.post(f"/v1/executions/{made['id']}/retry", {}, expect=201).json
        self.assertEqual((again["run"], again["retried_from"]), (2, made["id"]))
        self.problem(self.api.ask("POST", f"/v1/executions/{made['id']}/retry"), 409, "TaskAlreadyExists")
        [second] = self.api.claim(self.queue)["claims"]
        self.assertEqual((second["id"], second["effect_key"]), (again["id"], claim["effect_key"]))

    def test_signals_and_queries(self):
        started = self.api.post("/v1/workflows/w/executions", {"workflow_id": self.task}, expect=201).json
        path = f"/v1/executions/{started['id']}"
        self.assertEqual(self.api.post(f"{path}/signals/approve", {"by": "ada"}).json,
                         {"id": started["id"], "workflow": "w", "workflow_id": self.task, "signal": "approve"})
        self.api.post(f"{path}/signals/approve?once=a")
        self.problem(self.api.ask("POST", f"{path}/signals/approve", "{"), 400, "InvalidJson", "byte")
        self.problem(self.api.ask("POST", f"{path}/queries/state?wait=200ms"), 504, "QueryTimeout", "w")
        self.problem(self.api.ask("POST", f"{path}/queries/state", "{"), 400, "InvalidJson", "byte")
        self.problem(self.api.ask("POST", f"{path}/queries/state?wait=soon"), 400, "InvalidArgument", "wait")
        self.api.post(f"{path}/cancel")
        self.problem(self.api.ask("POST", f"{path}/signals/approve"), 409, "WrongStatus", "cancelled")
        self.problem(self.api.ask("POST", f"{path}/queries/state"), 409, "WrongStatus")
        task = self.api.enqueue(self.task)
        self.problem(self.api.ask("POST", f"/v1/executions/{task['id']}/signals/x"), 400, "InvalidArgument", "task")
        self.problem(self.api.ask("POST", f"/v1/executions/{UUID}/signals/x"), 404, "NotFound")

    def test_fork(self):
        started = self.api.post("/v1/workflows/w/executions", {"workflow_id": self.task, "input": 3}, expect=201).json
        path = f"/v1/executions/{started['id']}/fork"
        forked = self.api.post(path, {"steps": 0, "workflow_id": self.task + "-again"}, expect=201).json
        self.assertEqual(forked["forked_from"], started["id"])
        self.assertEqual(self.api.get("/v1/executions/" + forked["id"]).json["input"], 3)
        self.problem(self.api.ask("POST", path, {"steps": 5, "workflow_id": "x"}), 400, "InvalidArgument", "steps")
        self.problem(self.api.ask("POST", path, {"steps": 0}), 400, "InvalidArgument", "workflow_id")
        self.api.get(f"/v1/executions/{started['id']}/journal?format=export")


if __name__ == "__main__":
    unittest.main()
