"""The rows of the bad-input table about HTTP itself, and the parts of HTTP that clients may rely on (RFC 9112)."""

import json
import unittest

from _server import JSON, request, testbed, until


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = testbed()

    @classmethod
    def tearDownClass(cls):
        if cls.server.stop() != 0:
            raise AssertionError("the server did not end well")

    def refused(self, answer, status, name, closed=None):
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.header("content-type"), "application/problem+json", answer)
        problem = answer.json
        self.assertLessEqual({"type", "title", "status", "detail", "message", "error"}, set(problem))
        self.assertEqual((problem["status"], problem["error"]), (status, name))
        self.assertEqual(problem["detail"], problem["message"])
        if closed is not None:
            self.assertEqual(answer.closed, closed, answer)
        return problem


class GoodRequests(Case):
    def test_an_answer_has_the_headers_that_keep_it_out_of_caches_and_browsers_guesses(self):
        answer = self.server.get("/healthz")
        self.assertEqual((answer.status, answer.json), (200, {"status": "up"}))
        self.assertEqual(answer.header("content-type"), "application/json")
        self.assertEqual(answer.header("cache-control"), "no-store")
        self.assertEqual(answer.header("x-content-type-options"), "nosniff")
        self.assertRegex(answer.header("date"), r"^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$")

    def test_a_connection_takes_request_after_request(self):
        with self.server.connect() as client:
            for i in range(20):
                answer = client.ask("POST", "/echo", JSON, body=json.dumps({"n": i}))
                self.assertEqual(answer.json["body"], {"n": i})

    def test_pipelined_requests_are_answered_in_their_order(self):
        with self.server.connect() as client:
            bodies = [json.dumps({"n": i, "pad": "x" * (i * 300)}).encode() for i in range(50)]
            client.send(b"".join(request("POST /echo HTTP/1.1", JSON, f"Content-Length: {len(b)}", body=b) for b in bodies))
            for body in bodies:
                self.assertEqual(client.answer().json["body"], json.loads(body))

    def test_a_request_may_come_byte_by_byte(self):
        with self.server.connect() as client:
            for byte in request("POST /echo HTTP/1.1", JSON, "Transfer-Encoding: chunked", body=b"3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n"):
                client.send(bytes([byte]))
            self.assertEqual(client.answer().json["body"], [1, 2])

    def test_chunks_with_extensions_and_trailers(self):
        with self.server.connect() as client:
            client.send(request("POST /echo HTTP/1.1", JSON, "Transfer-Encoding: Chunked",
                                body=b"2;a=b\r\n[1\r\n001\r\n]\r\n0\r\nX-Later: yes\r\n\r\n"))
            self.assertEqual(client.answer().json["body"], [1])
            self.assertEqual(client.ask("GET", "/healthz").status, 200)

    def test_http_1_0_ends_the_connection_unless_asked_to_keep_it(self):
        answer = self.server.raw(b"GET /healthz HTTP/1.0\r\n\r\n")
        self.assertEqual((answer.status, answer.closed), (200, True))
        with self.server.connect() as client:
            for _ in range(2):
                client.send(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                answer = client.answer()
                self.assertEqual((answer.status, answer.header("connection")), (200, "keep-alive"))

    def test_connection_close_is_honoured(self):
        self.assertTrue(self.server.get("/healthz", "Connection: close").closed)

    def test_head_is_get_without_its_body(self):
        with self.server.connect() as client:
            answer = client.ask("HEAD", "/large?bytes=1234")
            self.assertEqual((answer.status, answer.header("content-length"), answer.body), (200, "1234", b""))
            self.assertEqual(client.ask("GET", "/healthz").status, 200)

    def test_options_tells_the_methods(self):
        answer = self.server.ask("OPTIONS", "/echo")
        self.assertEqual((answer.status, answer.header("allow"), answer.body), (204, "POST, GET, HEAD, OPTIONS", b""))
        self.assertEqual(self.server.ask("OPTIONS", "*").status, 204)
        self.assertEqual(self.server.ask("OPTIONS", "/nowhere").status, 404)
        self.assertIsNone(self.server.ask("OPTIONS", "/echo", "Origin: http://evil").header("access-control-allow-origin"))

    def test_expect_100_continue(self):
        with self.server.connect() as client:
            client.send(request("POST /echo HTTP/1.1", JSON, "Content-Length: 2", "Expect: 100-continue"))
            self.assertEqual(client.answer().status, 100)
            client.send("{}")
            self.assertEqual(client.answer().json["body"], {})
        with self.server.connect() as client:
            client.send(request("POST /nowhere HTTP/1.1", JSON, "Content-Length: 2", "Expect: 100-continue"))
            answer = client.answer()
            self.assertEqual((answer.status, answer.closed), (404, True))
        self.refused(self.server.get("/healthz", "Expect: miracles"), 417, "ExpectationFailed")

    def test_an_absolute_target_and_an_empty_line_before_the_request(self):
        self.assertEqual(self.server.raw(request("GET http://localhost/healthz HTTP/1.1")).status, 200)
        self.assertEqual(self.server.raw(b"\r\n" + request()).status, 200)

    def test_paths_and_queries_are_percent_decoded(self):
        answer = self.server.ask("PUT", "/echo/a%2Fb%20c?x=1+2&y=%C3%A9", JSON, body="{}")
        self.assertEqual(answer.status, 200, answer)
        self.refused(self.server.get("/wait?for=1ms&for=2ms"), 400, "InvalidArgument")

    def test_traceparent_is_passed_on_if_it_is_one(self):
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        self.assertEqual(self.server.get("/echo", "traceparent: " + trace).json["traceparent"], trace)
        for bad in (trace[:-1], trace.upper(), trace.replace("00-", "ff-", 1), "00-" + "0" * 32 + "-b7ad6b7169203331-01"):
            self.assertEqual(self.server.get("/echo", "traceparent: " + bad).json["traceparent"], "", bad)

    def test_two_traceparents_are_ignored_and_the_request_is_served(self):
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        other = trace.replace("b7ad", "b7ae")
        for second in (other, trace, "nonsense"):
            answer = self.server.get("/echo", "traceparent: " + trace, "traceparent: " + second)
            self.assertEqual((answer.status, answer.json["traceparent"]), (200, ""), second)

    def test_without_tokens_a_header_chooses_the_namespace(self):
        self.assertEqual(self.server.get("/echo").json["namespace"], "default")
        self.assertEqual(self.server.get("/echo", "Hapax-Namespace: shop").json["namespace"], "shop")
        self.refused(self.server.get("/echo", "Hapax-Namespace: a", "Hapax-Namespace: b"), 400, "InvalidArgument")
        self.refused(self.server.get("/echo", "Hapax-Namespace: " + "x" * 300), 400, "InvalidArgument")

    def test_a_line_is_answered_while_the_next_is_not_sent_yet(self):
        with self.server.connect() as client:
            client.send(request("POST /lines HTTP/1.1", "Content-Type: application/x-ndjson", "Transfer-Encoding: chunked"))
            self.assertEqual(client.head()[0], 200)
            for line in (b'{"a":1}\n', b'{"bb":22}\r\n'):
                client.send(b"%x\r\n%s\r\n" % (len(line), line))
                self.assertEqual(json.loads(client.chunk()), {"bytes": len(line.rstrip())})
            client.send(b"4\r\nlast\r\n0\r\n\r\n")
            self.assertEqual(json.loads(client.chunk()), {"bytes": 4})
            self.assertEqual(json.loads(client.chunk()), {"lines": 3})
            self.assertEqual(client.chunk(), b"")
            self.assertEqual(client.ask("GET", "/healthz").status, 200)

    def test_a_large_answer_comes_whole(self):
        self.assertEqual(len(self.server.get("/large?bytes=30000000").body), 30_000_000)

    def test_what_handlers_wait_for(self):
        with self.server.connect() as client:
            self.assertEqual(client.ask("GET", "/blocking?for=10ms").json, 42)
            self.assertEqual(client.ask("GET", "/async").json, "later")
            self.assertEqual(client.ask("GET", "/wait?for=20ms").json, {"woke": "time_over"})
            self.assertEqual(client.ask("GET", "/signalled").json, {"raised": 100})

    def test_handlers_suspended_in_catch_blocks_rethrow_their_own(self):
        clients = [self.server.connect() for _ in range(20)]
        for number, client in enumerate(clients):
            client.send(request(f"GET /caught/f{number} HTTP/1.1"))
        for number, client in enumerate(clients):
            self.assertEqual(client.answer().json, {"field": f"f{number}"})
            client.socket.close()


class Smuggling(Case):
    """400, and the connection ends, because what follows cannot be separated from the request."""

    def test_what_two_readers_might_take_apart_differently(self):
        post = "POST /echo HTTP/1.1"
        chunked = "Transfer-Encoding: chunked"
        rows = {
            "negative chunk size": request(post, JSON, chunked, body=b"-1\r\n{}\r\n0\r\n\r\n"),
            "huge chunk size": request(post, JSON, chunked, body=b"FFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"),
            "chunk size over 64 bits": request(post, JSON, chunked, body=b"10000000000000002\r\n{}\r\n0\r\n\r\n"),
            "chunk size with a prefix": request(post, JSON, chunked, body=b"0x2\r\n{}\r\n0\r\n\r\n"),
            "no chunk size": request(post, JSON, chunked, body=b"\r\n{}\r\n0\r\n\r\n"),
            "chunk longer than its size": request(post, JSON, chunked, body=b"1\r\n{}\r\n0\r\n\r\n"),
            "bare LF after the chunk size": request(post, JSON, chunked, body=b"2\n{}\r\n0\r\n\r\n"),
            "bare LF after the chunk": request(post, JSON, chunked, body=b"2\r\n{}\n0\r\n\r\n"),
            "endless chunk extension": request(post, JSON, chunked, body=b"2;" + b"x" * 1000),
            "endless trailers": request(post, JSON, chunked, body=b"0\r\n" + b"X: y\r\n" * 2000),
            "length and chunks": request(post, JSON, "Content-Length: 2", chunked, body=b"2\r\n{}\r\n0\r\n\r\n"),
            "two lengths": request(post, JSON, "Content-Length: 2", "Content-Length: 3", body=b"{}"),
            "two equal lengths": request(post, JSON, "Content-Length: 2", "Content-Length: 2", body=b"{}"),
            "a list of lengths": request(post, JSON, "Content-Length: 2, 2", body=b"{}"),
            "negative length": request(post, JSON, "Content-Length: -2", body=b"{}"),
            "length with a sign": request(post, JSON, "Content-Length: +2", body=b"{}"),
            "hexadecimal length": request(post, JSON, "Content-Length: 0x2", body=b"{}"),
            "empty length": request(post, JSON, "Content-Length:", body=b"{}"),
            "two encodings": request(post, JSON, chunked, chunked, body=b"2\r\n{}\r\n0\r\n\r\n"),
            "chunks in HTTP/1.0": request("POST /echo HTTP/1.0", JSON, chunked, body=b"2\r\n{}\r\n0\r\n\r\n"),
            "bare LF": b"GET /healthz HTTP/1.1\nHost: localhost\n\n",
            "bare LF in a header": b"GET /healthz HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
            "bare CR in a header": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
            "folded header": request("GET /healthz HTTP/1.1", "X: a", " b"),
            "header folded by a tab": request("GET /healthz HTTP/1.1", "X: a", "\tb"),
            "first header folded": b"GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n",
            "space before the colon": request("GET /healthz HTTP/1.1", "X : a"),
            "tab before the colon": request("GET /healthz HTTP/1.1", "X\t: a"),
            "header without a name": request("GET /healthz HTTP/1.1", ": a"),
            "header without a colon": request("GET /healthz HTTP/1.1", "X"),
            "NUL in a header": request("GET /healthz HTTP/1.1", "X: a\0b"),
            "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
            "two hosts": request("GET /healthz HTTP/1.1", "Host: localhost"),
            "no version": b"GET /healthz\r\nHost: localhost\r\n\r\n",
            "two spaces": request("GET  /healthz HTTP/1.1"),
            "a tab for a space": request("GET\t/healthz HTTP/1.1"),
            "space in the target": request("GET /health z HTTP/1.1"),
            "target without a slash": request("GET healthz HTTP/1.1"),
            "control character in the target": request("GET /health\x7fz HTTP/1.1"),
            "byte beyond ASCII in the target": request("GET /health\xe9 HTTP/1.1"),
            "a fragment": request("GET /healthz#x HTTP/1.1"),
            "a method that is none": request("G(T /healthz HTTP/1.1"),
            "the greeting of TLS": b"\x16\x03\x01\x02\x00\x01\x00",
            "not HTTP at all": b"\x00\x01\x02\x03",
            "another protocol": b"SSH-2.0-OpenSSH_9.2\r\n",
        }
        for name, data in rows.items():
            with self.subTest(name):
                self.refused(self.server.raw(data), 400, "BadRequest", closed=True)

    def test_a_body_that_ends_early(self):
        with self.server.connect() as client:
            client.send(request("POST /echo HTTP/1.1", JSON, "Content-Length: 10", body=b"{}"))
            client.socket.shutdown(1)
            self.refused(client.answer(), 400, "BadRequest", closed=True)

    def test_what_follows_a_refused_request_is_not_looked_at(self):
        smuggled = request("POST /echo HTTP/1.1", JSON, "Content-Length: 2", "Transfer-Encoding: chunked",
                           body=b"0\r\n\r\n" + request("GET /healthz HTTP/1.1"))
        self.refused(self.server.raw(smuggled), 400, "BadRequest", closed=True)

    def test_encodings(self):
        post = "POST /echo HTTP/1.1"
        for value in ("gzip", "gzip, chunked", "identity", "chunked, chunked", "xchunked", "chunked;q=1"):
            with self.subTest(value):
                answer = self.server.raw(request(post, JSON, "Transfer-Encoding: " + value, body=b"0\r\n\r\n"))
                self.refused(answer, 501, "NotImplemented", closed=True)
        for value in ("gzip", "br", "identity"):
            with self.subTest(value):
                answer = self.server.ask("POST", "/echo", JSON, "Content-Encoding: " + value, body="{}")
                self.refused(answer, 415, "UnsupportedMediaType")

    def test_a_higher_minor_version_is_served_as_http_1_1(self):
        answer = self.server.raw(request("GET /healthz HTTP/1.2"))
        self.assertEqual((answer.status, answer.json), (200, {"status": "up"}))

    def test_a_host_that_is_no_host_is_400(self):
        for host in ("a b", "a/b", "a@b", "a:b"):
            with self.subTest(host):
                self.refused(self.server.raw(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()), 400, "BadRequest", closed=True)

    def test_versions(self):
        self.refused(self.server.raw(request("GET /healthz HTTP/2.0")), 505, "VersionNotSupported", closed=True)
        self.refused(self.server.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505, "VersionNotSupported", closed=True)


class Limits(Case):
    def test_headers(self):
        with self.server.connect() as client:
            self.assertEqual(client.ask("GET", "/healthz", *[f"X-{i}: y" for i in range(99)]).status, 200)
            answer = client.ask("GET", "/healthz", *[f"X-{i}: y" for i in range(100)])
            self.refused(answer, 431, "HeadersTooLarge", closed=True)
        self.assertEqual(self.server.get("/healthz", "X: " + "y" * 16_000).status, 200)
        self.refused(self.server.get("/healthz", "X: " + "y" * 17_000), 431, "HeadersTooLarge", closed=True)
        # An endless header is cut off while it arrives.
        self.refused(self.server.raw(b"GET / HTTP/1.1\r\nX: " + b"y" * 200_000), 431, "HeadersTooLarge")

    def test_target(self):
        self.assertEqual(self.server.get("/healthz?" + "x" * 8_000).status, 200)
        self.refused(self.server.get("/healthz?" + "x" * 8_200), 414, "TargetTooLong", closed=True)
        self.refused(self.server.raw(b"GET /" + b"x" * 200_000), 414, "TargetTooLong")

    def test_body_over_the_limit(self):
        limit = 2 << 20
        fits = b'"' + b"x" * (limit - 2) + b'"'
        self.assertEqual(self.server.ask("POST", "/echo", JSON, body=fits).json["bytes"], limit)
        self.refused(self.server.ask("POST", "/echo", JSON, body=fits + b" "), 413, "PayloadTooLarge", closed=True)
        # Refused before any of the body arrives, also if the length exceeds every integer.
        for length in (limit + 1, 10**15, 10**40):
            answer = self.server.raw(request("POST /echo HTTP/1.1", JSON, f"Content-Length: {length}"))
            self.refused(answer, 413, "PayloadTooLarge", closed=True)

    def test_chunked_body_over_the_limit(self):
        with self.server.connect() as client:
            client.send(request("POST /echo HTTP/1.1", JSON, "Transfer-Encoding: chunked"))
            piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
            try:
                for _ in range(40):
                    client.send(piece)
            except (BrokenPipeError, ConnectionResetError):
                pass
            self.refused(client.answer(), 413, "PayloadTooLarge")

    def test_a_line_over_the_limit_is_passed_over_and_told(self):
        lines = b"x\n" + b"x" * 4_000_000 + b"\nyy\n" + b"z" * 4_000_000
        with self.server.connect() as client:
            client.send(request("POST /lines HTTP/1.1", "Content-Type: application/x-ndjson", f"Content-Length: {len(lines)}"))
            client.send(lines)
            told = [json.loads(line) for line in client.answer().body.splitlines()]
        self.assertEqual(told, [{"bytes": 1}, {"bytes": "too long"}, {"bytes": 2}, {"bytes": "too long"}, {"lines": 4}])

    def test_a_body_that_nobody_reads_is_passed_over_or_ends_the_connection(self):
        with self.server.connect() as client:
            self.assertFalse(client.ask("POST", "/unread", JSON, body="x" * 60_000).closed)
            self.assertEqual(client.ask("GET", "/healthz").status, 200)
            self.assertTrue(client.ask("POST", "/unread", JSON, body="x" * 100_000).closed)


class Routing(Case):
    def test_wrong_method(self):
        for method in ("DELETE", "PATCH", "TRACE", "CONNECT", "BREW"):
            problem = self.server.ask(method, "/echo")
            self.refused(problem, 405, "MethodNotAllowed")
            self.assertEqual(problem.header("allow"), "POST, GET, HEAD, OPTIONS")

    def test_unknown_paths(self):
        for path in ("/", "/nowhere", "/echo/", "//echo", "/echo/a/b", "/ECHO", "/static/", "/healthz/", "/%00", "/static/..",
                     "/static/%2e%2e", "/static/..%2f..%2fetc%2fpasswd", "/static/..%2findex.html", "/./static/index.html",
                     "/static/../static/index.html"):
            with self.subTest(path):
                self.refused(self.server.get(path), 404, "NotFound")
        self.assertEqual(self.server.get("/static/index.html").status, 200)

    def test_broken_percent_encoding(self):
        for path in ("/static/%", "/static/%2", "/static/%zz", "/echo?x=%"):
            with self.subTest(path):
                self.refused(self.server.get(path), 400, "BadRequest")

    def test_wrong_content_type(self):
        for header in ([], ["Content-Type: text/plain"], ["Content-Type: application/x-www-form-urlencoded"],
                       ["Content-Type: application/jsonx"], ["Content-Type: application/json; charset=latin1"]):
            with self.subTest(header):
                self.refused(self.server.ask("POST", "/echo", *header, body="{}"), 415, "UnsupportedMediaType")
        for header in ("application/json", "Application/JSON; charset=UTF-8", "application/vnd.x+json"):
            self.assertEqual(self.server.ask("POST", "/echo", "Content-Type: " + header, body="{}").status, 200)
        self.refused(self.server.ask("POST", "/lines", JSON, body="{}"), 415, "UnsupportedMediaType")

    def test_a_host_that_is_not_ours_on_a_loopback_listener(self):
        for host in ("evil.example", "evil.example:7171", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", ""):
            with self.subTest(host):
                self.refused(self.server.raw(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()), 421,
                             "MisdirectedRequest")
        self.refused(self.server.raw(request("GET http://evil.example/healthz HTTP/1.1")), 421, "MisdirectedRequest")
        for host in ("localhost", "LOCALHOST:80", "127.0.0.1:7171", "127.9.9.9", "[::1]:7171"):
            with self.subTest(host):
                answer = self.server.raw(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                self.assertEqual(answer.status, 200)

    def test_a_change_asked_for_by_a_page_of_another_origin(self):
        for headers in (["Origin: http://evil.example"], ["Origin: null"], ["Sec-Fetch-Site: cross-site"],
                        ["Origin: http://localhost:9"], ["Sec-Fetch-Site: same-site"]):
            with self.subTest(headers):
                self.refused(self.server.ask("POST", "/act", *headers), 403, "Forbidden")
        self.assertEqual(self.server.ask("POST", "/act", "Origin: http://localhost", "Sec-Fetch-Site: same-origin").status, 204)
        self.assertEqual(self.server.get("/echo", "Origin: http://evil.example").status, 200)

    def test_what_handlers_throw(self):
        self.refused(self.server.get("/throw/stale"), 409, "StaleLease")
        busy = self.server.get("/throw/busy")
        self.refused(busy, 503, "StoreBusy")
        self.assertEqual(busy.header("retry-after"), "1")
        for what in ("defect", "number"):
            answer = self.server.get("/throw/" + what)
            self.refused(answer, 500, "InternalError")
            self.assertNotIn(b"canary", answer.body)
        with self.server.connect() as client:
            client.send(request("GET /throw/stream HTTP/1.1"))
            self.assertEqual(client.head()[0], 200)
            self.assertEqual(client.chunk(), b"begun")
            self.assertTrue(client.ended(), "a stream that failed must not look whole")

    def test_a_header_of_the_answer_cannot_be_injected(self):
        answer = self.server.get("/inject?value=a%0d%0aX-Evil:%20yes%0d%0a")
        self.assertEqual((answer.status, answer.header("x-evil")), (200, None))


class Seeing(Case):
    def test_the_log_has_the_route_and_never_what_may_be_secret(self):
        canary = "canary-5316"
        self.server.ask("PUT", f"/echo/{canary}?token={canary}", JSON, f"Authorization: Bearer {canary}", f"X-Key: {canary}",
                        body=json.dumps({"password": canary}))
        self.server.get(f"/{canary}")
        self.server.get("/healthz", f"Host : {canary}")
        self.server.get("/throw/defect")
        self.server.get("/healthz")
        # Requests are counted and logged after their answers; the log is written every 100 ms.
        logged = lambda route: any(json.loads(line).get("route") == route for line in self.server.log)
        until(lambda: all(map(logged, ("/echo/{name}", "/throw/{what}", "/healthz"))), "the log")
        metrics = self.server.get("/metrics").body.decode()
        self.assertRegex(metrics, r'hapax_http_requests_total\{method="PUT",route="/echo/\{name\}",status="200"\} [1-9]')
        self.assertIn('hapax_http_request_seconds_bucket{method="GET",route="/healthz",le="+Inf"}', metrics)
        self.assertNotIn(canary, metrics)
        log = "\n".join(self.server.log)
        self.assertNotIn(canary, log)
        lines = [json.loads(line) for line in self.server.log]
        put = [line for line in lines if line.get("method") == "PUT"]
        self.assertEqual(put[0]["route"], "/echo/{name}")
        self.assertEqual((put[0]["status"], put[0]["principal"], put[0]["namespace"]), (200, "anonymous", "default"))
        self.assertLessEqual({"time", "event", "duration_ms", "bytes_in", "bytes_out", "peer"}, set(put[0]))

    def test_metrics_are_well_formed(self):
        self.server.get("/healthz")
        answer = self.server.get("/metrics")
        self.assertEqual(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8")
        sample = r'^[a-z_]+(\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\})? (\+Inf|[-+0-9.e]+)$'
        for line in answer.body.decode().splitlines():
            if not line.startswith("#"):
                self.assertRegex(line, sample)

    def test_ready(self):
        answer = self.server.get("/readyz")
        self.assertEqual((answer.status, answer.json), (200, {"status": "ready", "checks": {"always": "ok"}}))


class Tokens(unittest.TestCase):
    def test_probes_need_no_token_and_the_rest_does(self):
        server = testbed("--tokens", "yes")
        try:
            self.assertEqual(server.get("/healthz").status, 200)
            self.assertEqual(server.get("/readyz").status, 200)
            for path in ("/echo", "/metrics", "/echo?token=x"):
                answer = server.get(path)
                self.assertEqual((answer.status, answer.header("www-authenticate")), (401, "Bearer"))
        finally:
            server.stop()


if __name__ == "__main__":
    unittest.main()
