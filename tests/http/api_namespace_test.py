"""Namespaces are isolated: every operation of the description is tried on another tenant's objects, with the
namespace chosen by header and by token. A unit test (openapi) checks that description and routes agree, so no
route is forgotten."""

import json
import subprocess
import time
import unittest
import urllib.parse

from _api import Api, on_stores
from _server import BIN, clean_environment, request

# Request bodies of operations whose path alone is not enough.
BODIES = {
    "enqueue": {"input": 1}, "startWorkflow": {"workflow_id": "x"}, "askIdentity": {}, "cancelMany": {"ids": ["{id}"]},
    "retryMany": {"ids": ["{id}"]}, "fork": {"steps": 0, "workflow_id": "x"}, "finish": {"outcomes": [
        {"id": "{id}", "fence": 1, "status": "completed"}]}, "extend": {"session": "{session}"}, "closeSession": {"session": "{session}"},
    "openSession": {"queues": ["{queue}"], "session": "{session}"},
    "claim": {"queues": ["{queue}"], "session": "{session}"}, "putTask": {"max_attempts": 2}, "putQueue": {"concurrency": 1},
    "moveQueue": {"to": "elsewhere"}, "retryDeadLetters": {"ids": ["{id}"]}, "discardDeadLetters": {"ids": ["{id}"]},
    "annotateDeadLetters": {"ids": ["{id}"], "note": "x"},
    "putActivity": {"trigger": {"type": "event", "types": ["t"]}, "target": {"task": "t"}},
    "backfillActivity": {"from": "2026-03-02", "to": "2026-03-03"},
    "sendEvents": {"specversion": "1.0", "id": "e", "source": "/s", "type": "order.theirs"},
}
QUERIES = {"findExecution": "?task={task}&task_id=secret-key"}
# These operations create or list objects of the caller's own namespace, so they succeed; their effect is checked below.
OWN = {"enqueue": 201, "startWorkflow": 201, "askIdentity": 200, "enqueueBatch": 200, "listExecutions": 200, "listTasks": 200,
       "putTask": 201, "listQueues": 200, "overview": 200, "putQueue": 200,
       "listDeadLetters": 200, "listActivities": 200, "putActivity": 201, "sendEvents": 200, "cancelMany": 200,
       "retryMany": 200, "stream": None, "getDescription": 200, "getHealth": 200, "getReadiness": 200, "getMetrics": 200}
# Another tenant's session or fence counts as stale.
STALE = {"claim": 409, "finish": 409, "extend": 409, "closeSession": 409, "openSession": 409}


