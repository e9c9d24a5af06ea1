"""Two servers on one store: kill -9 of either under load loses nothing that was acknowledged, and clients
that retry with their key get one effect."""

import http.client
import json
import random
import threading
import time
import unittest
import urllib.parse

from _api import Api, on_stores

SEED = random.SystemRandom().randrange(1 << 32)


@on_stores
class OneCatalogue:
    """A declaration that one server has acknowledged counts for every later request to any server."""

    def two(self):
        if len(self.servers) < 2:
            self.serve()
        return [Api(server, None, self.api.document) for server in self.servers[:2]]

    def test_a_declaration_counts_at_once_on_the_other_server(self):
        first, second = self.two()
        for number in range(20):
            task = f"{self.task}-{number}"
            # The enqueue makes the other server's copy of the catalogue current.
            self.assertTrue(second.enqueue(task, 1)["created"])
            first.put(f"/v1/tasks/{task}", {"identity_strategy": "strict"}, expect=201)
            made = second.enqueue(task, {"n": 1})
            for _ in range(2):
                again = second.enqueue(task, {"n": 1}, expect=200, on_conflict="return_existing")
                self.assertEqual((again["id"], again["created"]), (made["id"], False))

    def test_a_declaration_counts_at_once_for_a_batch(self):
        first, second = self.two()
        for count in (3, 700):  # arrays, and COPY on PostgreSQL
            task = f"{self.task}-{count}"
            self.assertTrue(second.enqueue(task, 1)["created"])
            first.put(f"/v1/tasks/{task}", {"identity_strategy": "strict"}, expect=201)
            lines = "".join(json.dumps({"task": task, "input": number // 2, "on_conflict": "return_existing"}) + "\n"
                            for number in range(count))
            answer = second.post("/v1/executions/batch", lines, headers={"Content-Type": "application/x-ndjson"})
            told = [json.loads(line) for line in answer.body.splitlines()]
            self.assertEqual([one["created"] for one in told], [number % 2 == 0 for number in range(count)])

    def test_a_removal_counts_at_once_on_the_other_server(self):
        first, second = self.two()
        first.put(f"/v1/tasks/{self.task}", {"identity_strategy": "strict"}, expect=201)
        made = second.enqueue(self.task, 1)
        first.ask("DELETE", f"/v1/tasks/{self.task}")
        again = second.enqueue(self.task, 1)
        self.assertTrue(again["created"])
        self.assertNotEqual(again["id"], made["id"])

    def test_a_result_that_is_gone_is_410_on_every_server(self):
        first, second = self.two()
        first.put(f"/v1/queues/{self.queue}", {"retention": "100ms"})
        made = first.enqueue(self.task, queue=self.queue)
        first.complete(first.claim(self.queue)["claims"][0], 1)
        path = f"/v1/executions/{made['id']}/result"
        deadline = time.monotonic() + 60
        while first.ask("GET", path).status == 200:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        fresh = Api(self.serve(), None, self.api.document)
        for api in (first, second, fresh):
            self.problem(api.ask("GET", path), 410, "ResultExpired")
            self.problem(api.other("elsewhere").ask("GET", path), 404, "NotFound")


@on_stores
class TwoServers:
    def test_kill_either_under_load(self):
        print(f"seed {SEED}")
        dice = random.Random(SEED)
        servers = [self.api.server, self.serve()]
        document = self.api.document
        lock = threading.Lock()
        acknowledged, effects = {}, {}
        producing, working = threading.Event(), threading.Event()
        producing.set()
        working.set()

        def ask(path, body):
            """The answer of one of the two servers, or None if neither answered."""
            with lock:
                server = dice.choice(servers)
            try:
                return Api(server, None, document).ask("POST", path, body, timeout=20)
            except (OSError, http.client.HTTPException):
                return None

        def produce(name):
            number = 0
            while producing.is_set():
                key = f"{name}-{number}"
                body = {"input": {"key": key}, "queue": self.queue, "idempotency_key": key, "on_conflict": "return_existing"}
                answer = ask(f"/v1/tasks/{self.task}/executions", body)
                if answer is None or answer.status == 503:
                    time.sleep(0.01)
                    continue  # repeats the same key
                assert answer.status in (200, 201), answer
                with lock:
                    acknowledged[key] = answer.json["id"]
                number += 1

        def work():
            while working.is_set():
                answer = ask("/v1/claims", {"queues": [self.queue], "limit": 5, "lease": "2s", "wait": "300ms"})
                if answer is None or answer.status != 200:
                    time.sleep(0.01)
                    continue
                for claim in answer.json["claims"]:
                    outcome = {"id": claim["id"], "fence": claim["fence"], "status": "completed", "result": claim["fence"]}
                    for _ in range(100):
                        told = ask("/v1/claims/finish", {"outcomes": [outcome]})
                        if told is not None and told.status in (200, 409):
                            break
                        time.sleep(0.02)
                    if told is not None and told.status == 200:
                        with lock:
                            effects[claim["input"]["key"]] = effects.get(claim["input"]["key"], 0) + 1

        threads = [threading.Thread(target=produce, args=(f"p{number}",)) for number in range(4)]
        threads += [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(6):
            time.sleep(0.7)
            place = dice.randrange(2)
            servers[place].process.kill()
            servers[place].process.wait()
            servers[place] = self.serve()
        producing.clear()
        deadline = time.monotonic() + 60
        while len(effects) < len(acknowledged):
            self.assertLess(time.monotonic(), deadline, f"{len(effects)} of {len(acknowledged)} ended")
            time.sleep(0.1)
        working.clear()
        for thread in threads:
            thread.join(60)
        print(f"{len(acknowledged)} acknowledged, all with one effect")
        self.assertGreater(len(acknowledged), 20)
        self.assertEqual({key: count for key, count in effects.items() if count != 1}, {})
        api = Api(servers[0], None, document)
        for key, id in acknowledged.items():
            shown = api.get("/v1/executions/" + id).json
            self.assertEqual((shown["status"], shown["task_id"]), ("completed", key))
        # One execution per key, and no other keys than the acknowledged ones and each producer's last request.
        keys, cursor = [], ""
        while cursor is not None:
            page = api.get(f"/v1/executions?task={self.task}&limit=1000&cursor={urllib.parse.quote(cursor)}" if cursor else
                           f"/v1/executions?task={self.task}&limit=1000").json
            keys += [each["task_id"] for each in page["executions"]]
            cursor = page["next"]
        self.assertEqual(len(keys), len(set(keys)))
        self.assertLessEqual(set(acknowledged), set(keys))
        self.assertLessEqual(len(keys), len(acknowledged) + 4)


if __name__ == "__main__":
    unittest.main()
