"""The routes that `hapax --server` needs: finding by name, pages by ID, atomic batches, the overview, opening
and closing sessions."""

import json
import unittest
import urllib.parse

from _api import UUID, on_stores

NDJSON = {"Content-Type": "application/x-ndjson"}


@on_stores
class ClientRoutes:
    def test_find(self):
        made = self.api.enqueue(self.task, 1, idempotency_key="k")["id"]
        started = self.api.post("/v1/workflows/w/executions", {"workflow_id": self.task}, expect=201).json["id"]
        self.assertEqual(self.api.get(f"/v1/executions/find?task={self.task}&task_id=k").json, {"id": made})
        self.assertEqual(self.api.get(f"/v1/executions/find?task={self.task}&idempotency_key=k").json, {"id": made})
        self.assertEqual(self.api.get(f"/v1/executions/find?workflow=w&workflow_id={self.task}").json, {"id": started})
        self.problem(self.api.ask("GET", f"/v1/executions/find?task={self.task}&task_id=other"), 404, "NotFound", "holds the key 'other'")
        run = urllib.parse.quote("activity-a:2026-03-01T09:00:00+00:00")
        self.problem(self.api.ask("GET", "/v1/executions/find?run=" + run), 404, "NotFound")
        for query in ("", "?task=t", "?task_id=k", "?task=t&task_id=k&run=r", "?task=t&workflow_id=x", "?workflow=w", "?run=x"):
            self.problem(self.api.ask("GET", "/v1/executions/find" + query), 400, "InvalidArgument")

    def test_pages_by_id(self):
        ids = [self.api.enqueue(self.task, n)["id"] for n in range(3)][::-1]
        page = self.api.get(f"/v1/executions?task={self.task}&limit=2&after={ids[0]}").json
        self.assertEqual([each["id"] for each in page["executions"]], ids[1:])
        self.problem(self.api.ask("GET", "/v1/executions?after=x"), 400, "InvalidArgument", "id")
        cursor = self.api.get(f"/v1/executions?task={self.task}&limit=1").json["next"]
        self.problem(self.api.ask("GET", f"/v1/executions?task={self.task}&after={UUID}&cursor={urllib.parse.quote(cursor)}"), 400,
                     "InvalidArgument", "after")

    def batch(self, *lines, query="?atomic=true"):
        return self.api.ask("POST", "/v1/executions/batch" + query, "\n".join(lines), headers=NDJSON)

    def test_an_atomic_batch(self):
        good = [json.dumps({"task": self.task, "input": n}) for n in range(3)]
        answers = [json.loads(line) for line in self.batch(*good).body.splitlines()]
        self.assertEqual([each["line"] for each in answers], [1, 2, 3])
        for bad in ('{"task":"x","delay":"soon"}', "{", '{"task":"x","input":1,"task_id":""}', "{}"):
            refused = self.problem(self.batch(good[0], "", bad, good[1]), 400, *(("InvalidJson",) if bad == "{" else
                                   ("InvalidIdempotencyKey",) if "task_id" in bad else ("InvalidArgument",)))
            self.assertEqual(refused["line"], 3)
        self.assertEqual(len(self.api.get(f"/v1/executions?task={self.task}").json["executions"]), 3)
        too_many = self.batch(*[good[0]] * 5001)
        self.problem(too_many, 400, "InvalidArgument", "5000 lines")
        self.assertEqual(len(self.api.get(f"/v1/executions?task={self.task}").json["executions"]), 3)
        self.problem(self.batch(good[0], query="?atomic=perhaps"), 400, "InvalidArgument", "atomic")

    def test_overview(self):
        self.api.enqueue(self.task, 1, queue=self.queue)
        held = self.api.claim(self.queue, worker="billing-7", lease="1m")
        told = self.api.get("/v1/overview").json
        self.assertEqual([queue["running"] for queue in told["queues"] if queue["queue"] == self.queue], [1])
        [session] = [each for each in told["sessions"] if each["worker"] == "billing-7" and self.queue in each["queues"]]
        self.assertEqual((session["id"], session["running"]), (held["session"], 1))

    def test_a_session_is_opened_and_closed(self):
        self.api.enqueue(self.task, 1, queue=self.queue)
        opened = self.api.post("/v1/claims/open", {"queues": [self.queue], "lease": "1m", "worker": "w"}).json
        self.assertEqual(opened["lease"], "1m")
        self.problem(self.api.ask("POST", "/v1/claims/open", {"queues": []}), 400, "InvalidArgument", "queues")
        self.problem(self.api.ask("POST", "/v1/claims/open", {"queues": ["q"], "limit": 1}), 400, "InvalidArgument", "limit")
        session = opened["session"]
        [claim] = self.api.claim(self.queue, session=session)["claims"]
        self.assertEqual((claim["namespace"], claim["lost"], claim["deadline_in"]), ("default", 0, None))
        self.assertEqual(self.api.post("/v1/claims/close", {"session": session}).json, {"closed": session})
        # The execution is given back with its attempt unspent.
        [again] = self.api.claim(self.queue)["claims"]
        self.assertEqual((again["id"], again["attempt"], again["lost"]), (claim["id"], 1, 0))
        self.assertEqual(self.api.finish({"id": claim["id"], "fence": claim["fence"], "status": "completed"}, expect=409)["error"], "StaleLease")
        lost = self.problem(self.api.ask("POST", "/v1/claims/extend", {"session": session}), 409, "StaleLease")
        self.assertTrue(lost["session_lost"])
        self.problem(self.api.ask("POST", "/v1/claims/close", {"session": UUID}), 409, "StaleLease")
        self.problem(self.api.ask("POST", "/v1/claims/close", {}), 400, "InvalidArgument", "session")


if __name__ == "__main__":
    unittest.main()
