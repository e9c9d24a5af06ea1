"""`hapax serve`: where it listens, how it starts, reloads and stops."""

import json
import os
import select
import signal
import sqlite3
import ssl
import subprocess
import threading
import time
import unittest
import warnings

from _server import BIN, JSON, Server, clean_environment, request, testbed, until

MISSING, CONFIGURATION = 66, 78


def serve(*arguments, **options):
    return Server(BIN, "serve", "--store", "sqlite:serve.db", "--listen", "127.0.0.1:0", *arguments, **options)


def refused(*arguments):
    done = subprocess.run([BIN, "serve", "--store", "memory:", *arguments], capture_output=True, timeout=30,
                          env=clean_environment())
    return done.returncode, done.stderr.decode()


class Starting(unittest.TestCase):
    def test_an_address_that_others_reach_needs_tokens(self):
        for address in ("0.0.0.0:0", "[::]:0"):
            code, error = refused("--listen", address)
            self.assertEqual(code, CONFIGURATION, error)
            self.assertRegex(error, "ConfigurationError: .*no tokens")

    def test_addresses_that_are_none(self):
        for address in ("127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "nowhere.example:80", ":1", "127.0.0.1:-1"):
            code, error = refused("--listen", address)
            self.assertEqual(code, CONFIGURATION, (address, error))

    def test_a_taken_address(self):
        server = serve()
        try:
            code, error = refused("--listen", f"127.0.0.1:{server.port}")
            self.assertEqual(code, CONFIGURATION)
            self.assertRegex(error, "[Ii]n use")
        finally:
            self.assertEqual(server.stop(), 0)

    def test_without_a_word_it_listens_on_loopback(self):
        helped = subprocess.run([BIN, "serve", "--help"], capture_output=True, env=clean_environment(), check=True)
        self.assertIn(b"127.0.0.1:7171", helped.stdout)

    def test_probes_mean_something(self):
        server = serve()
        try:
            self.assertEqual(server.get("/healthz").json, {"status": "up"})
            answer = server.get("/readyz")
            self.assertEqual(answer.json, {"status": "ready", "checks": {"store": "ok", "schema": "ok", "durability": "ok", "sweeper": "ok", "ticker": "ok"}})
            self.assertIn(b"hapax_http_requests_total", server.get("/metrics").body)
        finally:
            self.assertEqual(server.stop(), 0)

    def test_hosts_can_be_named(self):
        server = serve("--host", "shop.example")
        try:
            self.assertEqual(server.raw(b"GET /healthz HTTP/1.1\r\nHost: shop.example\r\n\r\n").status, 200)
            self.assertEqual(server.raw(b"GET /healthz HTTP/1.1\r\nHost: other.example\r\n\r\n").status, 421)
        finally:
            server.stop()


    def test_the_payload_limit_is_a_setting(self):
        server = serve(env={"HAPAX_LIMITS_PAYLOAD": "4MiB"})
        try:
            def enqueue(size):
                return server.ask("POST", "/v1/tasks/big/executions", JSON, body='{"input": "' + "x" * size + '"}')

            self.assertEqual(enqueue(3 << 20).status, 201)
            over = enqueue(4 << 20)
            self.assertEqual((over.status, over.json["error"]), (413, "PayloadTooLarge"), over)
            self.assertIn("4194304", over.json["detail"])
            self.assertEqual(enqueue(9 << 20).status, 413)
            for _ in range(30):
                self.assertEqual(enqueue(1).status, 201)
            taken = server.ask("POST", "/v1/claims", JSON, body='{"queues": ["default"], "limit": 100}')
            self.assertEqual(len(taken.json["claims"][0]["input"]), 3 << 20)
            self.assertEqual(len(taken.json["claims"]), 25, "a hundred mebibytes hold 25 of the largest")
        finally:
            server.stop()


    def test_inputs_larger_than_its_own_limit_are_handed_out_a_few_at_a_time(self):
        lines = b"".join(b'{"task":"big","queue":"large","input":"' + b"x" * ((8 << 20) - 2) + b'"}\n' for _ in range(14))
        done = subprocess.run([BIN, "enqueue", "--bulk", "-", "--store", "sqlite:serve.db"], input=lines, capture_output=True,
                              timeout=60, env=clean_environment(HAPAX_LIMITS_PAYLOAD="8MiB"))
        self.assertEqual(done.returncode, 0, done.stderr)
        server = serve()
        try:
            counts = []
            for _ in range(3):
                answer = subprocess.run(["curl", "-sS", "-H", JSON, "--data", '{"queues": ["large"], "limit": 100}',
                                         f"http://127.0.0.1:{server.port}/v1/claims"], capture_output=True, check=True, timeout=60)
                taken = json.loads(answer.stdout)["claims"]
                self.assertTrue(all(len(each["input"]) == (8 << 20) - 2 for each in taken))
                self.assertTrue(all(each["attempt"] == 1 and each["lost"] == 0 for each in taken))
                counts.append(len(taken))
            self.assertEqual(counts, [2, 2, 2], "a claim ends behind the input that brings it to 16 MiB")
        finally:
            server.stop()


class Sweeping(unittest.TestCase):
    """The log, the metrics and /readyz report a sweep that fails or leaves a row."""

    def setUp(self):
        self.server = serve()
        self.addCleanup(self.server.stop)

    def change(self, statement):
        db = sqlite3.connect("serve.db", timeout=30)
        with db:
            db.execute(statement)
        db.close()

    def figure(self, name):
        for line in self.server.get("/metrics").body.decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        self.fail(f"no {name}")

    def told(self):
        return [each["detail"] for each in map(json.loads, list(self.server.log)) if each["event"] == "sweep"]

    def test_sweeps_that_fail_are_told_and_make_the_server_unready_until_one_succeeds(self):
        self.assertEqual(self.figure("hapax_sweep_failures_total"), 0)
        self.change("ALTER TABLE sessions RENAME TO sessions_away")
        try:
            until(lambda: self.figure("hapax_sweep_failures_total") >= 3, "failures to be counted", 60)
            until(lambda: self.server.get("/readyz").status == 503, "the server not to be ready", 60)
            self.assertIn("sweeps failed", self.server.get("/readyz").json["checks"]["sweeper"])
            self.assertIn("sessions", " ".join(self.told()))
        finally:
            self.change("ALTER TABLE sessions_away RENAME TO sessions")
        until(lambda: self.server.get("/readyz").status == 200, "the server to be ready again", 60)

    def test_a_row_that_sweeps_leave_is_told_and_counted_and_the_server_stays_ready(self):
        self.change("CREATE TRIGGER keep BEFORE DELETE ON live WHEN old.task = 'bad' "
                    "BEGIN SELECT RAISE(ABORT, 'kept by the test'); END")
        for task in ("bad", "good"):
            made = self.server.ask("POST", f"/v1/tasks/{task}/executions", JSON, body='{"deadline": "1s"}')
            self.assertEqual(made.status, 201, made)
        try:
            until(lambda: self.figure("hapax_sweep_bad_rows") == 1, "the row to be counted", 60)
            until(lambda: "kept by the test" in " ".join(self.told()), "the row to be told", 60)
            until(lambda: self.figure("hapax_deadlines_total") == 1, "the other to be ended", 60)
            self.assertEqual(self.server.get("/readyz").status, 200)
            self.assertEqual(self.figure("hapax_sweep_failures_total"), 0)
        finally:
            self.change("DROP TRIGGER keep")


class Stopping(unittest.TestCase):
    def test_requests_finish_polls_and_streams_end_idle_connections_close(self):
        server = testbed("--grace", "30s")
        running, poll, stream, idle = (server.connect() for _ in range(4))
        running.send(request("GET /blocking?for=6s HTTP/1.1"))
        poll.send(request("GET /wait?for=60s HTTP/1.1"))
        stream.send(request("GET /events HTTP/1.1"))
        self.assertEqual(stream.head()[0], 200)
        self.assertEqual(idle.ask("GET", "/healthz").status, 200)
        code = []
        stopping = threading.Thread(target=lambda: code.append(server.stop()))
        stopping.start()
        self.assertTrue(idle.ended())
        answer = poll.answer()
        self.assertEqual((answer.json, answer.closed), ({"woke": "draining"}, True))
        events = b""
        while piece := stream.chunk():
            events += piece
        self.assertTrue(events.endswith(b"event: bye\ndata: {}\n\n"), events[-100:])
        self.assertEqual(select.select([running.socket], [], [], 0)[0], [], "they waited for the one that runs")
        with self.assertRaises(ConnectionRefusedError):
            server.connect()
        answer = running.answer()
        self.assertEqual((answer.json, answer.closed), (42, True))
        stopping.join(30)
        self.assertEqual(code, [0])
        for client in (running, poll, stream, idle):
            client.socket.close()

    def test_what_outlasts_the_grace_is_cut_off(self):
        server = testbed("--grace", "300ms", "--threads", "1")
        with server.connect() as client:
            client.send(request("GET /blocking?for=4s HTTP/1.1"))
            # One loop reads all connections: later requests have been answered, so the blocking one runs.
            for _ in range(3):
                self.assertEqual(server.get("/healthz").status, 200)
            time.sleep(0.2)
            begun = time.monotonic()
            self.assertEqual(server.stop(), 1)
            self.assertLess(time.monotonic() - begun, 15)
            self.assertTrue(client.ended())

    def test_signals_end_the_program(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = serve()
            server.process.send_signal(number)
            code = server.process.wait(30)
            server.stop()
            self.assertEqual(code, 0, server.log)


def make_certificate(name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", "key.pem",
                    "-out", "cert.pem"], check=True, capture_output=True)
    os.chmod("key.pem", 0o600)


class Tls(unittest.TestCase):
    def setUp(self):
        make_certificate("first")

    def context(self):
        return ssl.create_default_context(cafile="cert.pem")

    def test_requests_bodies_polls_and_streams(self):
        server = testbed("--tls-cert", "cert.pem", "--tls-key", "key.pem")
        without_clients = server.files()
        try:
            with server.connect(context=self.context()) as client:
                self.assertIn(client.socket.version(), ("TLSv1.2", "TLSv1.3"))
                self.assertEqual(client.ask("GET", "/healthz").status, 200)
                body = '"' + "x" * 1_000_000 + '"'
                answer = client.ask("POST", "/echo", "Content-Type: application/json", body=body)
                self.assertEqual(answer.json["bytes"], len(body))
                self.assertEqual(len(client.ask("GET", "/large?bytes=5000000").body), 5_000_000)
                self.assertEqual(client.ask("GET", "/wait?for=50ms").json, {"woke": "time_over"})
                client.send(request("GET /events HTTP/1.1"))
                self.assertEqual(client.head()[0], 200)
                self.assertEqual(client.chunk(), b": hello\n\n")
            # A poll whose client has disconnected ends.
            until(lambda: server.files() == without_clients, "the stream to be given up", 10)
            with server.connect(context=self.context()) as client:
                client.send(request("GET /wait?for=60s HTTP/1.1"))
                until(lambda: server.files() == without_clients + 1, "the connection")
            until(lambda: server.files() == without_clients, "the poll to be given up", 10)
        finally:
            self.assertEqual(server.stop(), 0)

    def test_old_versions_and_plain_text_are_refused(self):
        server = testbed("--tls-cert", "cert.pem", "--tls-key", "key.pem")
        try:
            with server.connect() as client:
                client.send(request())
                while client.receive():
                    pass
                self.assertNotIn(b"HTTP/1.1 200", client.buffer)
            old = self.context()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                old.minimum_version = ssl.TLSVersion.TLSv1
                old.maximum_version = ssl.TLSVersion.TLSv1_1
            old.set_ciphers("ALL:@SECLEVEL=0")
            with self.assertRaises((ssl.SSLError, ConnectionResetError)):
                server.connect(context=old)
            with server.connect() as client:  # a handshake that stops midway
                client.send(b"\x16\x03\x01")
                self.assertEqual(server.get("/healthz", context=self.context()).status, 200)
        finally:
            server.stop()

    def test_a_certificate_is_read_again_on_sighup(self):
        server = serve("--tls-cert", "cert.pem", "--tls-key", "key.pem")

        def name():
            with server.connect(context=self.context()) as client:
                return dict(part[0] for part in client.socket.getpeercert()["subject"])["commonName"]
        try:
            self.assertEqual(server.scheme, "https")
            self.assertEqual(name(), "first")
            old = self.context()
            make_certificate("second")
            server.process.send_signal(signal.SIGHUP)
            until(lambda: any("read again" in line for line in server.log), "the reload")
            self.assertEqual(name(), "second")
            with open("cert.pem", "w", encoding="ascii") as file:
                file.write("nonsense")
            server.process.send_signal(signal.SIGHUP)
            until(lambda: any("--tls-cert" in line for line in server.log), "the refusal")
            with self.assertRaises(ssl.SSLCertVerificationError):  # the new certificate is still served
                server.connect(context=old)
        finally:
            self.assertEqual(server.stop(), 0)

    def test_files_that_cannot_be_used_are_named_with_the_reason(self):
        def told(certificate, key="key.pem"):
            code, error = refused("--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key)
            self.assertEqual(code, CONFIGURATION, error)
            return error
        with open("nonsense.pem", "w", encoding="ascii") as file:
            file.write("nonsense")
        os.chmod("nonsense.pem", 0o600)
        os.mkdir("folder.pem")
        error = told("nonsense.pem")
        self.assertIn('--tls-cert nonsense.pem: there is no "-----BEGIN" line of a CERTIFICATE in it', error)
        self.assertIn("--tls-cert folder.pem: this is a directory", told("folder.pem"))
        self.assertIn("--tls-cert key.pem: there is no", told("key.pem"))
        self.assertIn('--tls-key nonsense.pem: there is no "-----BEGIN" line of a PRIVATE KEY in it', told("cert.pem", "nonsense.pem"))
        os.rename("cert.pem", "other.pem")
        make_certificate("another")
        error = told("other.pem")
        self.assertIn("--tls-key key.pem, with --tls-cert other.pem: ", error)
        self.assertIn("mismatch", error)

    def test_files_that_cannot_be_used(self):
        code, error = refused("--listen", "127.0.0.1:0", "--tls-cert", "cert.pem")
        self.assertEqual((code, "go together" in error), (CONFIGURATION, True), error)
        code, error = refused("--listen", "127.0.0.1:0", "--tls-cert", "none.pem", "--tls-key", "key.pem")
        self.assertEqual((code, "--tls-cert none.pem" in error), (MISSING, True), error)
        os.rename("cert.pem", "other.pem")
        make_certificate("another")
        code, error = refused("--listen", "127.0.0.1:0", "--tls-cert", "other.pem", "--tls-key", "key.pem")
        self.assertEqual(code, CONFIGURATION, error)
        os.chmod("key.pem", 0o644)
        code, error = refused("--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
        self.assertEqual(code, CONFIGURATION, error)
        self.assertIn("chmod 600", error)


if __name__ == "__main__":
    unittest.main()
