"""Bad input: each test is a row of the table of bad input, sent to a running `hapax serve` as a client would.

The other files of this folder test single rows more closely (protocol_test.py, slow_test.py,
canary_test.py, api_*_test.py); docs/operating/testing.md says where the rows of the command line,
the configuration and the library are tested."""

import concurrent.futures
import fcntl
import json
import resource
import subprocess
import time
import unittest

from _server import BIN, JSON, Server, clean_environment, request, until

NDJSON = "Content-Type: application/x-ndjson"
UUID = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"
LIMIT = 2 << 20


def token(store, scopes, ns="ours"):
    done = subprocess.run([BIN, "token", "create", "--scopes", scopes, "--namespace", ns, "--json"], capture_output=True,
                          check=True, timeout=60, env=clean_environment(HAPAX_STORE_URL=store))
    return json.loads(done.stdout)["token"]


def bearer(text):
    return "Authorization: Bearer " + text


class Case(unittest.TestCase):
    """A server on a store of its own, without tokens."""

    store = None
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.store = f"sqlite:{cls.__name__}.db"
        cls.prepare()
        cls.server = Server(BIN, "serve", "--listen", "127.0.0.1:0", *cls.arguments, env={"HAPAX_STORE_URL": cls.store})
        cls.addClassCleanup(lambda: cls.server.process.poll() is None and cls.server.stop())

    @classmethod
    def prepare(cls):
        pass

    def ask(self, method, path, *headers, body=None, **options):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None and not any(header.lower().startswith("content-type:") for header in headers):
            headers = (*headers, JSON)
        return self.server.ask(method, path, *headers, body=body, **options)

    def enqueue(self, body=None, *headers, task="pay"):
        return self.ask("POST", f"/v1/tasks/{task}/executions", *headers, body=body if body is not None else {})

    def refused(self, answer, status, name=None, *told, closed=None):
        """Expects the common form of an error whose message has all of `told`, and that the server still serves."""
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.header("content-type"), "application/problem+json", answer)
        problem = answer.json
        self.assertLessEqual({"type", "title", "status", "detail", "message", "error"}, set(problem), answer)
        self.assertEqual((problem["status"], problem["message"]), (status, problem["detail"]), answer)
        if name is not None:
            self.assertEqual(problem["error"], name, answer)
        for text in told:
            self.assertIn(text, problem["detail"], answer)
        if closed is not None:
            self.assertEqual(answer.closed, closed, answer)
        self.assertEqual(self.server.get("/healthz").status, 200)
        return problem

    def stored(self, *headers):
        return len(self.ask("GET", "/v1/executions?limit=1000", *headers).json["executions"])


