"""The operator's view: every metric exists and moves with what it counts; a trace reaches the worker;
readiness fails when the store is unavailable and returns with it."""

import os
import re
import select
import socket
import subprocess
import threading
import time
import unittest
import urllib.parse

from _api import Api, on_stores
from _server import BIN, Server, clean_environment, until

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@on_stores
class Figures:
    def read(self, name, **labels):
        """The sum of all samples of that name with these labels."""
        total, found = 0.0, False
        for line in self.api._send("GET", "/metrics").body.decode().splitlines():
            match = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line)
            if match is None or match[1] != name:
                continue
            given = dict(re.findall(r'([a-z_]+)="([^"]*)"', match[2] or ""))
            if all(given.get(key) == value for key, value in labels.items()):
                total, found = total + float(match[3]), True
        self.assertTrue(found, f"no {name} with {labels}")
        return total

    def moves(self, by, name, **labels):
        """A context in which the metric must grow by `by`, or by any amount. An answer may arrive before it
        is counted."""
        case, before = self, self.read(name, **labels)

        class Moves:
            def __enter__(self):
                return self

            def __exit__(self, kind, *_):
                if kind is None:
                    if by != 0:
                        until(lambda: case.read(name, **labels) > before, f"{name} {labels} to grow", 10)
                    grown = case.read(name, **labels) - before
                    case.assertTrue(grown > 0 if by is None else grown == by, f"{name} {labels}: grew by {grown}")
        return Moves()

    def test_admissions_by_outcome(self):
        name = "hapax_admissions_total"
        ask = lambda number, **more: self.api.ask("POST", f"/v1/tasks/{self.task}/executions",
                                                  {"input": number, "idempotency_key": "k", "queue": self.queue, **more})
        with self.moves(1, name, outcome="created"), self.moves(1, "hapax_admission_seconds_count"), \
                self.moves(1, "hapax_admission_batch_size_sum"):
            ask(1)
        with self.moves(1, name, outcome="already_exists"):
            ask(1)
        with self.moves(1, name, outcome="deduplicated"):
            ask(1, on_conflict="return_existing")
        with self.moves(1, name, outcome="mismatch"):
            ask(2)
        # Long leases, because a session that ends during the test would be counted as lost.
        [claim] = self.api.claim(self.queue, lease="10m")["claims"]
        self.api.complete(claim)
        with self.moves(1, name, outcome="already_completed"):
            ask(1)
        self.api.enqueue(self.task, idempotency_key="f", queue=self.queue)
        [claim] = self.api.claim(self.queue, lease="10m")["claims"]
        self.api.finish({"id": claim["id"], "fence": claim["fence"], "status": "failed", "permanent": True})
        with self.moves(1, name, outcome="already_finished"):
            self.api.ask("POST", f"/v1/tasks/{self.task}/executions", {"idempotency_key": "f", "reuse": "reject"})
        self.api.post(f"/v1/queues/{self.queue}/drain")
        with self.moves(1, name, outcome="queue_draining"):
            self.api.ask("POST", f"/v1/tasks/{self.task}/executions", {"queue": self.queue})
        with self.moves(3, "hapax_admission_batch_size_sum"), self.moves(3, name, outcome="created"):
            lines = f'{{"task":"{self.task}"}}\n' * 3
            self.api.post("/v1/executions/batch", lines, headers={"Content-Type": "application/x-ndjson"})

    def test_claims_outcomes_retries_and_stale_refusals(self):
        for number in range(6):
            self.api.enqueue(self.task, number, queue=self.queue, max_attempts=5)
        with self.moves(6, "hapax_claims_total"), self.moves(6, "hapax_claim_batch_size_sum"), \
                self.moves(None, "hapax_claim_seconds_count"):
            claims = self.api.claim(self.queue, limit=10, lease="10m")["claims"]
        outcome = lambda claim, status, **more: {"id": claim["id"], "fence": claim["fence"], "status": status, **more}
        told = {"completed": outcome(claims[0], "completed"), "failed": outcome(claims[1], "failed", permanent=True),
                "cancelled": outcome(claims[2], "cancelled"), "snoozed": outcome(claims[3], "snoozed", retry_after="1h"),
                "released": outcome(claims[4], "released"), "retried": outcome(claims[5], "failed", retry_after="1h")}
        for word, each in told.items():
            with self.subTest(word), self.moves(1, "hapax_outcomes_total", outcome=word), \
                    self.moves(1 if word == "retried" else 0, "hapax_retries_total"), \
                    self.moves(1, "hapax_finish_batch_size_sum"), self.moves(1, "hapax_finish_seconds_count"):
                self.api.finish(each)
        with self.moves(1, "hapax_stale_refusals_total"):
            self.api.finish({**told["completed"], "fence": claims[0]["fence"] + 1}, expect=409)

    def test_lease_losses(self):
        self.api.enqueue(self.task, queue=self.queue)
        losses, sessions = self.read("hapax_lease_losses_total"), self.read("hapax_sessions_lost_total")
        self.assertEqual(len(self.api.claim(self.queue, lease="200ms")["claims"]), 1)
        until(lambda: self.read("hapax_lease_losses_total") == losses + 1, "the loss to be counted")
        until(lambda: self.read("hapax_sessions_lost_total") == sessions + 1, "the session to be counted", 10)

    def test_deadlines(self):
        before = self.read("hapax_deadlines_total")
        self.api.enqueue(self.task, queue=self.queue, deadline="200ms")
        until(lambda: self.read("hapax_deadlines_total") == before + 1, "the deadline to be counted")

    def test_depth_and_age(self):
        self.api.enqueue(self.task, queue=self.queue)
        self.api.enqueue(self.task, queue=self.queue, delay="1h")
        depth = lambda state: self.read("hapax_queue_depth", queue=self.queue, state=state)
        self.assertEqual((depth("ready"), depth("delayed"), depth("running")), (1, 1, 0))
        until(lambda: self.read("hapax_queue_oldest_seconds", queue=self.queue) > 0.1, "the oldest to age")
        self.api.claim(self.queue, lease="10m")
        self.assertEqual((depth("ready"), depth("running")), (0, 1))
        self.assertEqual(self.read("hapax_queue_paused", queue=self.queue), 0)
        self.api.post(f"/v1/queues/{self.queue}/pause")
        self.assertEqual(self.read("hapax_queue_paused", queue=self.queue), 1)

    def test_requests_and_their_latencies(self):
        labels = {"method": "GET", "route": "/v1/queues"}
        self.api.get("/v1/queues")
        until(lambda: b'route="/v1/queues",status="200"} 1\n' in self.api._send("GET", "/metrics").body, "the first to be counted")
        with self.moves(1, "hapax_http_requests_total", status="200", **labels), \
                self.moves(1, "hapax_http_request_seconds_count", **labels):
            self.api.get("/v1/queues")

    def test_every_figure_of_the_reference_is_there(self):
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "reference", "metrics.md")
        with open(page, encoding="utf-8") as file:
            told = set(re.findall(r"^\| `(hapax_[a-z_]+)`", file.read(), re.MULTILINE))
        self.assertGreater(len(told), 15)
        self.api.enqueue(self.task, queue=self.queue)
        shown = set(re.findall(r"^# TYPE (\S+) ", self.api._send("GET", "/metrics").body.decode(), re.MULTILINE))
        self.assertEqual(told - shown, set())
        self.assertEqual({name for name in shown if name != "hapax_http_defects_total"} - told, set(), "the page lacks these")


