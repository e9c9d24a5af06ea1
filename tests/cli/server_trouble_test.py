"""`--server` when the server is unreachable, disappears, is not hapax, or has another host's certificate."""

import json
import os
import socket
import subprocess
import threading
import time
import unittest

from _hapax import BIN, CONFIGURATION, MISSING, OK, STORE, OnSqlite, clean_environment, run
from _serving import Serving

UUID = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"
ADMISSION = json.dumps({"id": UUID, "created": True, "status": "pending", "run": 1})


def until(condition):
    while not condition():
        time.sleep(0.005)


def answer(body, status="200 OK", kind="application/json", *headers):
    head = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body.encode())}", *headers]
    return ("\r\n".join(head) + "\r\n\r\n" + body).encode()


class Impostor:
    """Answers each request with the next of the given byte strings and closes the connection. Records the requests."""

    def __init__(self, test, *answers):
        self.answers, self.asked = list(answers), []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        test.addCleanup(self.listener.close)

    def stop(self):
        # A thread blocked in accept() would keep the listener open.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                data = b""
                while b"\r\n\r\n" not in data:
                    data += connection.recv(65536)
                head, body = data.split(b"\r\n\r\n", 1)
                for line in head.split(b"\r\n"):
                    if line.lower().startswith(b"content-length:"):
                        while len(body) < int(line.split(b":")[1]):
                            body += connection.recv(65536)
                self.asked.append(head.decode())
                try:
                    connection.sendall(self.answers.pop(0) if self.answers else b"")
                except OSError:
                    pass