class Tokens(Case):
    @classmethod
    def prepare(cls):
        cls.all = bearer(token(cls.store, "enqueue,read,work,admin"))
        cls.enqueuer = bearer(token(cls.store, "enqueue"))
        cls.reader = bearer(token(cls.store, "read"))
        cls.worker = bearer(token(cls.store, "work"))
        cls.theirs = bearer(token(cls.store, "enqueue,read,work,admin", "theirs"))

    def test_no_token_or_a_wrong_one_or_one_in_the_query_is_401_and_never_logged(self):
        good = self.all.rsplit(" ", 1)[1]
        wrong = good[:-1] + ("a" if good[-1] != "a" else "b")
        for path, headers in (("/v1/queues", ()), ("/v1/queues", (bearer(wrong),)), ("/v1/queues", (bearer("x"),)),
                              ("/v1/queues", ("Authorization: Basic " + good,)), ("/v1/queues?token=" + good, ()),
                              ("/v1/queues?access_token=" + good, (self.all,)), ("/v1/queues?x=" + good, (self.all,)),
                              ("/v1/queues", (self.all, self.all))):
            with self.subTest(path=path, headers=len(headers)):
                answer = self.ask("GET", path, *headers)
                self.refused(answer, 401, "Unauthorized")
                self.assertEqual(answer.header("www-authenticate"), "Bearer")
        self.ask("GET", "/v1/queues", self.all)
        until(lambda: sum('"/v1/queues"' in line for line in self.server.log) >= 9, "the log")
        log = "\n".join(self.server.log)
        for secret in (good, wrong):
            self.assertNotIn(secret, log)

    def test_a_token_without_the_scope_is_403_and_anothers_object_is_404(self):
        self.refused(self.enqueue({}, self.reader), 403, "Forbidden", "enqueue")
        self.refused(self.ask("GET", "/v1/executions", self.enqueuer), 403, "Forbidden", "read")
        self.refused(self.ask("POST", "/v1/claims", self.reader, body={"queues": ["q"]}), 403, "Forbidden", "work")
        self.refused(self.ask("POST", "/v1/queues/q/pause", self.worker), 403, "Forbidden", "admin")
        made = self.enqueue({}, self.all).json["id"]
        self.refused(self.ask("GET", "/v1/executions/" + made, self.theirs), 404, "NotFound")
        self.refused(self.ask("POST", f"/v1/executions/{made}/cancel", self.theirs), 404, "NotFound")
        self.assertEqual(self.ask("GET", "/v1/executions/" + made, self.all).status, 200)

    def test_the_same_key_and_input(self):
        body = {"input": 1, "idempotency_key": "same", "queue": "same"}
        made = self.enqueue(body, self.all).json["id"]
        answer = self.enqueue(body, self.all)
        self.refused(answer, 409, "TaskAlreadyExists")
        self.assertEqual((answer.json["existing_execution_id"], answer.header("retry-after")), (made, "1"))
        again = self.enqueue({**body, "on_conflict": "return_existing"}, self.all)
        self.assertEqual((again.status, again.json["id"], again.json["created"]), (200, made, False))
        # A token that may only enqueue learns that the key is taken and nothing else, now and after the
        # execution has completed.
        blind = self.enqueue({**body, "on_conflict": "return_existing"}, self.enqueuer)
        self.refused(blind, 409, "TaskAlreadyExists")
        self.assertIsNone(blind.header("retry-after"))
        [claim] = self.ask("POST", "/v1/claims", self.worker, body={"queues": ["same"]}).json["claims"]
        outcome = {"id": claim["id"], "fence": claim["fence"], "status": "completed", "result": "secret"}
        self.assertEqual(self.ask("POST", "/v1/claims/finish", self.worker, body={"outcomes": [outcome]}).status, 200)
        answer = self.enqueue(body, self.all)
        self.refused(answer, 409, "TaskAlreadyCompleted")
        self.assertEqual((answer.json["result"], answer.header("retry-after")), ("secret", None))
        again = self.enqueue({**body, "on_conflict": "return_existing"}, self.all)
        self.assertEqual((again.status, again.json["result"]), (200, "secret"))
        later = self.enqueue(body, self.enqueuer)
        self.assertEqual((later.status, later.body), (blind.status, blind.body))

    def test_the_same_key_and_another_input_is_422(self):
        self.enqueue({"input": 1, "idempotency_key": "other"}, self.all)
        for who in (self.all, self.enqueuer):
            for policy in ("reject", "return_existing"):
                self.refused(self.enqueue({"input": 2, "idempotency_key": "other", "on_conflict": policy}, who), 422,
                             "IdempotencyMismatch")
        until(lambda: any('"error":"IdempotencyMismatch"' in line for line in self.server.log), "the log to name it")


