"""Shared by the transport's tests: a server under test, and a client that sends exactly the given bytes."""

import json
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time

BIN = os.environ.get("HAPAX_BIN") or sys.exit("HAPAX_BIN is not set: it must name the program under test")
TESTBED = os.environ.get("HAPAX_HTTP_TESTBED") or sys.exit("HAPAX_HTTP_TESTBED is not set: it must name http_testbed")


def clean_environment(**extra):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HAPAX_")}
    kept.update(extra)
    return kept


class Server:
    """A process that prints `listening on URL`. Reads its log, one JSON object per line, continuously."""

    def __init__(self, *command, env=None):
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=clean_environment(**(env or {})))
        self.log = []
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"listening on (https?)://(.*):(\d+)\n", line)
        if not found:
            self.process.wait(10)
            self.reader.join(5)
            raise AssertionError(f"it did not start: {line!r} {self.log}")
        self.scheme, self.host, self.port = found[1], found[2], int(found[3])

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line.decode("utf-8", "replace").rstrip("\n"))

    def stop(self, seconds=30):
        """Sends SIGTERM and returns the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(seconds)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.reader.join(5)
            self.process.stdout.close()
            self.process.stderr.close()
        return code

    def memory_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self, timeout=20, context=None):
        plain = socket.create_connection((self.host, self.port), timeout=timeout)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Client(context.wrap_socket(plain, server_hostname="localhost") if context else plain)

    def get(self, path, *headers, **options):
        """One request on a connection of its own."""
        with self.connect(**options) as client:
            return client.ask("GET", path, *headers)

    def ask(self, *arguments, **keywords):
        with self.connect() as client:
            return client.ask(*arguments, **keywords)

    def raw(self, data, **options):
        """Sends these bytes; reads one answer and what follows it, until the connection ends or is silent."""
        with self.connect() as client:
            client.send(data)
            return client.answer(**options)


def testbed(*arguments):
    return Server(TESTBED, *arguments)


class Answer:
    def __init__(self, status, headers, body, closed):
        self.status, self.headers, self.body, self.closed = status, headers, body, closed

    @property
    def json(self):
        return json.loads(self.body)

    def header(self, name):
        values = [value for key, value in self.headers if key == name.lower()]
        return values[0] if values else None

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:300]!r} closed={self.closed}"


class Client:
    def __init__(self, connection):
        self.socket = connection
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data.encode("latin-1") if isinstance(data, str) else data)

    def receive(self):
        """Reads more bytes into the buffer. Returns False at the end of the connection."""
        try:
            data = self.socket.recv(65536)
        except (ConnectionResetError, ssl.SSLEOFError):
            data = b""
        self.buffer += data
        return bool(data)

    def until(self, mark):
        while mark not in self.buffer:
            if not self.receive():
                raise EOFError(f"the connection ended before {mark!r}: {self.buffer[:500]!r}")
        found, self.buffer = self.buffer.split(mark, 1)
        return found

    def exactly(self, count):
        while len(self.buffer) < count:
            if not self.receive():
                raise EOFError(f"the connection ended after {len(self.buffer)} of {count} bytes")
        found, self.buffer = self.buffer[:count], self.buffer[count:]
        return found

    def head(self):
        """Status and headers of the next answer; 100 Continue counts as an answer."""
        first, *lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, _ = first.split(" ", 2)
        assert version == "HTTP/1.1", first
        headers = [(name.lower(), value.strip()) for name, value in (line.split(":", 1) for line in lines)]
        return int(status), headers

    def chunk(self):
        """The next chunk of a chunked answer; empty at its end."""
        size = int(self.until(b"\r\n"), 16)
        data = self.exactly(size)
        assert self.exactly(2) == b"\r\n"
        return data

    def answer(self, head_only=False):
        status, headers = self.head()
        given = dict(headers)
        body = b""
        if head_only or status in (204, 304) or status < 200:
            pass
        elif given.get("transfer-encoding") == "chunked":
            while piece := self.chunk():
                body += piece
        elif "content-length" in given:
            body = self.exactly(int(given["content-length"]))
        else:
            while self.receive():
                pass
            body, self.buffer = self.buffer, b""
        closed = given.get("connection") == "close" and self.ended()
        return Answer(status, headers, body, closed)

    def ended(self, seconds=20):
        """Whether the server has closed the connection without sending more."""
        self.socket.settimeout(seconds)
        try:
            return not self.buffer and not self.receive()
        except TimeoutError:
            return False

    def ask(self, method, path, *headers, body=None, version="1.1"):
        lines = [f"{method} {path} HTTP/{version}", "Host: localhost", *headers]
        data = b""
        if body is not None:
            data = body if isinstance(body, bytes) else body.encode()
            lines.append(f"Content-Length: {len(data)}")
        try:
            self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data)
        except BrokenPipeError:
            pass  # the server answered before the whole request was sent, and closed
        return self.answer(head_only=method == "HEAD")


def request(first="GET /healthz HTTP/1.1", *headers, body=b""):
    return "\r\n".join([first, "Host: localhost", *headers]).encode("latin-1") + b"\r\n\r\n" + body


JSON = "Content-Type: application/json"


def until(condition, what, seconds=30):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError("in vain waited for: " + what)
        time.sleep(0.02)
