"""A fuzzing client. [SECONDS [SEED]]: 10 seconds of seed 1 by default; ./dev fuzz http runs longer, with
another seed.

Several threads send requests that were cut, joined, repeated and damaged, each on its own
connection, at times slowly and in pieces. Meanwhile a well-behaved client must be served all the
time. At the end the server must be alive and ready, no larger than before (unless
HAPAX_FUZZ_MEMORY is no), and have no defect in its log. HAPAX_FUZZ_SERVER names the program to
run instead of the testbed."""

import atexit
import json
import os
import random
import shlex
import signal
import socket
import sys
import threading
import time

from _server import Server, TESTBED, request

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 10
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
THREADS = 4
# A sanitizer keeps freed memory, so the process's size then says nothing.
JUDGES_MEMORY = os.environ.get("HAPAX_FUZZ_MEMORY", "yes") == "yes"

JSON_TYPE = "Content-Type: application/json"
SEEDS = [
    request(),
    request("GET /wait?for=5ms HTTP/1.1"),
    request("GET /metrics HTTP/1.1"),
    request("HEAD /large?bytes=100 HTTP/1.0"),
    request("OPTIONS * HTTP/1.1"),
    request("POST /echo HTTP/1.1", JSON_TYPE, "Content-Length: 13", body=b'{"a":[1,2,3]}'),
    request("POST /echo HTTP/1.1", JSON_TYPE, "Transfer-Encoding: chunked", body=b"5\r\n[1,2,\r\n2;x\r\n3]\r\n0\r\nT: x\r\n\r\n"),
    request("POST /lines HTTP/1.1", "Content-Type: application/x-ndjson", "Content-Length: 6", body=b"1\n22\n3"),
    request("POST /lines HTTP/1.1", "Content-Type: application/x-ndjson", "Transfer-Encoding: chunked",
            body=b"4\r\n1\n22\r\n0\r\n\r\n"),
    request("PUT /echo/a%2fb?x=%41&y=+ HTTP/1.1", JSON_TYPE, "Content-Length: 2", "Expect: 100-continue", body=b"{}"),
    request("POST /v1/tasks/fuzz/executions HTTP/1.1", JSON_TYPE, "Content-Length: 11", body=b'{"input":1}'),
    request("POST /v1/claims HTTP/1.1", JSON_TYPE, "Content-Length: 16", body=b'{"queues":["q"]}'),
    request("GET /v1/executions?limit=5&cursor=x HTTP/1.1"),
    request("GET /throw/stale HTTP/1.1", "Connection: close"),
]
PIECES = [b"\r\n", b"\n", b"\r", b"\r\n\r\n", b" ", b"\t", b":", b"\0", b"%", b"%2e%2e%2f", b"/../", b"HTTP/1.1", b"HTTP/9.9",
          b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n",
          b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: gzip\r\n", b"Host: a\r\n", b"Connection: close\r\n",
          b"Expect: 100-continue\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"X: " + b"y" * 9000 + b"\r\n", b"\xff\xfe", b"{", b"[" * 100,
          b"Content-Encoding: gzip\r\n", b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"]


def damaged(rng):
    data = bytearray(b"".join(rng.choice(SEEDS) for _ in range(rng.choice((1, 1, 1, 2, 5)))))
    for _ in range(rng.choice((0, 1, 1, 2, 4, 10))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            data[at:at] = rng.choice(PIECES)
        elif kind == 1:
            del data[at:at + rng.choice((1, 2, 8, 64))]
        elif kind == 2 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 3:
            end = min(len(data), at + rng.randrange(1, 40))
            data[at:at] = data[at:end] * rng.choice((1, 2, 50))
        elif kind == 4:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 20)))
        else:
            data[:] = data[:max(1, at)]
    return bytes(data)


class Fuzzing:
    def __init__(self, server):
        self.server = server
        self.stop = threading.Event()
        self.troubles = []
        self.sent = [0] * THREADS
        self.answers = [0] * THREADS
        self.good = 0
        self.slowest = 0.0

    def attack(self, number):
        rng = random.Random(SEED * 1000 + number)
        while not self.stop.is_set():
            data = damaged(rng)
            try:
                with socket.create_connection((self.server.host, self.server.port), timeout=10) as connection:
                    connection.settimeout(rng.choice((0.002, 0.02, 0.2)))
                    pieces = rng.choice((1, 1, 1, 2, 5))
                    step = max(1, len(data) // pieces)
                    for at in range(0, len(data), step):
                        connection.sendall(data[at:at + step])
                    if rng.random() < 0.3:
                        connection.shutdown(socket.SHUT_WR)
                    try:
                        first = connection.recv(65536)
                        if first and not first.startswith(b"HTTP/1.1 "):
                            self.troubles.append(f"an answer that is none: {first[:100]!r} to {data!r}")
                        if first.startswith(b"HTTP/1.1 500"):
                            self.troubles.append(f"500 to {data!r}: {first!r}")
                        self.answers[number] += bool(first)
                    except TimeoutError:
                        pass
            except (ConnectionResetError, BrokenPipeError, TimeoutError):
                pass
            self.sent[number] += 1

    def behave(self):
        while not self.stop.is_set():
            begun = time.monotonic()
            try:
                answer = self.server.get("/healthz", timeout=30)
                if answer.status != 200:
                    self.troubles.append(f"a good client got {answer}")
            except OSError as error:
                self.troubles.append(f"a good client got {error!r}")
                return
            self.slowest = max(self.slowest, time.monotonic() - begun)
            self.good += 1
            time.sleep(0.01)


def main():
    command = os.environ.get("HAPAX_FUZZ_SERVER")
    server = Server(*(shlex.split(command) if command else [TESTBED]), *([] if command else ["--stall-time", "2s"]))
    # A signal that ends this program ends the server too.
    atexit.register(server.process.kill)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    fuzzing = Fuzzing(server)
    threads = [threading.Thread(target=fuzzing.attack, args=(number,), daemon=True) for number in range(THREADS)]
    threads.append(threading.Thread(target=fuzzing.behave, daemon=True))
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    warm = None
    while time.monotonic() - begun < SECONDS and not fuzzing.troubles:
        time.sleep(0.2)
        if warm is None and time.monotonic() - begun > min(60, SECONDS / 3):
            warm = server.memory_kib()
        if server.process.poll() is not None:
            fuzzing.troubles.append(f"the server ended with {server.process.returncode}: " + "\n".join(server.log[-40:]))
    after = server.memory_kib() if server.process.poll() is None else 0
    fuzzing.stop.set()
    for thread in threads:
        thread.join()
    if JUDGES_MEMORY and warm is not None and after - warm > 20_000:
        fuzzing.troubles.append(f"memory grew from {warm} to {after} KiB")
    for line in server.log:
        try:
            if json.loads(line).get("event") == "defect":
                fuzzing.troubles.append("a defect: " + line)
        except ValueError:
            fuzzing.troubles.append("a line of the log that is no JSON: " + line[:300])
    if server.process.poll() is None:
        if server.get("/readyz").status != 200:
            fuzzing.troubles.append("it is not ready any more")
        code = server.stop()
        if code != 0:
            fuzzing.troubles.append(f"it stopped with {code}: " + "\n".join(server.log[-40:]))
    print(f"seed {SEED}: {sum(fuzzing.sent)} connections of damaged requests, {sum(fuzzing.answers)} answered; "
          f"{fuzzing.good} good ones beside them, the slowest {fuzzing.slowest * 1e3:.0f} ms; memory {warm} → {after} KiB")
    for trouble in fuzzing.troubles[:10]:
        print(trouble)
    sys.exit(1 if fuzzing.troubles else 0)


if __name__ == "__main__":
    main()