class Requests(Case):
    def test_keys(self):
        before = self.stored()
        self.ask("PUT", "/v1/tasks/needs-key", body={"identity_strategy": "caller_provided"})
        self.refused(self.enqueue({"input": 1}, task="needs-key"), 400, "IdempotencyKeyRequired", "needs-key")
        for key in ("x" * 256, "", "a\nb", "a\u0000b", "a\u007fb", "\u0085"):
            with self.subTest(key=key[:5]):
                self.refused(self.enqueue({"idempotency_key": key}), 400, "InvalidIdempotencyKey", "idempotency_key: ")
        for header in ("x" * 256, "", '""', '"a\tb"', "\xff\xfe", '"\xc3"', '"open', '"a"b'):
            with self.subTest(header=header[:5]):
                self.refused(self.enqueue({}, "Idempotency-Key: " + header), 400, "InvalidIdempotencyKey")
        self.refused(self.enqueue(b'{"idempotency_key":"\xff"}'), 400, "InvalidJson", "at byte")
        self.refused(self.enqueue({}, "Idempotency-Key: a", "Idempotency-Key: b"), 400, "InvalidIdempotencyKey")
        self.refused(self.enqueue({}, "Idempotency-Key: a", "Idempotency-Key: a"), 400, "InvalidIdempotencyKey")
        self.refused(self.enqueue({"idempotency_key": "b"}, "Idempotency-Key: a"), 400, None, "'a'", "'b'")
        self.assertEqual(self.stored(), before)

    def test_json_is_refused_with_the_byte(self):
        before = self.stored()
        rows = {"cut off": (b'{"input":', 9), "malformed": (b'{"input":[1,}', 12), "no quotes": (b"{input:1}", 1),
                "a comma too many": (b'{"input":1,}', 11), "text behind": (b'{"input":1} x', 12),
                "depth over 64": (b'{"input":' + b"[" * 65 + b"]" * 65 + b"}", 73),
                "duplicate keys": (b'{"input":{"a":1,"a":2}}', 16), "duplicate members": (b'{"input":1,"input":2}', 11),
                "invalid UTF-8": (b'{"input":"\xff"}', 10), "overlong UTF-8": (b'{"input":"\xc0\xaf"}', 10),
                "a surrogate in UTF-8": (b'{"input":"\xed\xa0\x80"}', 10), "lone surrogate": (b'{"input":"\\ud800"}', 10),
                "lone low surrogate": (b'{"input":"a\\udc00"}', 11), "NaN": (b'{"input":NaN}', 9),
                "Infinity": (b'{"input":-Infinity}', 9), "1e400": (b'{"input":1e400}', 9),
                "an integer over 64 bits": (b'{"input":18446744073709551616}', 9),
                "a negative one": (b'{"input":-9223372036854775809}', 9), "leading zero": (b'{"input":01}', 9),
                "control character": (b'{"input":"a\nb"}', 11), "empty name": (b"{'input':1}", 1)}
        for name, (body, offset) in rows.items():
            with self.subTest(name):
                problem = self.refused(self.enqueue(body), 400, "InvalidJson", "at byte ")
                self.assertIn(f"at byte {offset}", problem["detail"])
        lines = b"\n".join([b'{"task":"pay","input":NaN}', b'{"task":"pay"'])
        told = [json.loads(line) for line in self.ask("POST", "/v1/executions/batch", NDJSON, body=lines).body.splitlines()]
        self.assertEqual([one["error"] for one in told], ["InvalidJson", "InvalidJson"])
        self.assertIn("at byte 22", told[0]["detail"])
        self.assertEqual(self.stored(), before)

    def test_the_envelope_is_no_part_of_the_depth(self):
        deepest = b"[" * 64 + b"]" * 64
        made = self.enqueue(b'{"input":' + deepest + b"}", task="deep")
        self.assertEqual(made.status, 201, made)
        lines = b'{"task":"deep","input":' + deepest + b"}\n"
        told = json.loads(self.ask("POST", "/v1/executions/batch", NDJSON, body=lines).body.splitlines()[0])
        self.assertTrue(told["created"], told)

    def test_integers_beyond_2_to_the_53_are_exact(self):
        for number in ("9007199254740993", "-9223372036854775808", "9223372036854775807", "18446744073709551615"):
            made = self.enqueue('{"input":' + number + "}", task="exact")
            self.assertEqual(made.status, 201, made)
            shown = self.ask("GET", "/v1/executions/" + made.json["id"])
            self.assertIn(f'"input":{number}'.encode(), shown.body)
            self.ask("POST", f"/v1/executions/{made.json['id']}/cancel")
        self.ask("POST", "/v1/queues/default/purge")

    def test_bodies_over_the_limit(self):
        path = "/v1/tasks/pay/executions"
        self.refused(self.enqueue(b'{"input":"' + b"x" * LIMIT + b'"}'), 413, "PayloadTooLarge", closed=True)
        self.refused(self.enqueue({"input": "x" * (1 << 20)}), 413, "PayloadTooLarge", "input")
        for length in (LIMIT + 1, 10**15, 10**40):
            answer = self.server.raw(request(f"POST {path} HTTP/1.1", JSON, f"Content-Length: {length}"))
            self.refused(answer, 413, "PayloadTooLarge", closed=True)
        with self.server.connect() as client:
            client.send(request(f"POST {path} HTTP/1.1", JSON, "Transfer-Encoding: chunked"))
            try:
                for _ in range(40):
                    client.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
            except (BrokenPipeError, ConnectionResetError):
                pass
            self.refused(client.answer(), 413, "PayloadTooLarge")
        # Content-Length is less than the bytes sent: the rest is not a valid request, and the connection ends.
        with self.server.connect() as client:
            client.send(request(f"POST {path} HTTP/1.1", JSON, "Content-Length: 2", body=b'{}"and more"\r\n\r\n'))
            self.assertEqual(client.answer().status, 201)
            self.refused(client.answer(), 400, "BadRequest", closed=True)
        # Content-Length is more than the bytes sent.
        with self.server.connect() as client:
            client.send(request(f"POST {path} HTTP/1.1", JSON, "Content-Length: 10", body=b"{}"))
            client.socket.shutdown(1)
            self.refused(client.answer(), 400, "BadRequest", closed=True)
        self.ask("POST", "/v1/queues/default/purge")

    def test_what_two_readers_might_take_apart_differently(self):
        post, chunked = "POST /v1/tasks/pay/executions HTTP/1.1", "Transfer-Encoding: chunked"
        before = self.stored()
        rows = {"negative chunk size": request(post, JSON, chunked, body=b"-1\r\n{}\r\n0\r\n\r\n"),
                "huge chunk size": request(post, JSON, chunked, body=b"FFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n"),
                "chunk size over 64 bits": request(post, JSON, chunked, body=b"10000000000000002\r\n{}\r\n0\r\n\r\n"),
                "length and chunks": request(post, JSON, "Content-Length: 2", chunked, body=b"2\r\n{}\r\n0\r\n\r\n"),
                "two different lengths": request(post, JSON, "Content-Length: 2", "Content-Length: 3", body=b"{} "),
                "bare LF": b"POST /v1/tasks/pay/executions HTTP/1.1\nHost: localhost\nContent-Length: 0\n\n",
                "bare LF in a header": b"GET /v1/queues HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
                "folded header": request(post, "X: a", " b", "Content-Length: 0"),
                "space before the colon": request(post, "X : a", "Content-Length: 0")}
        for name, data in rows.items():
            with self.subTest(name):
                self.refused(self.server.raw(data), 400, "BadRequest", closed=True)
        self.assertEqual(self.stored(), before)

    def test_encodings_and_types(self):
        post = "POST /v1/tasks/pay/executions HTTP/1.1"
        before = self.stored()
        for value in ("gzip", "gzip, chunked", "nonsense"):
            answer = self.server.raw(request(post, JSON, "Transfer-Encoding: " + value, body=b"0\r\n\r\n"))
            self.refused(answer, 501, "NotImplemented", closed=True)
        for value in ("gzip", "br", "identity"):
            self.refused(self.enqueue({}, "Content-Encoding: " + value), 415, "UnsupportedMediaType")
        for value in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "multipart/form-data"):
            self.refused(self.enqueue("{}", "Content-Type: " + value), 415, "UnsupportedMediaType", "application/json")
        self.refused(self.ask("POST", "/v1/executions/batch", body={}), 415, "UnsupportedMediaType", "application/x-ndjson")
        self.assertEqual(self.stored(), before)

    def test_headers_and_targets_over_their_limits(self):
        self.refused(self.ask("GET", "/v1/queues", *[f"X-{i}: y" for i in range(100)]), 431, "HeadersTooLarge", closed=True)
        self.refused(self.ask("GET", "/v1/queues", "X: " + "y" * 17_000), 431, "HeadersTooLarge", closed=True)
        self.refused(self.ask("GET", "/v1/queues?" + "x" * 8_200), 414, "TargetTooLong", closed=True)

    def test_wrong_methods_and_unknown_paths(self):
        for method, path, allowed in (("DELETE", "/v1/executions", "GET, HEAD, OPTIONS"),
                                      ("GET", "/v1/claims", "POST, OPTIONS"), ("PATCH", "/v1/queues/q", "GET, HEAD, PUT, OPTIONS"),
                                      ("BREW", "/healthz", "GET, HEAD, OPTIONS")):
            with self.subTest(method + " " + path):
                answer = self.ask(method, path)
                self.refused(answer, 405, "MethodNotAllowed")
                self.assertEqual(sorted(answer.header("allow").split(", ")), sorted(allowed.split(", ")))
        for path in ("/nothing", "/v2/queues", "/v1/nothing", "/v1/queues/", "//v1/queues", "/assets/..%2f..%2fetc%2fpasswd", "/..%2fetc",
                     "/assets/..%2findex.html", "/assets/", "/executions/..%2f..%2fetc", "/queues/a/b/c", "/v1/..%2fv1/queues", "/v1/../v1/queues", "/v1/executions/no-such-id"):
            with self.subTest(path):
                self.refused(self.ask("GET", path), 404, "NotFound")

    def test_a_host_that_is_not_ours(self):
        for host in ("evil.example", "evil.example:7171", "127.0.0.1.evil.example", "10.0.0.1", ""):
            with self.subTest(host):
                data = f"POST /v1/tasks/pay/executions HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n".encode()
                self.refused(self.server.raw(data), 421, "MisdirectedRequest", "Host")

    def test_a_key_where_it_means_nothing_is_400_and_nothing_happens(self):
        before = self.stored()
        ndjson = "Content-Type: application/x-ndjson"
        event = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
        for method, path, *rest in (("POST", "/v1/executions/batch", ndjson, '{"task":"pay"}\n'),
                                    ("POST", "/v1/events", "Content-Type: application/cloudevents+json", json.dumps(event)),
                                    ("POST", "/v1/queues/keyless/pause"), ("POST", "/v1/claims", JSON, '{"queues":["q"]}'),
                                    ("PUT", "/v1/tasks/pay", JSON, "{}"), ("GET", "/v1/executions")):
            with self.subTest(method + " " + path):
                answer = self.ask(method, path, "Idempotency-Key: once", *rest[:1], body=rest[1] if rest else None)
                self.refused(answer, 400, "InvalidArgument", "Idempotency-Key", "once")
        self.assertEqual(self.stored(), before)
        self.assertNotIn("keyless", [queue["queue"] for queue in self.ask("GET", "/v1/queues").json["queues"]])
        long = self.ask("POST", "/v1/queues/keyless/pause", "Idempotency-Key: " + "k" * 5000)
        self.assertLess(len(long.body), 1500)

    def test_a_change_from_another_origin(self):
        for header in ("Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"):
            self.refused(self.enqueue({}, header), 403, "Forbidden")

    def test_slow_clients(self):
        """Each takes ten seconds, so both run at once."""
        def head():
            begun = time.monotonic()
            with self.server.connect(timeout=40) as client:
                client.send(b"POST /v1/tasks/pay/executions HTTP/1.1\r\nHost: localhost\r\n")
                return client.answer(), time.monotonic() - begun

        def body():
            begun = time.monotonic()
            with self.server.connect(timeout=40) as client:
                client.send(request("POST /v1/tasks/pay/executions HTTP/1.1", JSON, "Content-Length: 100000"))
                client.socket.settimeout(0.5)
                while time.monotonic() - begun < 30:
                    try:
                        client.send(b" " * 100)
                        status, headers = client.head()
                        return status, dict(headers), time.monotonic() - begun
                    except TimeoutError:
                        pass
                return None, {}, 0

        with concurrent.futures.ThreadPoolExecutor() as pool:
            slow_head, slow_body = pool.submit(head), pool.submit(body)
            answer, took = slow_head.result()
            self.refused(answer, 408, "RequestTimeout", closed=True)
            self.assertTrue(9 < took < 30, took)
            status, headers, took = slow_body.result()
            self.assertEqual((status, headers.get("connection")), (408, "close"))
            self.assertTrue(9 < took < 30, took)

    def test_fields_that_cannot_be(self):
        before = self.stored()
        for field, value in (("delay", "5"), ("delay", 5), ("delay", "-5s"), ("delay", "99999999999999999d"), ("timeout", "1 hour"),
                             ("deadline", "-1s"), ("priority", 40000), ("priority", -40000), ("priority", 1.5),
                             ("run_at", "2090-01-01T00:00:00Z"), ("run_at", "tomorrow"), ("delay", "4000d"), ("throttle", "x"),
                             ("queue", "a\nb"), ("queue", "x" * 300), ("max_attempts", 0), ("weight", 0)):
            with self.subTest(field=field, value=value):
                problem = self.refused(self.enqueue({field: value}), 400, "InvalidArgument", field)
                self.assertEqual(problem["field"], field)
        for trigger, field in (({"type": "cron", "cron": "99 * * * *"}, "cron"), ({"type": "cron", "cron": "* *"}, "cron"),
                               ({"type": "cron", "cron": "0 0 30 2 *"}, "cron"), ({"type": "cron", "cron": ""}, "cron"),
                               ({"type": "cron", "cron": "0 9 * * *", "time_zone": "Mars/Olympus"}, "time_zone"),
                               ({"type": "cron", "cron": "0 9 * * *", "jitter": "-5s"}, "jitter"),
                               ({"type": "cron", "cron": "0 9 * * *", "jitter": "5"}, "jitter"), ({"type": "sometimes"}, "type")):
            with self.subTest(trigger=trigger):
                answer = self.ask("PUT", "/v1/activities/bad", body={"trigger": trigger, "target": {"task": "pay"}})
                self.refused(answer, 400, None, field)
        self.assertEqual(self.ask("GET", "/v1/activities/bad").status, 404)
        self.assertEqual(self.stored(), before)

    def test_cursors_and_pages(self):
        for number in range(3):
            self.enqueue({"input": number, "queue": "pages"})
        cursor = self.ask("GET", "/v1/executions?queue=pages&limit=1").json["next"]
        flipped = cursor[:-3] + ("A" if cursor[-3] != "A" else "B") + cursor[-2:]
        for bad in (flipped, cursor[:-1], cursor + "A", "x", "%00", "-1"):
            with self.subTest(bad):
                self.refused(self.ask("GET", "/v1/executions?queue=pages&limit=1&cursor=" + bad), 400, "InvalidArgument", "cursor")
        self.refused(self.ask("GET", f"/v1/executions?queue=other&cursor={cursor}"), 400, "InvalidArgument", "cursor")
        for limit in ("1001", "0", "-1", "many", "99999999999999999999"):
            for path in ("/v1/executions", "/v1/dead-letters"):
                self.refused(self.ask("GET", f"{path}?limit={limit}"), 400, "InvalidArgument", "limit")
        self.ask("POST", "/v1/queues/pages/purge")

    def test_stale_fences(self):
        for number in range(2):
            self.enqueue({"input": number, "queue": "fences"})
        told = self.ask("POST", "/v1/claims", body={"queues": ["fences"], "limit": 2}).json
        one, two = told["claims"]
        stale = {"id": one["id"], "fence": one["fence"] + 1, "status": "completed"}
        foreign = {"id": UUID, "fence": 1, "status": "completed"}
        good = {"id": two["id"], "fence": two["fence"], "status": "completed"}
        answer = self.ask("POST", "/v1/claims/finish", body={"outcomes": [stale, good, foreign]})
        self.assertEqual((answer.status, [each["verdict"] for each in answer.json["verdicts"]]),
                         (200, ["stale", "accepted", "stale"]))
        answer = self.ask("POST", "/v1/claims/finish", body={"outcomes": [stale, foreign]})
        self.refused(answer, 409, "StaleLease")
        self.assertEqual([each["verdict"] for each in answer.json["verdicts"]], ["stale", "stale"])
        extend = {"session": told["session"], "progress": [{"id": one["id"], "fence": one["fence"] + 1, "fraction": 0.5}]}
        self.refused(self.ask("POST", "/v1/claims/extend", body=extend), 409, "StaleLease")
        self.refused(self.ask("POST", "/v1/claims/extend", body={"session": UUID}), 409, "StaleLease")
        self.assertEqual(self.ask("GET", "/v1/executions/" + one["id"]).json["status"], "running")
        self.ask("POST", "/v1/claims/finish", body={"outcomes": [{**stale, "fence": one["fence"]}]})

    def test_acting_on_what_has_ended(self):
        made = self.enqueue({"queue": "ended"}).json["id"]
        self.assertEqual(self.ask("POST", f"/v1/executions/{made}/cancel").status, 200)
        problem = self.refused(self.ask("POST", f"/v1/executions/{made}/cancel"), 409, None, "cancelled")
        self.assertNotEqual(problem["error"], "InternalError")
        flow = self.ask("POST", "/v1/workflows/w/executions", body={"workflow_id": "ended"}).json["id"]
        self.ask("POST", f"/v1/executions/{flow}/cancel")
        until(lambda: self.ask("GET", "/v1/executions/" + flow).json["status"] == "cancelled", "the workflow to be cancelled")
        self.refused(self.ask("POST", f"/v1/executions/{flow}/signals/go", body={"x": 1}), 409, None, "cancelled")