def filled(value, names):
    if isinstance(value, dict):
        return {key: filled(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    return names.get(value[1:-1], value) if isinstance(value, str) and value.startswith("{") else value


class TokenApi(Api):
    """The same client, but its token decides the namespace, whatever the header says."""

    def __init__(self, server, ns, document, store):
        self.store = store
        done = subprocess.run([BIN, "token", "create", "--scopes", "enqueue,read,work,admin", "--namespace", ns, "--json"],
                              capture_output=True, check=True, timeout=60, env=clean_environment(HAPAX_STORE_URL=store))
        self.bearer = "Bearer " + json.loads(done.stdout)["token"]
        super().__init__(server, ns, document)

    def _send(self, method, path, body=None, headers=None, timeout=60):
        # The header names the other tenant's namespace and must be ignored.
        lying = {**(headers or {}), "Authorization": self.bearer}
        ns, self.ns = self.ns, getattr(self, "pretended", self.ns)
        try:
            return super()._send(method, path, body, lying, timeout)
        finally:
            self.ns = ns

    def other(self, ns):
        made = TokenApi(self.server, ns, self.document, self.store)
        made.pretended = getattr(self, "pretended", ns)
        return made


@on_stores
class Walls:
    def snapshot(self, theirs, names):
        """Everything that another tenant might have changed."""
        paths = [f"/v1/executions/{names['id']}", f"/v1/executions/{names['dead']}", f"/v1/executions/{names['workflow_run']}",
                 f"/v1/tasks/{names['task']}", f"/v1/activities/{names['activity']}", "/v1/dead-letters", "/v1/tasks",
                 f"/v1/executions?queue={names['queue']}", f"/v1/activities/{names['activity']}/runs"]
        seen = {path: theirs.get(path).json for path in paths}
        queue = theirs.get(f"/v1/queues/{names['queue']}").json
        seen["queue"] = {key: queue[key] for key in ("paused", "draining", "concurrency", "ready", "running", "dead")}
        return seen

    def test_every_operation_by_header(self):
        self.try_every_operation(self.api, self.api.other("theirs-" + self.queue))

    def test_every_operation_with_another_tenants_token(self):
        theirs = TokenApi(self.serve_apart(), "theirs-" + self.queue, self.api.document, self.apart)
        ours = TokenApi(theirs.server, "ours-" + self.queue, self.api.document, self.apart)
        ours.pretended = theirs.ns
        self.try_every_operation(ours, theirs)
        # The stream never ends, so it has its own test: its first event must be of the own namespace.
        with ours.server.connect() as client:
            client.send(request("GET /v1/stream HTTP/1.1", "Authorization: " + ours.bearer, "Hapax-Namespace: " + theirs.ns))
            client.until(b"event: ready\n")
            theirs.enqueue(self.task, 2, queue=self.queue)
            time.sleep(1.5)
            made = ours.enqueue(self.task, 3, queue=self.queue)["id"]
            client.until(b"event: execution\n")
            self.assertIn(made.encode(), client.until(b"\n\n"))

    def serve_apart(self):
        """A server on a store of its own, because the first token disables access without one."""
        schema, type(self).schema = self.schema, self.schema + "_t"
        kept, type(self).store = self.store, self.make_store()
        try:
            self.apart = self.store
            return self.serve()
        finally:
            type(self).schema, type(self).store = schema, kept

    def try_every_operation(self, api, theirs):
        dead = theirs.enqueue(self.task, 0, queue=self.queue)["id"]
        [claim] = theirs.claim(self.queue)["claims"]
        theirs.finish({"id": claim["id"], "fence": claim["fence"], "status": "failed", "permanent": True})
        run = theirs.enqueue(self.task, 1, queue=self.queue, idempotency_key="secret-key")["id"]
        held = theirs.claim(self.queue, lease="10m")
        self.assertEqual(held["claims"][0]["id"], run)
        workflow = theirs.post("/v1/workflows/w/executions", {"workflow_id": "x"}, expect=201).json["id"]
        theirs.put(f"/v1/tasks/{self.task}", {"max_attempts": 9}, expect=201)
        theirs.put("/v1/activities/act", {"trigger": {"type": "event", "types": ["order.theirs"]},
                                          "target": {"task": self.task, "queue": self.queue}}, expect=201)
        names = {"id": run, "dead": dead, "workflow_run": workflow, "task": self.task, "queue": self.queue, "workflow": "w",
                 "activity": "act", "name": "approve", "session": held["session"]}
        before = self.snapshot(theirs, names)
        tried = 0
        for path, item in api.document.whole["paths"].items():
            for method in sorted(set(item) - {"parameters"}, key=["post", "get", "delete", "put"].index):
                operation = item[method]["operationId"]
                if operation == "stream":
                    continue  # tested by itself, below and in api_stream_test
                # A namespace for each operation, so that one operation's objects do not affect the next.
                ours = api.other(f"{operation}-{self.queue}")
                for id in {run, dead, workflow} if "{id}" in path else {run}:
                    at = (path + QUERIES.get(operation, "")).format(**{**names, "id": id})
                    body = filled(BODIES.get(operation), {**names, "id": id})
                    headers = {}
                    if operation == "enqueueBatch":
                        body, headers = "", {"Content-Type": "application/x-ndjson"}
                    answer = ours.ask(method.upper(), at, body, headers=headers)
                    expected = STALE.get(operation, OWN.get(operation, 404))
                    self.assertEqual(answer.status, expected, f"{operation} {at} {answer}")
                    for secret in (run, dead, workflow, held["session"]):
                        if secret not in at and secret not in str(body):
                            self.assertNotIn(secret.encode(), answer.body, operation)
                    tried += 1
        self.assertGreater(tried, 50)
        self.assertEqual(self.snapshot(theirs, names), before)
        self.assertEqual(theirs.post("/v1/claims/extend", {"session": held["session"]}).json, {"cancel": [], "lost": []})
        listed = ours.post("/v1/executions/cancel", {"ids": [run, dead]}).json
        self.assertEqual(listed["executions"], [])

    def test_the_same_key_in_two_namespaces(self):
        one, two = self.api.other("one-" + self.queue), self.api.other("two-" + self.queue)
        first = one.enqueue(self.task, 1, idempotency_key="k")
        second = two.enqueue(self.task, 2, idempotency_key="k")
        self.assertNotEqual(first["id"], second["id"])

    def test_a_cursor_of_another(self):
        one, two = self.api.other("one-" + self.queue), self.api.other("two-" + self.queue)
        for number in range(2):
            one.enqueue(self.task, number)
        cursor = one.get("/v1/executions?limit=1").json["next"]
        self.problem(two.ask("GET", "/v1/executions?limit=1&cursor=" + urllib.parse.quote(cursor)), 400, "InvalidArgument", "cursor")


if __name__ == "__main__":
    unittest.main()
