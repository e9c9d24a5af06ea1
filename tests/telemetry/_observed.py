"""Shared by the telemetry tests: the observed program, a private Prometheus and a small OpenTelemetry collector."""

import http.client
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

BIN = os.environ.get("HAPAX_BIN") or sys.exit("HAPAX_BIN is not set: it must name the program under test")
OBSERVED = os.environ.get("HAPAX_OBSERVED") or sys.exit("HAPAX_OBSERVED is not set: it must name the observed program")
SOURCE = os.environ.get("HAPAX_SOURCE") or sys.exit("HAPAX_SOURCE is not set: it must name the source folder")


def clean_environment(**extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HAPAX_", "OTEL_"))}
    kept.update(extra)
    return kept


def until(condition, what, seconds=60):
    limit = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > limit:
            raise AssertionError("in vain waited for: " + what)
        time.sleep(0.05)
    return found


def hapax(*arguments):
    done = subprocess.run([BIN, *arguments], capture_output=True, timeout=60, env=clean_environment())
    assert done.returncode == 0, done
    return json.loads(done.stdout) if done.stdout.startswith((b"{", b"[")) else done.stdout.decode()


def fetch(address, path="/metrics"):
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


class Observed:
    def __init__(self, store, collector=""):
        self.process = subprocess.Popen([OBSERVED, store, collector], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=clean_environment())
        word, self.address = self.process.stdout.readline().decode().split()
        assert word == "metrics"

    def stop(self):
        """Ends the program; returns what it printed last."""
        if self.process.poll() is not None:
            return ""
        self.process.stdin.close()
        try:
            told = self.process.stdout.read().decode()
            assert self.process.wait(60) == 0
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()
        return told


class Server:
    """`hapax serve`."""

    def __init__(self, store, *arguments, **environment):
        self.process = subprocess.Popen([BIN, "serve", "--store", store, "--listen", "127.0.0.1:0", "--log", "errors",
                                         *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        env=clean_environment(**environment))
        line = self.process.stdout.readline().decode()
        assert line.startswith("listening on "), line
        self.url = line.split()[-1]
        self.address = self.url.removeprefix("http://")

    def stop(self):
        self.process.terminate()
        try:
            assert self.process.wait(60) == 0
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.process.stdout.close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Prometheus:
    """A private server that scrapes the addresses every second and evaluates hapax's rules."""

    def __init__(self, folder, targets, rules):
        os.makedirs(folder)
        configuration = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [rules],
                         "scrape_configs": [{"job_name": "hapax", "static_configs": [{"targets": targets}]}]}
        path = os.path.join(folder, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(configuration, file)  # JSON is YAML
        self.port = free_port()
        self.log = open(os.path.join(folder, "log"), "wb")
        self.process = subprocess.Popen(
            ["prometheus", "--config.file=" + path, "--storage.tsdb.path=" + os.path.join(folder, "data"),
             f"--web.listen-address=127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def ask(self, path, **query):
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?" + urllib.parse.urlencode(query)
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except (OSError, http.client.HTTPException):
            assert self.process.poll() is None, "Prometheus has ended"
            return None

    def query(self, expression):
        """Values by their labels; empty while there are none."""
        data = self.ask("query", query=expression)
        return {} if data is None else {tuple(sorted(one["metric"].items())): float(one["value"][1]) for one in data["result"]}

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.log.close()


class Collector:
    """Takes OTLP/HTTP requests in JSON."""

    def __init__(self):
        collector = self
        self.requests = []  # (path, headers, document)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.requests.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self):
        """Each span with its attributes and the name of its service."""
        found = []
        for path, _, document in list(self.requests):
            if path != "/v1/traces":
                continue
            for resource in document["resourceSpans"]:
                service = attributes(resource["resource"])["service.name"]
                for scope in resource["scopeSpans"]:
                    found += [{**span, "service": service, "attributes": attributes(span)} for span in scope["spans"]]
        return found

    def metric_names(self):
        return {metric["name"] for path, _, document in list(self.requests) if path == "/v1/metrics"
                for resource in document["resourceMetrics"] for scope in resource["scopeMetrics"] for metric in scope["metrics"]}

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def attributes(holder):
    return {each["key"]: each["value"]["stringValue"] for each in holder["attributes"]}
