"""GET /v1/stream: live changes as server-sent events; and the stream's metrics."""

import http.client
import json
import time
import unittest

from _api import on_stores
from _server import until


class Stream:
    def __init__(self, api, last=None):
        self.connection = http.client.HTTPConnection(api.server.host, api.server.port, timeout=30)
        headers = {"Hapax-Namespace": api.ns or "default"}
        if last:
            headers["Last-Event-ID"] = last
        self.connection.request("GET", "/v1/stream", headers=headers)
        self.answer = self.connection.getresponse()
        self.last = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A stream has no end to read to, so the underlying socket is closed directly.
        self.answer.fp.raw._sock.close() if hasattr(self.answer.fp, "raw") else None
        self.connection.close()

    def event(self):
        """The next event: its name and data."""
        name, data = None, None
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif line.startswith("id: "):
                self.last = line[4:]
            elif line == "" and name:
                return name, data

    def until(self, wanted):
        while True:
            name, data = self.event()
            if wanted(name, data):
                return data


@on_stores
class Streams:
    def test_live_changes(self):
        ours = self.api.other("ns-" + self.queue)
        with Stream(ours) as stream:
            self.assertEqual(stream.answer.status, 200)
            self.assertEqual(stream.answer.getheader("content-type"), "text/event-stream")
            name, data = stream.event()
            self.assertEqual((name, data["namespace"]), ("ready", ours.ns))
            # The first read finds the existing objects; changes count from then on.
            made = ours.enqueue(self.task, queue=self.queue)
            # The two events may come in either order.
            seen = {}
            while len(seen) < 2:
                name, data = stream.event()
                if name == "execution" and data["id"] == made["id"] or name == "queue" and data["ready"] == 1:
                    seen[name] = data
            ours.document.check_schema("Execution", seen["execution"])
            self.assertNotIn("input", seen["execution"])
            ours.document.check_schema("Queue", seen["queue"])
            [claim] = ours.claim(self.queue)["claims"]
            ours.complete(claim, 1)
            stream.until(lambda name, data: name == "execution" and data["status"] == "completed")

    def test_head_ends_at_once_and_its_connection_takes_the_next_request(self):
        with self.api.server.connect(timeout=30) as client:
            client.send("HEAD /v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = client.answer(head_only=True)
            self.assertEqual((answer.status, answer.header("content-type")), (200, "text/event-stream"))
            self.assertEqual(client.ask("GET", "/healthz").status, 200)

    def test_what_was_missed_comes_again(self):
        ours = self.api.other("ns-" + self.queue)
        with Stream(ours) as stream:
            stream.event()
            first = ours.enqueue(self.task, queue=self.queue)
            stream.until(lambda name, data: name == "execution" and data["id"] == first["id"])
            last = stream.last
            second = ours.enqueue(self.task, queue=self.queue)
            stream.until(lambda name, data: name == "execution" and data["id"] == second["id"])
            with Stream(ours, last) as again:
                self.assertFalse(again.event()[1]["missed"])
                again.until(lambda name, data: name == "execution" and data["id"] == second["id"])
        with Stream(ours, "never-1") as lost:
            self.assertTrue(lost.event()[1]["missed"])

    def test_only_the_own_namespace(self):
        ours, theirs = self.api.other("ours-" + self.queue), self.api.other("theirs-" + self.queue)
        with Stream(ours) as stream:
            stream.event()
            theirs.enqueue(self.task, queue=self.queue)
            mine = ours.enqueue(self.task, queue=self.queue)
            name, data = stream.event()
            while not (name == "execution" and data["id"] == mine["id"]):
                self.assertEqual(data.get("namespace"), ours.ns)
                name, data = stream.event()


@on_stores
class Metrics:
    def figures(self, api):
        found = {}
        for line in api.get("/metrics").body.decode().splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                found[name] = float(value)
        return found

    def test_what_is_counted(self):
        ours = self.api.other("ns-" + self.queue)
        before = self.figures(ours)
        made = ours.enqueue(self.task, 1, queue=self.queue, idempotency_key="k")
        ours.enqueue(self.task, 1, queue=self.queue, idempotency_key="k", on_conflict="return_existing", expect=200)
        ours.post(f"/v1/tasks/{self.task}/executions", {"input": 1, "idempotency_key": "k"}, expect=409)
        [claim] = ours.claim(self.queue)["claims"]
        ours.finish({"id": made["id"], "fence": 1, "status": "failed", "retry_after": "1h"})
        ours.finish({"id": made["id"], "fence": 9, "status": "completed"}, expect=409)
        after = self.figures(ours)

        def grew(name):
            return after.get(name, 0) - before.get(name, 0)

        self.assertEqual(grew('hapax_admissions_total{outcome="created"}'), 1)
        self.assertEqual(grew('hapax_admissions_total{outcome="deduplicated"}'), 1)
        self.assertEqual(grew('hapax_admissions_total{outcome="already_exists"}'), 1)
        self.assertEqual(grew("hapax_claims_total"), 1)
        self.assertEqual(grew('hapax_outcomes_total{outcome="retried"}'), 1)
        self.assertEqual(grew("hapax_retries_total"), 1)
        self.assertEqual(grew("hapax_stale_refusals_total"), 1)
        self.assertGreater(grew("hapax_admission_seconds_count"), 0)
        self.assertGreater(grew("hapax_finish_batch_size_count"), 0)
        labels = f'namespace="{ours.ns}",queue="{self.queue}"'
        self.assertEqual(after[f'hapax_queue_depth{{{labels},state="delayed"}}'], 1)
        self.assertIn(f"hapax_queue_oldest_seconds{{{labels}}}", after)
        self.assertEqual(claim["id"], made["id"])

    def test_throughput_is_counted_once(self):
        ours = self.api.other("ns-" + self.queue)
        ours.enqueue(self.task, 1, queue=self.queue)
        ours.complete(ours.claim(self.queue)["claims"][0])
        until(lambda: ours.get(f"/v1/queues/{self.queue}").json["completed_last_minute"] > 0, "the figures", 20)
        time.sleep(1.5)
        self.assertEqual(ours.get(f"/v1/queues/{self.queue}").json["completed_last_minute"], 1)


if __name__ == "__main__":
    unittest.main()
