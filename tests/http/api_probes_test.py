"""/readyz, doctor and the other routes while the store hangs, refuses writes or is locked by another transaction."""

import os
import resource
import select
import subprocess
import threading
import time
import unittest
import urllib.parse
import uuid

from _api import ApiCase
from _server import BIN, Server, clean_environment, until
from api_metrics_test import Proxy


def psql(url, statement):
    subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", statement, url], check=True, capture_output=True)


def doctor(store, **options):
    done = subprocess.run([BIN, "doctor", "--json", "--store", store], env=clean_environment(), capture_output=True,
                          text=True, **options)
    return done.returncode, done.stdout + done.stderr


class RowsOfOthersOnPostgres(ApiCase, unittest.TestCase):
    backend = "postgres"

    def test_an_outcome_whose_row_another_transaction_holds_is_busy_and_accepted_later(self):
        made = self.api.enqueue(self.task, queue=self.queue)
        [claim] = self.api.claim(self.queue)["claims"]
        base = os.environ["HAPAX_TEST_POSTGRES_URL"]
        holding = subprocess.Popen(["psql", "-qXAt", base], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            row = f"SELECT 1 FROM {self.schema}.live WHERE id = '{made['id']}' FOR UPDATE"
            holding.stdin.write(f"BEGIN; {row};\n".encode())
            holding.stdin.flush()
            self.assertEqual(holding.stdout.readline(), b"1\n")
            outcome = {"id": claim["id"], "fence": claim["fence"], "status": "completed", "result": 1}
            answer = self.api.post("/v1/claims/finish", {"outcomes": [outcome]}, expect=503)
            self.problem(answer, 503, "StoreBusy")
            self.assertIn("retry-after", answer.headers)
        finally:
            holding.stdin.close()
            holding.wait(20)
            holding.stdout.close()
        told = self.api.finish(outcome)
        self.assertEqual(told["verdicts"], [{"id": claim["id"], "verdict": "accepted"}])


class DurabilityOnPostgres(ApiCase, unittest.TestCase):
    backend = "postgres"

    def test_a_role_that_turns_synchronous_commit_off_is_told_and_the_server_stays_ready(self):
        base = os.environ["HAPAX_TEST_POSTGRES_URL"]
        role = "durable_" + uuid.uuid4().hex[:12]
        parts = urllib.parse.urlsplit(base)
        psql(base, f"CREATE ROLE {role} LOGIN SUPERUSER PASSWORD '{role}'")
        try:
            psql(base, f"ALTER ROLE {role} SET synchronous_commit = off")
            url = parts._replace(netloc=f"{role}:{role}@{parts.hostname}:{parts.port}", query="schema=" + self.schema).geturl()
            server = Server(BIN, "serve", "--listen", "127.0.0.1:0", env={"HAPAX_STORE_URL": url})
            try:
                answer = server.get("/readyz")
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual(answer.json["checks"]["durability"],
                                 "synchronous_commit is off; the transactions of hapax raise it to on")
            finally:
                server.stop()
            self.assertIn("synchronous_commit", doctor(url)[1])
        finally:
            psql(base, f"DROP ROLE {role}")
        ready = self.api.get("/readyz", expect=200)
        self.assertEqual(ready.json["checks"]["durability"], "ok")


class HangingProxy(Proxy):
    """Forwards nothing while told to hang, and breaks no connection."""

    hung = False

    def pump(self, here, there):
        try:
            while True:
                for ready in select.select([here, there], [], [])[0]:
                    data = ready.recv(65536)
                    while self.hung:
                        time.sleep(0.05)
                    if not data:
                        raise OSError("ended")
                    (there if ready is here else here).sendall(data)
        except (OSError, ValueError):
            for each in (here, there):
                each.close()
                self.sockets.discard(each)


class Probes(unittest.TestCase):
    def serve(self, store, *arguments):
        server = Server(BIN, "serve", "--listen", "127.0.0.1:0", "--log", "errors", *arguments,
                        env={"HAPAX_STORE_URL": store})
        self.addCleanup(server.stop)
        until(lambda: server.get("/readyz").status == 200, "ready", 60)
        return server

    def test_a_store_that_hangs_is_told_in_time_also_when_all_store_threads_wait_for_it(self):
        url = urllib.parse.urlsplit(os.environ["HAPAX_TEST_POSTGRES_URL"])
        query = dict(urllib.parse.parse_qsl(url.query))
        proxy = HangingProxy(query.pop("host", url.hostname), int(query.pop("port", url.port or 5432)))
        query.update(schema="hang_" + uuid.uuid4().hex[:12], sslmode="disable")
        user = (url.username or "") + (":" + url.password if url.password else "")
        store = f"postgresql://{user}@127.0.0.1:{proxy.port}{url.path}?" + urllib.parse.urlencode(query)
        subprocess.run([BIN, "migrate", "--store", store], check=True, capture_output=True, env=clean_environment())
        server = self.serve(store, "--store-threads", "2")
        proxy.hung = True
        asked = []
        try:
            for _ in range(6):
                asked.append(threading.Thread(target=lambda: server.get("/v1/queues", timeout=120)))
                asked[-1].start()
            time.sleep(1.5)  # an earlier answer counts for 1 s
            begun = time.monotonic()
            answer = server.get("/readyz", timeout=60)
            # Takes 1.5 s on an idle machine.
            self.assertLess(time.monotonic() - begun, 10)
            self.assertEqual(answer.status, 503)
            self.assertEqual(answer.json["checks"]["store"], "does not answer")
            self.assertEqual(server.get("/healthz").status, 200)
        finally:
            proxy.hung = False
            for each in asked:
                each.join(120)
        until(lambda: server.get("/readyz").status == 200, "ready again", 60)

    def test_a_full_disk_is_told(self):
        store = f"sqlite:full_{uuid.uuid4().hex[:12]}.db"
        server = self.serve(store)
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, before[1]))
        until(lambda: server.get("/readyz").status == 503, "not ready any more", 60)
        self.assertEqual(server.get("/readyz").json["checks"]["store"], "StoreUnavailable")
        code, told = doctor(store, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1])))
        self.assertIn(code, (1, 75), told)
        self.assertIn("disk is full", told)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        until(lambda: server.get("/readyz").status == 200, "ready again", 60)
        self.assertEqual(doctor(store)[0], 0)

    def test_a_database_file_that_was_deleted_is_told(self):
        name = f"deleted_{uuid.uuid4().hex[:12]}.db"
        server = self.serve("sqlite:" + name)
        os.rename(name, name + ".aside")
        until(lambda: server.get("/readyz").status == 503, "not ready any more", 60)
        refused = server.ask("POST", "/v1/tasks/t/executions", "Content-Type: application/json", body="{}")
        self.assertEqual((refused.status, refused.json["error"]), (503, "StoreUnavailable"))
        os.rename(name + ".aside", name)
        until(lambda: server.get("/readyz").status == 200, "ready again", 60)

    def test_a_read_only_database_is_told(self):
        base = os.environ["HAPAX_TEST_POSTGRES_URL"]
        name = "readonly_" + uuid.uuid4().hex[:12]
        psql(base, f"CREATE DATABASE {name}")
        url = urllib.parse.urlsplit(base)
        store = urllib.parse.urlunsplit(url._replace(path="/" + name))

        def writable(word):
            psql(base, f"ALTER DATABASE {name} SET default_transaction_read_only = {word}")
            psql(base, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")

        try:
            subprocess.run([BIN, "migrate", "--store", store], check=True, capture_output=True, env=clean_environment())
            server = self.serve(store)
            writable("on")
            until(lambda: server.get("/readyz").json["checks"]["store"] != "ok", "not ready any more", 60)
            code, told = doctor(store)
            self.assertEqual(code, 1, told)
            self.assertIn('"subject":"writes"', told)
            writable("off")
            until(lambda: server.get("/readyz").status == 200, "ready again", 60)
            self.assertEqual(server.stop(), 0)
        finally:
            psql(base, f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


if __name__ == "__main__":
    unittest.main()
