"""Tokens at the door (SPEC X1, X2): every operation of the description is tried without one, with every scope, and with another
tenant's."""

import json
import subprocess
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
        # Tokens allow an address that others reach.
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
                    continue  # it would not end
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

    def test_probes_need_none(self):
        for path in ("/healthz", "/readyz", "/openapi.json"):
            self.assertEqual(self.server.get(path).status, 200, path)


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