class Trouble(OnSqlite, unittest.TestCase):
    def test_nobody_is_there(self):
        # The bound socket keeps the port reserved, and nothing listens on it.
        taken = socket.socket()
        self.addCleanup(taken.close)
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        for arguments in (["list"], ["enqueue", "job"], ["work", "--exec", "cat", "--until-empty"], ["work", "--exec", "cat"],
                          ["top", "--once"]):
            away = run(*arguments, "--server", f"http://127.0.0.1:{port}")
            self.assertEqual(away.code, STORE, away)
            self.assertTrue(away.err.startswith(f"ServerUnavailable: cannot reach http://127.0.0.1:{port}: "), away)
            self.assertEqual(away.err.count("\n"), 1, away)
            told = run(*arguments, "--json", "--server", f"http://127.0.0.1:{port}")
            self.assertEqual((told.code, told.json["error"], told.json["status"]), (STORE, "ServerUnavailable", 503), told)
        self.assertEqual(run("list", "--server", "http://no-such-host.invalid").code, STORE)

    def test_something_else_is_there(self):
        for other in (answer("<html>hello</html>", kind="text/html"), answer("{]"), answer("nginx", "502 Bad Gateway", "text/html"),
                      answer("gone", "404 Not Found", "text/plain"), b"SSH-2.0-OpenSSH_9.2\r\n" * 3, answer("[]"), answer('{"executions": 7}'),
                      answer("", "301 Moved Permanently", "text/html", "Location: https://elsewhere/\x1b[31m"),
                      b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            impostor = Impostor(self, *[other] * 5)
            wrong = run("list", "--json", "--server", impostor.url)
            self.assertEqual(wrong.code, STORE, (other, wrong))
            self.assertNotIn(b"\x1b", wrong.raw_out)

    def test_an_answer_that_is_lost(self):
        cut = answer(ADMISSION)[:-10]
        # With a key the request is repeated and gets the execution that it created.
        impostor = Impostor(self, cut, b"", answer(ADMISSION, "201 Created"))
        made = run("enqueue", "pay", "--task-id", "k", "--json", "--server", impostor.url)
        self.assertEqual((made.code, len(impostor.asked)), (OK, 3), made)
        # Without a key the outcome stays unknown, and the request is not repeated.
        impostor = Impostor(self, cut, answer(ADMISSION))
        unknown = run("enqueue", "pay", "--server", impostor.url)
        self.assertEqual((unknown.code, unknown.err.split(":")[0], len(impostor.asked)), (STORE, "CommitUnknown", 1), unknown)
        self.assertIn("whether it was done is not known", unknown.err)
        impostor = Impostor(self, cut, answer(ADMISSION))
        again = run("enqueue", "pay", "--task-id", "k", "--on-conflict", "terminate_existing", "--server", impostor.url)
        self.assertEqual((again.code, len(impostor.asked)), (STORE, 1), again)
        # The outcome is also unknown if the server is gone before the repeated request.
        impostor = Impostor(self, cut)
        threading.Thread(target=lambda: (until(lambda: impostor.asked), impostor.stop()), daemon=True).start()
        gone = run("enqueue", "pay", "--task-id", "k", "--server", impostor.url)
        self.assertEqual((gone.code, gone.err.split(":")[0]), (STORE, "CommitUnknown"), gone)
        self.assertIn("asking again is safe", gone.err)
        bulk = Impostor(self, b"")
        lines = run("enqueue", "--bulk", "-", "--server", bulk.url, input='{"task":"a"}\n{"task":"b"}\n')
        self.assertEqual(lines.code, STORE, lines)
        self.assertIn("lines 1 to 2 may have been admitted or not; 0 of the lines before were", lines.err)
        # A read is repeated, but not for ever.
        impostor = Impostor(self, *[cut] * 9)
        self.assertEqual((run("show", UUID, "--server", impostor.url).code, len(impostor.asked)), (STORE, 3))

    def test_a_prefix_behind_a_proxy_and_no_token_in_the_request_line(self):
        impostor = Impostor(self, answer('{"executions":[],"next":null}'))
        listed = run("list", "--server", impostor.url + "/behind/", env={"HAPAX_TOKEN": "hapax_secret"})
        self.assertEqual(listed.code, OK, listed)
        head = impostor.asked[0].split("\r\n")
        self.assertTrue(head[0].startswith("GET /behind/v1/executions?"), head)
        self.assertIn("Authorization: Bearer hapax_secret", head)
        self.assertNotIn("hapax_secret", head[0])
        self.assertFalse([line for line in head if line.startswith("Hapax-Namespace")])

    def test_a_server_that_dies_in_the_middle_of_a_bulk(self):
        server = Serving(self, self.url)
        for key in (True, False):
            child = subprocess.Popen([BIN, "enqueue", "--bulk", "-", "--server", server.url], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=clean_environment())
            self.children.append(child)
            line = (lambda n: f'{{"task":"load","input":{n},"task_id":"k{n}"}}\n') if key else (lambda n: f'{{"task":"load","input":{n}}}\n')
            before = self.good("queue", "list")
            before = before[0]["ready"] if before else 0
            # The rest is more than a pipe holds: once it is written, the program is reading on, so it has the
            # first batch's answer.
            child.stdin.write("".join(line(n) for n in range(9900)).encode())
            child.stdin.flush()
            self.until(lambda: self.good("queue", "show", "default")["ready"] == before + 5000, "the first batch")
            server.kill()
            out, err = child.communicate("".join(line(n) for n in range(9900, 11000)).encode(), timeout=60)
            self.assertEqual(child.returncode, STORE, err)
            self.assertIn(b"stopped before line 5001; 5000 of the lines before were admitted, nothing of this batch", err)
            self.assertEqual(self.good("queue", "show", "default")["ready"], before + 5000)
            server = Serving(self, self.url)

    def test_wait_outlives_short_polls_and_ends_in_time(self):
        server = Serving(self, self.url)
        id = self.enqueue("job")
        begun = time.monotonic()
        self.assertEqual(run("wait", id, "--timeout", "700ms", "--server", server.url).code, 124)
        self.assertLess(time.monotonic() - begun, 10)
        waiter = subprocess.Popen([BIN, "wait", id, "--json", "--server", server.url], stdout=subprocess.PIPE, env=clean_environment())
        self.children.append(waiter)
        self.work("cat")
        self.assertEqual(waiter.wait(30), OK)


class Certificates(OnSqlite, unittest.TestCase):
    def certificate(self, name, *names):
        certificate, key = self.path(name + ".pem"), self.path(name + ".key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=" + name, "-addext", "subjectAltName=" + ",".join(names), "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        os.chmod(key, 0o600)
        return certificate, key

    def test_they_are_verified(self):
        certificate, key = self.certificate("good", "IP:127.0.0.1", "DNS:localhost")
        server = Serving(self, self.url, "--tls-cert", certificate, "--tls-key", key)
        self.assertTrue(server.url.startswith("https://127.0.0.1:"))
        good = run("enqueue", "job", "--json", "--server", server.url, "--ca-file", certificate)
        self.assertEqual(good.code, OK, good)
        id = good.json["id"]
        named = server.url.replace("127.0.0.1", "localhost")
        self.assertEqual(run("show", id, "--server", named, env={"HAPAX_SERVER_CA_FILE": certificate}).code, OK)
        done = run("work", "--exec", "cat", "--until-empty", "--json", "--server", server.url, "--ca-file", certificate)
        self.assertEqual((done.code, done.json["completed"]), (OK, 1), done)
        untrusted = run("show", id, "--server", server.url)
        self.assertEqual(untrusted.code, CONFIGURATION, untrusted)
        self.assertIn("certificate", untrusted.err)
        self.assertEqual(run("show", id, "--server", server.url, "--ca-file", self.path("none.pem")).code, MISSING)
        # Plain HTTP to a TLS server gets no answer.
        self.assertEqual(run("show", id, "--server", server.url.replace("https", "http")).code, STORE)

    def test_another_hosts_is_refused(self):
        certificate, key = self.certificate("other", "DNS:hapax.example.org")
        server = Serving(self, self.url, "--tls-cert", certificate, "--tls-key", key)
        refused = run("list", "--server", server.url, "--ca-file", certificate)
        self.assertEqual(refused.code, CONFIGURATION, refused)


if __name__ == "__main__":
    unittest.main()
