"""Access by token: every operation of the description is tried without a token, with every scope, and with
another tenant's token."""

import json
import subprocess
import time
import unittest

from _server import BIN, JSON, Server, clean_environment, until

SCOPES = ("enqueue", "read", "work", "admin")
UUID = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"
NAMES = {"id": UUID, "task": "pay", "workflow": "order", "queue": "q", "activity": "a", "name": "n"}


def create(scopes, ns):
    done = subprocess.run([BIN, "token", "create", "--scopes", scopes, "--namespace", ns, "--json"], capture_output=True, check=True,
                          timeout=60, env=clean_environment(HAPAX_STORE_URL="sqlite:tokens.db"))
    return "Authorization: Bearer " + json.loads(done.stdout)["token"]


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tokens = {scope: create(scope, "ours") for scope in SCOPES}
        cls.theirs = create("admin", "theirs")
        # With tokens the server may listen on an address that other machines reach.
        cls.server = Server(BIN, "serve", "--listen", "0.0.0.0:0", env={"HAPAX_STORE_URL": "sqlite:tokens.db"})
        cls.server.host = "127.0.0.1"
        cls.addClassCleanup(cls.server.stop)
        document = json.loads(cls.server.get("/openapi.json").body)
        cls.operations = [(method.upper(), path.format(**NAMES), operation["x-scope"])
                          for path, item in document["paths"].items() for method, operation in item.items()
                          if method != "parameters" and operation.get("x-scope", "none") != "none"]

    def ask(self, method, path, *headers):
        body = None if method in ("GET", "DELETE") else "{}"
        return self.server.ask(method, path, *headers, *([JSON] if body else []), body=body)

    def test_every_operation_needs_a_token(self):
        self.assertGreater(len(self.operations), 40)
        for method, path, _ in self.operations:
            answer = self.ask(method, path)
            self.assertEqual(answer.status, 401, (method, path, answer))
            self.assertEqual(answer.header("WWW-Authenticate"), "Bearer")
            self.assertEqual(answer.json["error"], "Unauthorized")

    def test_every_operation_needs_its_scope(self):
        for method, path, needed in self.operations:
            for scope in SCOPES:
                if path == "/v1/stream" and scope in ("read", "admin"):
                    continue  # the stream would not end
                answer = self.ask(method, path, self.tokens[scope])
                allowed = scope in (needed, "admin")
                self.assertEqual(answer.status != 403, allowed, (method, path, scope, answer))
                self.assertNotEqual(answer.status, 401, (method, path, scope, answer))

    def test_the_namespace_is_the_tokens_whatever_a_header_says(self):
        made = self.server.ask("POST", "/v1/tasks/pay/executions", self.tokens["enqueue"], JSON, "Hapax-Namespace: theirs",
                               body='{"input": 1}')
        self.assertEqual(made.status, 201, made)
        path = "/v1/executions/" + made.json["id"]
        self.assertEqual(self.ask("GET", path, self.tokens["read"]).json["namespace"], "ours")
        self.assertEqual(self.ask("GET", path, self.theirs, "Hapax-Namespace: ours").status, 404)
        self.assertEqual(self.ask("POST", path + "/cancel", self.theirs).status, 404)

    def test_who_may_only_enqueue_learns_that_a_key_is_taken_and_nothing_else(self):
        body = '{"input": 1, "idempotency_key": "k"}'
        made = self.server.ask("POST", "/v1/tasks/pay/executions", self.tokens["enqueue"], JSON, body=body)
        self.assertEqual(made.status, 201, made)
        taken = self.server.ask("POST", "/v1/tasks/pay/executions", self.tokens["enqueue"], JSON, body=body)
        self.assertEqual((taken.status, taken.json["error"], taken.header("Retry-After")), (409, "TaskAlreadyExists", None), taken)
        self.assertNotIn(made.json["id"], taken.body.decode())
        self.assertNotIn("existing_status", taken.json)

    def post(self, path, scope, body, kind=JSON):
        return self.server.ask("POST", path, self.tokens[scope], kind, body=body if isinstance(body, str) else json.dumps(body))

    def taken(self, answer, status=409, name="TaskAlreadyExists"):
        self.assertEqual((answer["status"], answer["error"]), (status, name), answer)
        self.assertFalse({"existing_execution_id", "existing_status", "result", "id", "created"} & set(answer), answer)

    def test_who_may_only_enqueue_ends_no_holder_and_is_told_of_none(self):
        for route, key in (("/v1/tasks/pay", "idempotency_key"), ("/v1/workflows/order", "workflow_id")):
            for ended in (False, True):
                name = f"no-ends-{ended}-{key}"
                body = {"input": 1, key: name}
                made = self.post(route + "/executions", "enqueue", body).json["id"]
                if ended:
                    self.post(f"/v1/executions/{made}/cancel", "admin", {})
                    made = self.post(route + "/executions", "enqueue", body).json["id"]
                extras = [{"throttle": "1h"}] if key == "idempotency_key" else []
                for policy in ("return_existing", "reject", "wait", "terminate_existing"):
                    for extra in [{}, *extras]:
                        asked = {**body, "on_conflict": policy, **extra}
                        self.taken(self.post(route + "/executions", "enqueue", asked).json)
                        if key == "idempotency_key" and policy != "wait":
                            line = self.post("/v1/executions/batch", "enqueue", json.dumps({"task": "pay", **asked}) + "\n",
                                             "Content-Type: application/x-ndjson")
                            self.taken(json.loads(line.body))
                for reuse in ("allow", "failed_only", "reject"):
                    refused = self.post(route + "/executions", "enqueue", {**body, "reuse": reuse})
                    self.taken(refused.json, 403, "Forbidden")
                    self.assertIn("'read'", refused.json["detail"])
                self.assertEqual(self.ask("GET", "/v1/executions/" + made, self.tokens["read"]).json["status"], "pending")
        line = self.post("/v1/executions/batch", "enqueue", '{"task": "pay", "reuse": "allow"}\n{"task": "pay"}\n',
                         "Content-Type: application/x-ndjson")
        first, second = (json.loads(text) for text in line.body.splitlines())
        self.taken({key: value for key, value in first.items() if key != "line"}, 403, "Forbidden")
        self.assertTrue(second["created"])

    def test_who_ends_a_holder_is_told_in_the_audit(self):
        body = {"input": 1, "idempotency_key": "ended-by"}
        made = self.post("/v1/tasks/pay/executions", "enqueue", body).json["id"]
        again = self.post("/v1/tasks/pay/executions", "admin", {**body, "on_conflict": "terminate_existing"})
        self.assertEqual((again.status, again.json["run"]), (201, 2), again)
        done = subprocess.run([BIN, "sql", f"SELECT actor, action FROM audit WHERE subject = '{made}'", "--json"],
                              capture_output=True, check=True, timeout=60, env=clean_environment(HAPAX_STORE_URL="sqlite:tokens.db"))
        self.assertIn("execution.cancel", done.stdout.decode())
        self.assertIn("token", done.stdout.decode())

    def test_what_the_whole_server_counts_is_for_administrators(self):
        self.post("/v1/tasks/pay/executions", "enqueue", {"queue": "seen"})
        theirs = self.ask("GET", "/metrics", self.tokens["read"]).body.decode()
        self.assertIn('queue="seen"', theirs)
        self.assertNotIn("hapax_admissions_total", theirs)
        self.assertIn("hapax_admissions_total", self.ask("GET", "/metrics", self.tokens["admin"]).body.decode())

    def test_a_token_with_a_long_name_claims(self):
        done = subprocess.run([BIN, "token", "create", "--scopes", "work", "--namespace", "ours", "--name", "n" * 190, "--json"],
                              capture_output=True, check=True, timeout=60, env=clean_environment(HAPAX_STORE_URL="sqlite:tokens.db"))
        token = "Authorization: Bearer " + json.loads(done.stdout)["token"]
        answer = self.server.ask("POST", "/v1/claims", token, JSON, body='{"queues": ["q"]}')
        self.assertEqual(answer.status, 200, answer)

    def test_probes_need_none(self):
        for path in ("/healthz", "/readyz", "/openapi.json"):
            self.assertEqual(self.server.get(path).status, 200, path)


