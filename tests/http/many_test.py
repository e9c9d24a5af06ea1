"""2,000 connections at once, among them 200 long polls and 200 streams; and memory that does not grow."""

import json
import resource
import selectors
import time
import unittest

from _server import JSON, request, testbed

CONNECTIONS, POLLS, STREAMS = 2000, 200, 200


def raise_file_limit():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


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
            took = []
            for _ in range(2):
                for client in others:
                    begun = time.monotonic()
                    self.assertEqual(client.ask("GET", "/healthz").status, 200)
                    took.append(time.monotonic() - begun)
            took.sort()
            print(f"{connections} connections: GET /healthz p50 {took[len(took) // 2] * 1e3:.2f} ms, "
                  f"p99 {took[len(took) * 99 // 100] * 1e3:.2f} ms, {server.memory_kib()} KiB resident", flush=True)
            for client in streams:
                self.assertEqual(client.chunk(), b": hello\n\n")
                self.assertEqual(client.chunk(), b"data: 0\n\n")
            # All others at once.
            selector = selectors.DefaultSelector()
            for client in others:
                client.send(request())
                selector.register(client.socket, selectors.EVENT_READ, client)
            left = len(others)
            limit = time.monotonic() + 30
            while left and time.monotonic() < limit:
                for key, _ in selector.select(1):
                    self.assertEqual(key.data.answer().status, 200)
                    selector.unregister(key.fileobj)
                    left -= 1
            self.assertEqual(left, 0)
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
