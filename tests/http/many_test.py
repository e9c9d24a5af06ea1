"""2,000 connections at once, among them 200 long polls and 200 streams, to the transport alone and to `hapax
serve`; and memory that does not grow."""

import json
import resource
import selectors
import time
import unittest

from _server import BIN, JSON, Server, request, testbed

CONNECTIONS, POLLS, STREAMS = 2000, 200, 200
NDJSON = "Content-Type: application/x-ndjson"


def raise_file_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def post(path, body):
    data = json.dumps(body).encode()
    return request(f"POST {path} HTTP/1.1", JSON, f"Content-Length: {len(data)}", body=data)


def ask_all_at_once(clients):
    """Sends GET /healthz on all connections. Returns how many were not answered 200 within 30 s."""
    selector = selectors.DefaultSelector()
    for client in clients:
        client.send(request())
        selector.register(client.socket, selectors.EVENT_READ, client)
    left = len(clients)
    limit = time.monotonic() + 30
    while left and time.monotonic() < limit:
        for key, _ in selector.select(1):
            if key.data.answer().status == 200:
                left -= 1
            selector.unregister(key.fileobj)
    return left


def ask_in_turn(clients, rounds):
    """Milliseconds of each GET /healthz, sorted."""
    took = []
    for _ in range(rounds):
        for client in clients:
            begun = time.monotonic()
            assert client.ask("GET", "/healthz").status == 200
            took.append((time.monotonic() - begun) * 1e3)
    return sorted(took)


class OfTheServer(unittest.TestCase):
    """Real long polls and streams: each poll gets one of 200 tasks, each stream gets an event for every task."""

    def test_all_are_served(self):
        connections = min(CONNECTIONS, raise_file_limit() - 200)
        self.assertEqual(connections, CONNECTIONS, "this machine lets us open too few files")
        server = Server(BIN, "serve", "--store", "sqlite:many.db", "--listen", "127.0.0.1:0", "--log", "errors")
        clients = []
        try:
            clients = [server.connect(timeout=60) for _ in range(connections)]
            polls, streams, others = clients[:POLLS], clients[POLLS:POLLS + STREAMS], clients[POLLS + STREAMS:]
            for client in streams:
                client.send(request("GET /v1/stream HTTP/1.1"))
            for client in streams:
                self.assertEqual(client.head()[0], 200)
                client.until(b"event: ready\n")
            for client in polls:
                client.send(post("/v1/claims", {"queues": ["many"], "wait": "120s", "lease": "10m"}))
            took = ask_in_turn(others, 2)
            print(f"{connections} connections with {POLLS} polls and {STREAMS} streams: GET /healthz p50 "
                  f"{took[len(took) // 2]:.2f} ms, p99 {took[len(took) * 99 // 100]:.2f} ms, {server.memory_kib()} KiB resident",
                  flush=True)
            self.assertEqual(ask_all_at_once(others), 0)
            lines = "".join(json.dumps({"task": "t", "queue": "many", "input": number}) + "\n" for number in range(POLLS))
            made = others[0].ask("POST", "/v1/executions/batch", NDJSON, body=lines)
            ids = [json.loads(line)["id"] for line in made.body.splitlines()]
            claimed = []
            for client in polls:
                answer = client.answer()
                self.assertEqual(answer.status, 200, answer)
                claimed += [claim["id"] for claim in answer.json["claims"]]
            self.assertEqual(sorted(claimed), sorted(ids))
            # All polls have been answered, and all streams get their events while the other connections still wait.
            for client in streams:
                client.until(b"event: execution\n")
            self.assertEqual(ask_all_at_once(others), 0)
        finally:
            for client in clients:
                client.socket.close()
            server.stop()


class Many(unittest.TestCase):
    def test_all_are_served(self):
        connections = min(CONNECTIONS, raise_file_limit() - 200)
        self.assertGreaterEqual(connections, POLLS + STREAMS + 100, "this machine lets us open too few files")
        server = testbed("--log", "off")
        clients = []
        try:
            clients = [server.connect() for _ in range(connections)]
            polls, streams, others = clients[:POLLS], clients[POLLS:POLLS + STREAMS], clients[POLLS + STREAMS:]
            for client in polls:
                client.send(request("GET /wait?for=20s HTTP/1.1"))
            for client in streams:
                client.send(request("GET /events HTTP/1.1"))
            for client in streams:
                self.assertEqual(client.head()[0], 200)
            took = ask_in_turn(others, 2)
            print(f"{connections} connections: GET /healthz p50 {took[len(took) // 2]:.2f} ms, "
                  f"p99 {took[len(took) * 99 // 100]:.2f} ms, {server.memory_kib()} KiB resident", flush=True)
            for client in streams:
                self.assertEqual(client.chunk(), b": hello\n\n")
                self.assertEqual(client.chunk(), b"data: 0\n\n")
            self.assertEqual(ask_all_at_once(others), 0)
            for client in polls:
                self.assertEqual(client.answer().json, {"woke": "time_over"})
        finally:
            for client in clients:
                client.socket.close()
            server.stop()

    def test_memory_does_not_grow(self):
        server = testbed("--log", "off")
        try:
            def load(rounds):
                body = json.dumps({"x": "y" * 100_000})
                for _ in range(rounds):
                    with server.connect() as client:
                        for _ in range(20):
                            client.ask("GET", "/healthz")
                        self.assertEqual(client.ask("POST", "/echo", JSON, body=body).status, 200)
                        client.ask("GET", "/nowhere")
                    self.assertEqual(server.raw(b"GET /\n\n").status, 400)
                    server.get("/large?bytes=300000")
            load(100)
            before = server.memory_kib()
            load(400)
            after = server.memory_kib()
            self.assertLess(after - before, 4096, f"{before} KiB, then {after} KiB")
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