class Revoked(unittest.TestCase):
    """A revoked token ends its long requests too: within 5 s, because the server checks at least every 5 s."""

    URL = "sqlite:revoked.db"

    def token(self, name, scopes):
        done = subprocess.run([BIN, "token", "create", "--scopes", scopes, "--name", name, "--json"], capture_output=True, check=True,
                              timeout=60, env=clean_environment(HAPAX_STORE_URL=self.URL))
        return "Authorization: Bearer " + json.loads(done.stdout)["token"]

    def revoke(self, name):
        subprocess.run([BIN, "token", "revoke", name], check=True, capture_output=True, timeout=60,
                       env=clean_environment(HAPAX_STORE_URL=self.URL))

    def setUp(self):
        self.admin = self.token("admin", "admin")
        self.server = Server(BIN, "serve", "--listen", "127.0.0.1:0", env={"HAPAX_STORE_URL": self.URL})
        self.addCleanup(self.server.stop)

    def test_streams_and_long_polls_end(self):
        names = ("stream", "claim", "result")
        tokens = {name: self.token(name, "read,work") for name in names}
        made = self.server.ask("POST", "/v1/tasks/t/executions", self.admin, JSON, body='{"queue": "waits"}').json["id"]
        with self.server.connect(timeout=40) as stream, self.server.connect(timeout=40) as claim, self.server.connect(timeout=40) as result:
            stream.send(f"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\n{tokens['stream']}\r\n\r\n")
            self.assertEqual(stream.head()[0], 200)
            self.assertIn(b"event: ready", stream.chunk())
            body = '{"queues": ["q"], "wait": "60s"}'
            claim.send(f"POST /v1/claims HTTP/1.1\r\nHost: localhost\r\n{tokens['claim']}\r\n{JSON}\r\nContent-Length: {len(body)}\r\n\r\n{body}")
            result.send(f"GET /v1/executions/{made}/result?wait=60s HTTP/1.1\r\nHost: localhost\r\n{tokens['result']}\r\n\r\n")
            for name in names:
                self.revoke(name)
            time.sleep(12)  # 5 s, and what a busy machine needs
            # Later events must not reach the revoked clients.
            self.server.ask("POST", "/v1/tasks/t/executions", self.admin, JSON, body='{"queue": "q"}')
            self.assertEqual(claim.answer().status, 401)
            self.assertEqual(result.answer().status, 401)
            rest = b""
            while stream.receive():
                pass
            rest = stream.buffer
            self.assertNotIn(b"execution", rest)
            self.assertNotIn(b"\r\n0\r\n\r\n", rest)  # the connection was cut; the stream did not end in order


class Defaults(unittest.TestCase):
    def test_tokens_count_as_soon_as_one_is_made(self):
        server = Server(BIN, "serve", "--listen", "127.0.0.1:0", env={"HAPAX_STORE_URL": "sqlite:open.db"})
        try:
            self.assertEqual(server.get("/v1/queues").status, 200)
            subprocess.run([BIN, "token", "create", "--scopes", "read"], check=True, capture_output=True, timeout=60,
                           env=clean_environment(HAPAX_STORE_URL="sqlite:open.db"))
            until(lambda: server.get("/v1/queues").status == 401, "the door to be shut", 15)
        finally:
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