class Crowded(Case):
    arguments = ("--connections", "8")

    def test_too_many_connections(self):
        good = [self.server.connect() for _ in range(8)]
        try:
            for client in good:
                self.assertEqual(client.ask("GET", "/healthz").status, 200)
            for _ in range(20):
                answer = self.server.get("/v1/queues")
                self.assertEqual((answer.status, answer.header("retry-after")), (503, "1"), answer)
                self.assertEqual(answer.json["error"], "TooManyConnections")
            for client in good:
                self.assertEqual(client.ask("GET", "/v1/queues").status, 200)
        finally:
            for client in good:
                client.socket.close()


class Troubled(Case):
    def unavailable(self, answer, name):
        self.assertEqual((answer.status, answer.json["error"]), (503, name), answer)
        self.assertEqual(answer.header("content-type"), "application/problem+json")
        self.assertRegex(answer.header("retry-after"), r"^\d+$")

    def test_a_store_that_is_busy(self):
        self.assertEqual(self.enqueue({}).status, 201)
        # The writer's lock is held, as by a process that is stopped inside a write.
        with open(self.store.removeprefix("sqlite:") + ".lock", "r+b") as lock, concurrent.futures.ThreadPoolExecutor() as pool:
            fcntl.flock(lock, fcntl.LOCK_EX)
            asked = pool.submit(self.enqueue, {"input": "busy"})
            begun = time.monotonic()
            while not asked.done() and time.monotonic() - begun < 30:
                self.assertEqual(self.server.get("/healthz").status, 200)
                self.assertEqual(self.ask("GET", "/v1/executions?limit=1").status, 200)
                time.sleep(0.2)
            self.unavailable(asked.result(), "StoreBusy")
        until(lambda: self.enqueue({}).status == 201, "the store to be free")
        self.assertNotIn("busy", [each["input"] for each in self.ask("GET", "/v1/executions?payloads=true").json["executions"]])

    def test_a_disk_that_is_full(self):
        self.assertEqual(self.enqueue({}).status, 201)
        pid = self.server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (64 << 10, before[1]))
        try:
            full = None
            for _ in range(50):
                answer = self.enqueue({"input": "x" * 100_000, "queue": "full"})
                self.assertIn(answer.status, (201, 503), answer)
                if answer.status == 503:
                    full = answer
                    break
            self.assertIsNotNone(full, "the disk was never full")
            self.unavailable(full, "StoreUnavailable")
            self.assertEqual(self.server.get("/healthz").status, 200)
            self.assertEqual(self.ask("GET", "/v1/queues").status, 200)
        finally:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        until(lambda: self.enqueue({"queue": "full"}).status == 201, "room")


if __name__ == "__main__":
    unittest.main()
