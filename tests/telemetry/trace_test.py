"""One trace from an HTTP request to a workflow's step, through a server and a worker, at a small OpenTelemetry collector."""

import json
import os
import subprocess
import unittest
import urllib.request

from _observed import BIN, Collector, Observed, Server, clean_environment, fetch, free_port, until

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def start(server, workflow_id, **headers):
    request = urllib.request.Request(server.url + "/v1/workflows/order/executions", method="POST",
                                     data=json.dumps({"workflow_id": workflow_id, "input": "o-1"}).encode(),
                                     headers={"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["id"]


def result(server, execution):
    with urllib.request.urlopen(f"{server.url}/v1/executions/{execution}/result?wait=30s", timeout=60) as answer:
        return json.load(answer).get("result")


class Traced(unittest.TestCase):
    def setUp(self):
        self.store = "sqlite:" + os.path.abspath(self._testMethodName + ".db")

    def test_one_trace_from_the_request_to_the_step(self):
        collector = Collector()
        self.addCleanup(collector.stop)
        server = Server(self.store, "--otlp", collector.url, OTEL_SERVICE_NAME="api", OTEL_EXPORTER_OTLP_HEADERS="x-key=a%20b")
        try:
            observed = Observed(self.store, collector.url)
            try:
                execution = start(server, "o-1", traceparent=f"00-{TRACE}-{CALLER}-01", tracestate="vendor=1")
                self.assertEqual(until(lambda: result(server, execution), "the workflow"), "paid o-1")
            finally:
                told = observed.stop()
        finally:
            server.stop()
        self.assertRegex(told, r"sent [1-9]\d* dropped 0\n")
        spans = collector.spans()
        self.assertEqual({span["traceId"] for span in spans}, {TRACE})
        self.assertEqual({span.get("traceState") for span in spans}, {"vendor=1"})
        named = lambda name: [span for span in spans if span["name"] == name]
        [enqueue] = named("enqueue order")
        self.assertEqual((enqueue["parentSpanId"], enqueue["service"]), (CALLER, "api"))
        self.assertEqual(enqueue["attributes"]["hapax.outcome"], "created")
        attempts = {span["spanId"]: span for span in named("order")}
        self.assertGreaterEqual(len(attempts), 1)
        for attempt in attempts.values():
            self.assertEqual((attempt["parentSpanId"], attempt["service"]), (enqueue["spanId"], "observed"))
        self.assertEqual([span["attributes"]["hapax.outcome"] for span in attempts.values()].count("completed"), 1)
        [step] = named("step reserve")
        self.assertIn(step["parentSpanId"], attempts)
        [task] = named("charge")
        self.assertIn(task["parentSpanId"], attempts)
        for span in spans:
            self.assertLessEqual(int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]))
        self.assertEqual(len({span["spanId"] for span in spans}), len(spans))
        headers = {key.lower(): value for path, sent, _ in collector.requests for key, value in sent.items()}
        self.assertEqual((headers["x-key"], headers["x-test"]), ("a b", "secret"))
        self.assertIn("hapax_attempts_total", collector.metric_names())

    def test_a_request_without_a_context_is_one_trace_too(self):
        collector = Collector()
        self.addCleanup(collector.stop)
        server = Server(self.store, "--otlp", collector.url)
        try:
            observed = Observed(self.store, collector.url)
            try:
                execution = start(server, "o-1")
                until(lambda: result(server, execution), "the workflow")
            finally:
                observed.stop()
        finally:
            server.stop()
        spans = collector.spans()
        self.assertEqual(len({span["traceId"] for span in spans}), 1)
        self.assertEqual([span["name"] for span in spans if "parentSpanId" not in span], ["enqueue order"])

    def test_a_collector_that_is_away_stops_nothing_and_its_losses_are_counted(self):
        away = f"http://127.0.0.1:{free_port()}"
        server = Server(self.store, "--otlp", away, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20topsecret")
        try:
            observed = Observed(self.store, away)
            try:
                execution = start(server, "o-1")
                self.assertEqual(until(lambda: result(server, execution), "the workflow"), "paid o-1")
                shown = until(lambda: (text := fetch(server.address)[1]).count("hapax_otlp_failures_total 0\n") == 0 and text,
                              "a failure to be counted")
                self.assertNotIn("topsecret", shown)
            finally:
                told = observed.stop()
        finally:
            server.stop()
        self.assertRegex(told, r"sent 0 dropped [1-9]")

    def test_a_url_that_is_none_is_refused_without_its_secrets(self):
        for url in ("collector:4318", "http://user:topsecret@collector", "http://"):
            done = subprocess.run([BIN, "serve", "--store", self.store, "--listen", "127.0.0.1:0", "--otlp", url],
                                  capture_output=True, timeout=60, env=clean_environment())
            self.assertEqual(done.returncode, 78, done)
            self.assertTrue(done.stderr.startswith(b"ConfigurationError: "), done)
            self.assertNotIn(b"topsecret", done.stderr)


if __name__ == "__main__":
    unittest.main()
