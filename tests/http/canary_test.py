"""A secret placed wherever secrets may be appears in no log, no metric, no error and no list of processes."""

import json
import os
import subprocess
import unittest

from _server import BIN, JSON, Server, clean_environment, until

CANARY = "canary-7f3a9c"


def hapax(*arguments, **options):
    return subprocess.run([BIN, *arguments], capture_output=True, timeout=60,
                          env=clean_environment(HAPAX_STORE_URL=options.pop("url", "sqlite:canary.db"), **options.pop("env", {})),
                          **options)


def create(*arguments):
    done = hapax("token", "create", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["token"]


class Canary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.good = create("--scopes", "enqueue,read,work", "--namespace", "shop", "--name", "shop")
        cls.reader = create("--scopes", "read", "--namespace", "shop", "--name", "reader")
        cls.in_file = json.loads(hapax("token", "create", "--scopes", "read", "--namespace", "shop", "--file", "tokens", "--json").stdout)["token"]
        cls.revoked = create("--scopes", "admin", "--namespace", "shop", "--name", "old")
        assert hapax("token", "revoke", "old", "--namespace", "shop").returncode == 0
        # Has the form of a token, but does not exist.
        cls.wrong = cls.good[:-1] + ("a" if cls.good[-1] != "a" else "b")
        cls.server = Server(BIN, "serve", "--listen", "127.0.0.1:0", "--token-file", "tokens",
                            env={"HAPAX_STORE_URL": "sqlite:canary.db"})
        cls.answers = []

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, method, path, *headers, **options):
        answer = self.server.ask(method, path, *headers, **options)
        self.answers.append(answer)
        return answer

    def secrets(self):
        return [self.good, self.reader, self.in_file, self.revoked, self.wrong, CANARY]

    def test_nothing_is_told(self):
        def bearer(token):
            return "Authorization: Bearer " + token

        payload = json.dumps({"input": {"card": CANARY}, "idempotency_key": "order-1"})
        self.assertEqual(self.ask("GET", "/v1/queues").status, 401)
        self.assertEqual(self.ask("GET", "/v1/queues", bearer(self.wrong)).status, 401)
        self.assertEqual(self.ask("GET", "/v1/queues", bearer(self.revoked)).status, 401)
        self.assertEqual(self.ask("GET", "/v1/queues?token=" + self.good).status, 401)
        self.assertEqual(self.ask("GET", "/v1/queues?access_token=" + self.good, bearer(self.good)).status, 401)
        self.assertEqual(self.ask("GET", "/v1/queues", "Authorization: Basic " + self.good).status, 401)
        self.assertEqual(self.ask("GET", "/v1/queues", bearer(self.in_file)).status, 200)
        self.assertEqual(self.ask("POST", "/v1/tasks/pay/executions", bearer(self.reader), JSON, body=payload).status, 403)
        made = self.ask("POST", "/v1/tasks/pay/executions", bearer(self.good), JSON, "X-Secret: " + CANARY,
                        "Cookie: session=" + CANARY, body=payload)
        self.assertEqual(made.status, 201, made)
        # Errors about a payload, a header, a path or a query do not repeat their content.
        other = json.dumps({"input": {"card": CANARY + "x"}, "idempotency_key": "order-1"})
        self.assertEqual(self.ask("POST", "/v1/tasks/pay/executions", bearer(self.good), JSON, body=other).status, 422)
        self.assertEqual(self.ask("POST", "/v1/tasks/pay/executions", bearer(self.good), JSON,
                                  body='{"input": {"card": "' + CANARY + '"').status, 400)
        self.assertEqual(self.ask("GET", "/v1/nothing?secret=" + CANARY, bearer(self.good)).status, 404)
        self.assertEqual(self.ask("POST", "/v1/tasks/pay/executions", bearer(self.good), "Content-Type: " + CANARY,
                                  body="x").status, 415)
        metrics = self.server.get("/metrics", bearer(self.reader)).body.decode()
        until(lambda: any("415" in line for line in self.server.log), "the last request to be logged")
        told = "\n".join(self.server.log) + metrics + "\n".join(repr(answer.headers) for answer in self.answers)
        for answer in self.answers:
            if answer.status >= 400:
                told += answer.body.decode()
        for number, secret in enumerate(self.secrets()):
            self.assertFalse(secret in told, f"secret {number} was told: {[line for line in told.splitlines() if secret in line]}")
        with open(f"/proc/{self.server.process.pid}/cmdline", "rb") as file:
            line = file.read().decode()
        for secret in self.secrets():
            self.assertNotIn(secret, line)
        # The execution names the token that enqueued it, and a reading token sees this.
        shown = self.ask("GET", "/v1/executions/" + made.json["id"], bearer(self.reader)).json
        self.assertRegex(shown["enqueued_by"], r"^api \(token shop \(")
        self.assertEqual(shown["input"], {"card": CANARY})

    def test_a_revoked_token_is_refused_within_seconds_and_a_new_one_taken_at_once(self):
        token = create("--scopes", "read", "--namespace", "shop", "--name", "brief")
        self.assertEqual(self.ask("GET", "/v1/queues", "Authorization: Bearer " + token).status, 200)
        self.assertEqual(hapax("token", "revoke", "brief", "--namespace", "shop").returncode, 0)
        # The promise is 5 s; the rest allows for a busy machine.
        until(lambda: self.server.ask("GET", "/v1/queues", "Authorization: Bearer " + token).status == 401, "the refusal", 15)

    def test_a_password_of_the_store_is_in_no_error(self):
        url = f"postgresql://hapax:{CANARY}@127.0.0.1:1/none?connect_timeout=1&password={CANARY}"
        for command in (["list"], ["doctor"], ["serve", "--listen", "127.0.0.1:0"], ["migrate"]):
            for json_flag in ([], ["--json"]):
                done = hapax(*command, *json_flag, url=url)
                self.assertNotEqual(done.returncode, 0)
                self.assertNotIn(CANARY.encode(), done.stdout + done.stderr, command)

    def test_a_worker_tells_no_payload(self):
        with open("fail.sh", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\ncat > /dev/null\nexit 65\n")
        os.chmod("fail.sh", 0o755)
        self.assertEqual(hapax("enqueue", "job", "--queue", "quiet", "--input", json.dumps(CANARY)).returncode, 0)
        done = hapax("work", "--queue", "quiet", "--exec", "./fail.sh", "--until-empty")
        self.assertNotIn(CANARY.encode(), done.stdout + done.stderr)

    def test_token_files_that_others_may_read_are_refused(self):
        with open("open-tokens", "w", encoding="utf-8") as file:
            file.write("")
        os.chmod("open-tokens", 0o644)
        done = hapax("serve", "--listen", "127.0.0.1:0", "--token-file", "open-tokens")
        self.assertEqual(done.returncode, 78, done.stderr)
        done = hapax("serve", "--listen", "127.0.0.1:0", "--token-file", "no-such-file")
        self.assertEqual(done.returncode, 66, done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
