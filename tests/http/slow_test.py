"""Slow, silent and vanished clients lose their connection in time, and other clients notice nothing."""

import time
import unittest

from _server import JSON, request, testbed, until


class Slow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = testbed("--header-time", "1s", "--idle-time", "1s", "--stall-time", "1s")
        cls.without_clients = cls.server.files()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def timed(self, begun, client, status):
        """The answer comes 0.8 to 15 s after `begun`, and the connection ends."""
        answer = client.answer()
        took = time.monotonic() - begun
        self.assertEqual((answer.status, answer.closed), (status, True), answer)
        self.assertEqual(answer.json["error"], "RequestTimeout")
        self.assertTrue(0.8 < took < 15, took)

    def trickled(self, client, first, more):
        """The status that a client gets which sends `more` ten times a second."""
        client.socket.settimeout(0.1)
        begun, piece = time.monotonic(), first
        while time.monotonic() - begun < 15:
            try:
                client.send(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the server has answered and closed
            try:
                return client.head()[0]
            except TimeoutError:
                piece = more
        return None

    def nobody_is_left(self, of):
        until(lambda: self.server.files() == self.without_clients, f"{of} to be given up")

    def test_headers_that_do_not_come(self):
        for sent in (b"", b"GET /healthz HTTP/1.1\r\nHost: loc", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"):
            begun = time.monotonic()
            with self.subTest(sent), self.server.connect() as client:
                client.send(sent)
                self.timed(begun, client, 408)

    def test_headers_that_trickle(self):
        with self.server.connect() as client:
            self.assertEqual(self.trickled(client, b"GET /h", b"x"), 408)

    def test_a_body_slower_than_a_kibibyte_a_second(self):
        for sent in (b"", b"{"):
            begun = time.monotonic()
            with self.subTest(sent), self.server.connect() as client:
                client.send(request("POST /echo HTTP/1.1", JSON, "Content-Length: 1000", body=sent))
                self.timed(begun, client, 408)
        with self.server.connect() as client:
            client.send(request("POST /echo HTTP/1.1", JSON, "Content-Length: 1000000"))
            self.assertEqual(self.trickled(client, b"x" * 10, b"x" * 10), 408)

    def test_a_body_that_is_slow_but_fast_enough(self):
        server = testbed("--stall-time", "3s")
        self.addCleanup(server.stop)
        with server.connect() as client:
            piece = b" " * 4000
            client.send(request("POST /echo HTTP/1.1", JSON, f"Content-Length: {45 * len(piece) + 2}"))
            for _ in range(45):
                client.send(piece)
                time.sleep(0.1)
            client.send(b"{}")
            self.assertEqual(client.answer().status, 200)

    def test_an_idle_connection_ends_without_a_word(self):
        with self.server.connect() as client:
            begun = time.monotonic()
            self.assertEqual(client.ask("GET", "/healthz").status, 200)
            self.assertTrue(client.ended())
            self.assertGreater(time.monotonic() - begun, 0.8)

    def test_a_client_that_does_not_read_its_answer(self):
        self.nobody_is_left("earlier tests")
        with self.server.connect() as client:
            client.send(request("GET /large?bytes=50000000 HTTP/1.1"))
            self.assertEqual(client.head()[0], 200)
            self.nobody_is_left("the one that does not read")

    def test_a_client_that_leaves_a_long_poll_or_a_stream(self):
        self.nobody_is_left("earlier tests")
        for path in ("/wait?for=60s", "/events"):
            clients = []
            for _ in range(20):
                clients.append(self.server.connect())
                clients[-1].send(request(f"GET {path} HTTP/1.1"))
            until(lambda: self.server.files() == self.without_clients + 20, "the connections")
            for client in clients:
                client.socket.close()
            self.nobody_is_left(path)

    def test_a_long_poll_is_not_slow(self):
        self.assertEqual(self.server.get("/wait?for=2500ms").json, {"woke": "time_over"})
        self.assertEqual(self.server.get("/blocking?for=2500ms").json, 42)


class Crowd(unittest.TestCase):
    def test_too_many_connections_are_told_and_the_good_ones_go_on(self):
        server = testbed("--connections", "20", "--header-time", "5s")
        try:
            good = [server.connect() for _ in range(20)]
            for client in good:
                self.assertEqual(client.ask("GET", "/healthz").status, 200)
            for _ in range(50):
                answer = server.get("/healthz")
                self.assertEqual((answer.status, answer.header("retry-after"), answer.closed), (503, "1", True))
                self.assertEqual(answer.json["error"], "TooManyConnections")
            for client in good:
                self.assertEqual(client.ask("GET", "/healthz").status, 200)
            good.pop().socket.close()
            until(lambda: server.get("/healthz").status == 200, "room for another")
            for client in good:
                client.socket.close()
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
