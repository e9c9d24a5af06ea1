"""examples/nginx/hapax.conf unchanged except for addresses and files: a private nginx with TLS in front of
`hapax serve`, and clients that enqueue, poll and listen through it."""

import getpass
import http.client
import json
import os
import pathlib
import random
import shutil
import socket
import ssl
import subprocess
import threading
import time
import unittest

from _server import BIN, Server, clean_environment, until

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "nginx" / "hapax.conf"
NAME = "hapax.example.com"
STORE = {"HAPAX_STORE_URL": "sqlite:nginx.db"}

MAIN = """
daemon off;
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  include {folder}/hapax.conf;
}}
"""


def free_port():
    """A port below the range that the system assigns by itself."""
    while True:
        port = random.randrange(10_000, 20_000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


def find_nginx():
    found = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    assert found, "nginx is missing: ./dev test installs the Debian package nginx-light"
    return found


class BehindNginx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path.cwd() / "nginx"
        folder.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", str(folder / "key.pem"),
                        "-out", str(folder / "cert.pem")], check=True, capture_output=True)
        made = subprocess.run([BIN, "token", "create", "--scopes", "enqueue,read,work", "--json"], check=True, capture_output=True,
                              env=clean_environment(**STORE))
        cls.token = json.loads(made.stdout)["token"]
        cls.server = Server(BIN, "serve", "--listen", "127.0.0.1:0", "--host", NAME, env=STORE)
        cls.addClassCleanup(cls.server.stop)
        cls.folder = folder
        cls.context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        # Another process may take the free port before nginx binds it.
        for tries_left in reversed(range(5)):
            cls.start_nginx()
            until(lambda: cls.nginx.poll() is not None or cls.listens(), "nginx to listen")
            if cls.nginx.poll() is None:
                break
            said = cls.nginx.communicate()[0].decode()
            if not tries_left or "in use" not in said:
                raise AssertionError("nginx ended: " + said)
        cls.addClassCleanup(cls.stop_nginx)

    @classmethod
    def start_nginx(cls):
        cls.plain, cls.tls = free_port(), free_port()
        site = EXAMPLE.read_text(encoding="utf-8")
        for written, meant in (("server 127.0.0.1:7171;", f"server 127.0.0.1:{cls.server.port};"),
                               ("  listen 80;\n  listen [::]:80;\n", f"  listen 127.0.0.1:{cls.plain};\n"),
                               ("  listen 443 ssl http2;\n  listen [::]:443 ssl http2;\n", f"  listen 127.0.0.1:{cls.tls} ssl http2;\n"),
                               (f"/etc/ssl/certs/{NAME}.pem", str(cls.folder / "cert.pem")),
                               (f"/etc/ssl/private/{NAME}.key", str(cls.folder / "key.pem"))):
            assert site.count(written) == 1, f"the example has no {written!r}"
            site = site.replace(written, meant)
        (cls.folder / "hapax.conf").write_text(site, encoding="utf-8")
        user = f"user {getpass.getuser()};" if os.getuid() == 0 else ""
        (cls.folder / "nginx.conf").write_text(MAIN.format(folder=cls.folder, user=user), encoding="utf-8")
        cls.nginx = subprocess.Popen([find_nginx(), "-p", str(cls.folder), "-c", str(cls.folder / "nginx.conf")], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @classmethod
    def listens(cls):
        """Whether nginx itself listens: another program on its port would not have the certificate."""
        try:
            with socket.create_connection(("127.0.0.1", cls.tls), timeout=5) as plain:
                cls.context.wrap_socket(plain, server_hostname=NAME).close()
            return True
        except OSError:
            return False

    @classmethod
    def stop_nginx(cls):
        cls.nginx.terminate()
        cls.nginx.wait(20)
        cls.nginx.stdout.close()

    def connect(self):
        connection = http.client.HTTPSConnection("127.0.0.1", self.tls, timeout=60)
        plain = socket.create_connection(("127.0.0.1", self.tls), timeout=60)
        connection.sock = self.context.wrap_socket(plain, server_hostname=NAME)
        self.addCleanup(connection.close)
        return connection

    def send(self, connection, method, path, body=None, **headers):
        given = {"Host": NAME, "Authorization": "Bearer " + self.token, **headers}
        if body is not None:
            given.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method, path, body=body, headers=given)
        return connection.getresponse()

    def ask(self, method, path, body=None, **headers):
        answer = self.send(self.connect(), method, path, body, **headers)
        return answer.status, json.loads(answer.read())

    def test_plain_http_is_sent_to_tls(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.plain, timeout=20)
        connection.request("GET", "/v1/queues?x=1", headers={"Host": NAME})
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.getheader("Location")), (308, f"https://{NAME}/v1/queues?x=1"))
        connection.close()

    def test_an_enqueue_and_its_duplicate(self):
        body = {"input": 1, "idempotency_key": "k", "queue": "plain"}
        status, made = self.ask("POST", "/v1/tasks/pay/executions", body)
        self.assertEqual((status, made["created"]), (201, True))
        status, again = self.ask("POST", "/v1/tasks/pay/executions", body)
        self.assertEqual((status, again["existing_execution_id"]), (409, made["id"]))
        # A request without a valid token is refused; the proxy's own address is not trusted.
        self.assertEqual(self.ask("GET", "/v1/queues", Authorization="Bearer x")[0], 401)

    def test_a_page_changes_its_own_server_only(self):
        body = {"input": 1, "queue": "plain"}
        own = {"Origin": f"https://{NAME}", "Sec-Fetch-Site": "same-origin"}
        self.assertEqual(self.ask("POST", "/v1/tasks/pay/executions", body, **own)[0], 201)
        self.assertEqual(self.ask("POST", "/v1/tasks/pay/executions", body, Origin="https://evil.example")[0], 403)

    def test_over_http_2(self):
        done = subprocess.run(["curl", "-sS", "--http2", "--cacert", "nginx/cert.pem", "--resolve", f"{NAME}:{self.tls}:127.0.0.1",
                               "-H", "Authorization: Bearer " + self.token, "-H", "Content-Type: application/json", "-d", '{"input":2}',
                               "-w", "\n%{http_version} %{http_code}", f"https://{NAME}:{self.tls}/v1/tasks/pay/executions"],
                              capture_output=True, timeout=60, check=True)
        self.assertEqual(done.stdout.decode().splitlines()[-1], "2 201")

    def test_a_long_poll_is_answered_when_work_comes(self):
        told = []
        poll = threading.Thread(target=lambda: told.append(self.ask("POST", "/v1/claims", {"queues": ["polled"], "wait": "30s"})))
        begun = time.monotonic()
        poll.start()
        time.sleep(0.5)
        self.ask("POST", "/v1/tasks/pay/executions", {"input": 3, "queue": "polled"})
        poll.join(60)
        self.assertEqual((told[0][0], [claim["input"] for claim in told[0][1]["claims"]]), (200, [3]))
        self.assertLess(time.monotonic() - begun, 20)
        # A poll that finds nothing is answered by hapax when its wait ends, not by a timeout of the proxy.
        self.assertEqual(self.ask("POST", "/v1/claims", {"queues": ["none"], "wait": "2s"})[1]["claims"], [])

    def test_a_stream_comes_line_by_line(self):
        answer = self.send(self.connect(), "GET", "/v1/stream")
        self.assertEqual((answer.status, answer.getheader("Content-Type").split(";")[0]), (200, "text/event-stream"))

        def next_event(kind):
            while True:
                line = answer.readline()
                if not line:
                    raise AssertionError("the stream ended")
                if line == f"event: {kind}\n".encode():
                    return json.loads(answer.readline().removeprefix(b"data: "))
        next_event("ready")
        begun = time.monotonic()
        made = self.ask("POST", "/v1/tasks/pay/executions", {"queue": "streamed"})[1]["id"]
        while next_event("execution")["id"] != made:
            pass
        self.assertLess(time.monotonic() - begun, 20)

    def test_a_batch_streams_through(self):
        lines = "".join(json.dumps({"task": "pay", "queue": "batch", "input": "x" * 100 + str(i)}) + "\n" for i in range(20_000))
        self.assertGreater(len(lines), 2 << 20, "more than a body that is taken whole")
        answer = self.send(self.connect(), "POST", "/v1/executions/batch", lines, **{"Content-Type": "application/x-ndjson"})
        self.assertEqual((answer.status, answer.read().count(b'"created":true')), (200, 20_000))

    def test_metrics_from_inside(self):
        answer = self.send(self.connect(), "GET", "/metrics")
        self.assertEqual(answer.status, 200)
        self.assertIn(b"hapax_queue_depth", answer.read())


if __name__ == "__main__":
    unittest.main()
