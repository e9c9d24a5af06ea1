"""Two servers on one store: kill -9 of either under load loses nothing that was acknowledged, and clients that retry with
their key get one effect."""

import http.client
import random
import threading
import time
import unittest
import urllib.parse

from _api import Api, on_stores

SEED = random.SystemRandom().randrange(1 << 32)


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
            """One of the two that answers; None when neither did."""
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
                    continue  # the same key again
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
        # One execution a key, and none but what was acknowledged and the last request of each producer.
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