@on_stores
class Traces:
    def test_from_an_enqueue_to_a_program(self):
        """The trace context goes in over HTTP, through the store, and into the environment of a worker's program."""
        made = self.api.enqueue(self.task, queue=self.queue, headers={"traceparent": TRACE})
        done = subprocess.run([BIN, "work", "--store", self.store, "--queue", self.queue, "--until-empty", "--exec",
                               """printf '"%s"' "$HAPAX_TRACEPARENT" """], capture_output=True, timeout=60, env=clean_environment())
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.api.get(f"/v1/executions/{made['id']}/result").json["result"], TRACE)

    def test_into_batches_and_the_log(self):
        self.api.post("/v1/executions/batch", f'{{"task":"{self.task}","queue":"{self.queue}"}}',
                      headers={"Content-Type": "application/x-ndjson", "traceparent": TRACE})
        [claim] = self.api.claim(self.queue)["claims"]
        self.assertEqual(claim["traceparent"], TRACE)
        trace = TRACE.replace("0af7", "1bf8")
        self.api.ask("GET", "/v1/executions/no-id", headers={"traceparent": trace})
        server = self.api.server
        until(lambda: any(trace in line for line in server.log), "the refused request's line in the log")


class Proxy:
    """Forwards bytes to PostgreSQL, and cuts every connection on request."""

    def __init__(self, host, port):
        self.target = (host, port)
        self.open = True
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = set()
        threading.Thread(target=self.accept, daemon=True).start()

    def connect(self):
        host, port = self.target
        if host.startswith("/"):
            there = socket.socket(socket.AF_UNIX)
            there.connect(f"{host}/.s.PGSQL.{port}")
            return there
        return socket.create_connection((host, port))

    def accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            if not self.open:
                here.close()
                continue
            there = self.connect()
            self.sockets |= {here, there}
            threading.Thread(target=self.pump, args=(here, there), daemon=True).start()

    def pump(self, here, there):
        try:
            while True:
                for ready in select.select([here, there], [], [])[0]:
                    data = ready.recv(65536)
                    if not data:
                        raise OSError("ended")
                    (there if ready is here else here).sendall(data)
        except (OSError, ValueError):
            for each in (here, there):
                each.close()
                self.sockets.discard(each)

    def cut(self):
        self.open = False
        for each in list(self.sockets):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Readiness(unittest.TestCase):
    def test_a_store_that_goes_away_and_comes_back(self):
        url = urllib.parse.urlsplit(os.environ["HAPAX_TEST_POSTGRES_URL"])
        query = dict(urllib.parse.parse_qsl(url.query))
        proxy = Proxy(query.pop("host", url.hostname), int(query.pop("port", url.port or 5432)))
        schema = f"ready_{os.getpid()}"
        direct = os.environ["HAPAX_TEST_POSTGRES_URL"]
        direct += ("&" if url.query else "?") + "schema=" + schema
        subprocess.run([BIN, "migrate", "--store", direct], check=True, capture_output=True, env=clean_environment())
        query.update(schema=schema, sslmode="disable", connect_timeout="2")
        user = (url.username or "") + (":" + url.password if url.password else "")
        through = f"postgresql://{user + '@' if user else ''}127.0.0.1:{proxy.port}{url.path}?" + urllib.parse.urlencode(query)
        server = Server(BIN, "serve", "--listen", "127.0.0.1:0", "--log", "errors", env={"HAPAX_STORE_URL": through})
        try:
            until(lambda: server.get("/readyz").status == 200, "ready")
            proxy.cut()
            until(lambda: server.get("/readyz").status == 503, "not ready any more", 20)
            answer = server.get("/readyz")
            self.assertNotEqual(answer.json["checks"]["store"], "ok", answer)
            self.assertEqual(server.get("/healthz").status, 200)
            refused = server.ask("POST", "/v1/tasks/t/executions", "Content-Type: application/json", body="{}")
            self.assertEqual((refused.status, refused.json["error"]), (503, "StoreUnavailable"))
            self.assertIsNotNone(refused.header("retry-after"))
            proxy.open = True
            until(lambda: server.get("/readyz").status == 200, "ready again", 30)
            made = server.ask("POST", "/v1/tasks/t/executions", "Content-Type: application/json", body="{}")
            self.assertEqual(made.status, 201)
            # None of these texts contains the store's password.
            self.assertTrue(url.password, "the test server's URL has a password")
            time.sleep(0.3)
            told = "\n".join(server.log) + server.get("/metrics").body.decode() + refused.body.decode() + answer.body.decode()
            with open(f"/proc/{server.process.pid}/cmdline", "rb") as file:
                told += file.read().decode()
            self.assertNotIn(url.password, told)
        finally:
            proxy.listener.close()
            self.assertEqual(server.stop(), 0)

    def test_a_ticker_that_does_not_look_is_told(self):
        """The ticker is blocked for longer than its patience: the store answers reads, but the server is not ready."""
        schema = f"ticker_{os.getpid()}"
        direct = os.environ["HAPAX_TEST_POSTGRES_URL"]
        direct += ("&" if "?" in direct else "?") + "schema=" + schema
        subprocess.run([BIN, "migrate", "--store", direct], check=True, capture_output=True, env=clean_environment())
        server = Server(BIN, "serve", "--listen", "127.0.0.1:0", "--log", "errors", env={"HAPAX_STORE_URL": direct})
        try:
            until(lambda: server.get("/readyz").status == 200, "ready")
            # Another transaction locks a table that the ticker reads; the store answers everything else.
            base = os.environ["HAPAX_TEST_POSTGRES_URL"]
            holding = subprocess.Popen(["psql", "-qX", base], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            holding.stdin.write(f"BEGIN; LOCK TABLE {schema}.activities IN ACCESS EXCLUSIVE MODE;\n".encode())
            holding.stdin.flush()
            begun = time.monotonic()
            until(lambda: server.get("/readyz").status == 503, "not ready any more", 40)
            self.assertGreater(time.monotonic() - begun, 5)
            self.assertNotEqual(server.get("/readyz").json["checks"]["ticker"], "ok")
            holding.stdin.write(b"ROLLBACK;\n")
            holding.stdin.close()
            holding.wait(20)
            until(lambda: server.get("/readyz").status == 200, "ready again", 30)
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
