"""The catalogue, queues, dead letters, activities and events over HTTP."""

import json
import time
import unittest

from _api import UUID, on_stores


@on_stores
class Catalogue:
    def test_put_get_delete(self):
        path = f"/v1/tasks/{self.task}"
        self.problem(self.api.ask("GET", path), 404, "NotFound")
        definition = {"identity_strategy": "contextual", "identity_keys": ["/customer"], "max_attempts": 6, "queue": self.queue}
        entry = self.api.put(path, definition, expect=201).json
        self.assertEqual((entry["task"], entry["origin"]), (self.task, "api"))
        self.assertEqual(self.api.put(path, definition, expect=200).json["definition"]["max_attempts"], 6)
        self.assertEqual(self.api.get(path).json["definition"]["identity_keys"], ["/customer"])
        self.assertIn(self.task, [each["task"] for each in self.api.get("/v1/tasks").json["tasks"]])
        # Every kind of request follows the catalogue at once.
        made = self.api.enqueue(self.task, {"customer": 1, "n": 1})
        again = self.api.enqueue(self.task, {"customer": 1, "n": 2}, on_conflict="return_existing", expect=200)
        self.assertEqual(again["id"], made["id"])
        self.assertEqual(self.api.get("/v1/executions/" + made["id"]).json["queue"], self.queue)
        self.api.delete(path)
        self.problem(self.api.ask("DELETE", path), 404, "NotFound")

    def test_bad_definitions(self):
        for body in ({"identity_strategy": "often"}, {"identity_strategy": "contextual"}, {"max_attempts": 0},
                     {"max_atempts": 3}, {"timeout": "5"}, [], "", "{"):
            answer = self.api.put(f"/v1/tasks/{self.task}", body)
            self.assertEqual(answer.status, 400, (body, answer))
        self.problem(self.api.ask("GET", f"/v1/tasks/{self.task}"), 404, "NotFound")


@on_stores
class Queues:
    def test_settings(self):
        path = f"/v1/queues/{self.queue}"
        self.problem(self.api.ask("GET", path), 404, "NotFound", self.queue)
        told = self.api.put(path, {"retention": "30d", "rate_limit": "100/sec", "concurrency": 20}, expect=200).json
        self.assertEqual((told["retention"], told["rate_limit"], told["concurrency"]), ("30d", "100/sec", 20))
        told = self.api.put(path, {"rate_limit": None}, expect=200).json
        self.assertEqual((told["rate_limit"], told["concurrency"]), (None, 20))
        self.assertIn(self.queue, [each["queue"] for each in self.api.get("/v1/queues").json["queues"]])
        for body, field in (({"retention": "30"}, "retention"), ({"retention": 30}, "retention"),
                            ({"rate_limit": "fast"}, "rate_limit"), ({"concurrency": 0}, "concurrency"),
                            ({"concurrency": "many"}, "concurrency"), ({"colour": 1}, "colour"), ({"paused": "x"}, "paused")):
            self.problem(self.api.put(path, body), 400, "InvalidArgument", field)

    def test_pause_and_resume(self):
        self.api.enqueue(self.task, queue=self.queue)
        self.assertTrue(self.api.post(f"/v1/queues/{self.queue}/pause").json["paused"])
        self.assertEqual(self.api.claim(self.queue)["claims"], [])
        self.assertFalse(self.api.post(f"/v1/queues/{self.queue}/resume").json["paused"])
        self.assertEqual(len(self.api.claim(self.queue, wait="10s")["claims"]), 1)

    def test_purge_and_move(self):
        for number in range(3):
            self.api.enqueue(self.task, number, queue=self.queue)
        other = self.queue + "-2"
        self.assertEqual(self.api.post(f"/v1/queues/{self.queue}/move", {"to": other, "limit": 1, "create": True}).json, {"moved": 1})
        self.assertEqual(self.api.post(f"/v1/queues/{self.queue}/purge").json, {"purged": 2, "requested": 0})
        self.assertEqual(self.api.get(f"/v1/queues/{other}").json["ready"], 1)
        self.problem(self.api.ask("POST", f"/v1/queues/{other}/move", {"to": other}), 400, "InvalidArgument", "to")
        self.problem(self.api.ask("POST", f"/v1/queues/{other}/move", {}), 400, "InvalidArgument", "to")
        for verb in ("purge", "move", "pause", "resume", "drain"):
            body = {"to": "x"} if verb == "move" else None
            self.problem(self.api.ask("POST", f"/v1/queues/nowhere/{verb}", body), 404, "NotFound")
        self.problem(self.api.ask("POST", f"/v1/queues/{other}/move", {"to": "nowhere"}), 404, "NotFound")

    def test_a_mistyped_queue_is_not_made(self):
        self.api.enqueue(self.task, queue=self.queue)
        for verb in ("pause", "resume", "drain", "purge"):
            answer = self.api.ask("POST", f"/v1/queues/{self.queue}x/{verb}", {})
            self.problem(answer, 404, "NotFound", f"did you mean '{self.queue}'?")
        for path in ("executions/cancel", "executions/retry", "dead-letters/retry", "dead-letters/discard"):
            answer = self.api.ask("POST", "/v1/" + path, {"filter": {"queue": self.queue + "x"}})
            self.problem(answer, 404, "NotFound", f"did you mean '{self.queue}'?")
        self.assertNotIn(self.queue + "x", [each["queue"] for each in self.api.get("/v1/queues").json["queues"]])
        self.assertTrue(self.api.post(f"/v1/queues/{self.queue}x/pause", {"create": True}).json["paused"])


@on_stores
class DeadLetters:
    def fail(self, count=1):
        ids = []
        for number in range(count):
            made = self.api.enqueue(self.task, number, queue=self.queue)
            [claim] = self.api.claim(self.queue)["claims"]
            self.api.finish({"id": claim["id"], "fence": 1, "status": "failed", "permanent": True,
                             "error": {"type": "Boom", "message": "went off"}})
            ids.append(made["id"])
        return ids

    def listed(self):
        return [each["id"] for each in self.api.get(f"/v1/dead-letters?queue={self.queue}").json["executions"]]

    def test_all_of_it(self):
        one, two, three = self.fail(3)
        self.assertEqual(self.listed(), [three, two, one])
        self.assertEqual(self.api.post("/v1/dead-letters/annotate", {"ids": [one], "note": "seen"}).json, {"annotated": 1})
        self.assertEqual(self.api.get("/v1/executions/" + one).json["note"], "seen")
        self.assertEqual(self.api.post("/v1/dead-letters/discard", {"ids": [one]}).json, {"discarded": 1})
        told = self.api.post("/v1/dead-letters/retry", {"ids": [two]}).json
        self.assertEqual((told["retried"], told["executions"][0]["run"]), (1, 2))
        told = self.api.post("/v1/dead-letters/retry", {"filter": {"queue": self.queue}}).json
        self.assertEqual(told["retried"], 1)
        self.assertEqual(self.listed(), [])
        self.assertEqual(len(self.api.claim(self.queue, limit=10)["claims"]), 2)

    def test_pages(self):
        ids = self.fail(3)
        page = self.api.get(f"/v1/dead-letters?queue={self.queue}&limit=2").json
        rest = self.api.get(f"/v1/dead-letters?queue={self.queue}&limit=2&cursor={page['next']}").json
        self.assertEqual([each["id"] for each in page["executions"] + rest["executions"]], ids[::-1])
        answer = self.api.ask("GET", f"/v1/executions?queue={self.queue}&cursor={page['next']}")
        self.problem(answer, 400, "InvalidArgument", "cursor")

    def test_what_is_none(self):
        made = self.api.enqueue(self.task)
        for verb in ("retry", "discard", "annotate"):
            more = {"note": "x"} if verb == "annotate" else {}
            self.problem(self.api.ask("POST", f"/v1/dead-letters/{verb}", {"ids": [made["id"]], **more}), 404, "NotFound")
            self.problem(self.api.ask("POST", f"/v1/dead-letters/{verb}", {"ids": [UUID], **more}), 404, "NotFound")
            self.problem(self.api.ask("POST", f"/v1/dead-letters/{verb}", {**more}), 400, "InvalidArgument", "ids")
        self.problem(self.api.ask("POST", "/v1/dead-letters/annotate", {"ids": [UUID]}), 400, "InvalidArgument", "note")


@on_stores
class Activities:
    def definition(self, **more):
        return {"name": "Daily", "trigger": {"type": "cron", "cron": "0 9 * * 1-5", "time_zone": "Europe/Zurich"},
                "target": {"task": self.task, "queue": self.queue}, "input": {"kind": "daily"}, **more}

    def test_life(self):
        id = "a-" + self.task
        path = "/v1/activities/" + id
        self.problem(self.api.ask("GET", path), 404, "NotFound", id)
        made = self.api.put(path, self.definition(), expect=201).json
        self.assertEqual((made["id"], made["result"], made["version"]), (id, "created", 1))
        self.assertEqual(self.api.put(path, self.definition(id=id), expect=200).json["result"], "unchanged")
        shown = self.api.get(path + "?versions=true").json
        self.assertEqual((shown["trigger"]["cron"], shown["target"]["task"], shown["name"]), ("0 9 * * 1-5", self.task, "Daily"))
        self.assertEqual((len(shown["next_fires"]), len(shown["versions"])), (5, 1))
        self.assertIn(id, [each["id"] for each in self.api.get("/v1/activities").json["activities"]])
        self.assertEqual(self.api.post(path + "/pause", {"note": "moving"}).json["note"], "moving")
        self.assertFalse(self.api.post(path + "/resume").json["paused"])
        started = self.api.post(path + "/trigger", {"key": "k"}, expect=201).json
        self.assertEqual(self.api.post(path + "/trigger", {"key": "k"}).json["id"], started["id"])
        [claim] = self.api.claim(self.queue)["claims"]
        self.assertEqual(claim["input"]["input"], {"kind": "daily"})
        filled = self.api.post(path + "/backfill", {"from": "2026-03-02", "to": "2026-03-06"}).json
        self.assertEqual((filled["ticks"], filled["started"]), (5, 5))
        self.assertEqual(self.api.post(path + "/backfill", {"from": "2026-03-02", "to": "2026-03-06"}).json["existing"], 5)
        fires = self.api.get(path + "/preview?from=2026-03-27&count=3&down=2h").json
        self.assertEqual(len(fires["fires"]), 3)
        runs = self.api.get(path + "/runs?limit=4").json
        rest = self.api.get(path + f"/runs?limit=4&cursor={runs['next']}").json
        self.assertEqual(len(runs["runs"]) + len(rest["runs"]), 6)
        self.assertEqual(self.api.delete(path).json, {"deleted": id})
        self.problem(self.api.ask("DELETE", path), 404, "NotFound")
        self.assertEqual(len(self.api.get(path + "/runs").json["runs"]), 6)

    def test_bad_definitions(self):
        id = "b-" + self.task
        trigger = self.definition()["trigger"]
        for body, field in ((self.definition(trigger={**trigger, "cron": "99 * * * *"}), "cron"),
                            (self.definition(trigger={**trigger, "cron": "0 0 30 2 *"}), "cron"),
                            (self.definition(trigger={**trigger, "time_zone": "Mars/Olympus"}), "time_zone"),
                            (self.definition(trigger={**trigger, "jitter": "5"}), "jitter"),
                            (self.definition(id="other"), "id"), (self.definition(tarket=1), "tarket"), ({}, "trigger")):
            answer = self.api.put("/v1/activities/" + id, body)
            self.assertEqual(answer.status, 400, answer)
            self.assertIn(field, answer.json["detail"])
        for verb, body in (("pause", None), ("resume", None), ("trigger", None),
                           ("backfill", {"from": "2026-03-02", "to": "2026-03-06"})):
            self.problem(self.api.ask("POST", f"/v1/activities/{id}/{verb}", body), 404, "NotFound")
        for rest in ("/preview", "/runs"):
            self.problem(self.api.ask("GET", f"/v1/activities/{id}{rest}"), 404, "NotFound")

    def test_bad_previews(self):
        path = "/v1/activities/c-" + self.task
        self.api.put(path, self.definition(), expect=201)
        for query in ("count=0", "count=1001", "from=soon", "down=5", "conut=1"):
            self.problem(self.api.ask("GET", path + "/preview?" + query), 400, "InvalidArgument", query.split("=")[0])
        self.problem(self.api.ask("POST", path + "/backfill", {"from": "x", "to": "now"}), 400, "InvalidArgument", "from")

    def test_events(self):
        kind = "order." + self.task
        self.api.put("/v1/activities/on-" + self.task,
                     {"trigger": {"type": "event", "types": [kind]}, "target": {"task": self.task, "queue": self.queue}}, expect=201)
        event = {"specversion": "1.0", "id": "e1", "source": "/shop", "type": kind, "data": {"order": 1}}
        send = lambda body, kind, **more: self.api.post("/v1/events", body, headers={"Content-Type": kind, **more})
        first = send(event, "application/cloudevents+json").json
        self.assertEqual([(run["activity"], run["created"]) for run in first["runs"]], [("on-" + self.task, True)])
        again = send(event, "application/json").json
        self.assertEqual([(run["execution"], run["created"]) for run in again["runs"]], [(first["runs"][0]["execution"], False)])
        binary = send('{"order":2}', "application/json", **{"ce-specversion": "1.0", "ce-id": "e2", "ce-source": "/shop",
                                                            "ce-type": kind}).json
        self.assertTrue(binary["runs"][0]["created"])
        batch = send([{**event, "id": "e3"}, event], "application/cloudevents-batch+json").json["events"]
        self.assertEqual([one["runs"][0]["created"] for one in batch], [True, False])
        claims = self.api.claim(self.queue, limit=10)["claims"]
        self.assertEqual(sorted(claim["input"]["trigger"]["event"]["id"] for claim in claims), ["e1", "e2", "e3"])

    def test_an_event_whose_queue_drains_is_refused_and_may_be_sent_again(self):
        kind = "order." + self.task
        self.api.put("/v1/activities/on-" + self.task,
                     {"trigger": {"type": "event", "types": [kind]}, "target": {"task": self.task, "queue": self.queue}}, expect=201)
        self.api.post(f"/v1/queues/{self.queue}/drain", {"create": True})
        event = {"specversion": "1.0", "id": "e1", "source": "/shop", "type": kind}
        self.problem(self.api.ask("POST", "/v1/events", event), 409, "QueueDraining", "draining")
        batch = self.api.post("/v1/events", [event, {**event, "type": "nobody"}]).json["events"]
        self.assertEqual([one.get("error") for one in batch], ["QueueDraining", None])
        self.api.post(f"/v1/queues/{self.queue}/resume")
        self.assertTrue(self.api.post("/v1/events", event).json["runs"][0]["created"])

    def test_an_event_is_answered_with_the_status_of_its_worst_run(self):
        kind, other = "order." + self.task, "other-" + self.queue
        for name, queue, input in (("good", self.queue, None), ("large", self.queue, {"a": ["{{event.data}}"] * 8}),
                                   ("drained", other, None)):
            self.api.put(f"/v1/activities/{name}-{self.task}", {"trigger": {"type": "event", "types": [kind]},
                                                                "target": {"task": self.task, "queue": queue}, "input": input}, expect=201)
        event = {"specversion": "1.0", "id": "e1", "source": "/shop", "type": kind, "data": "x" * 200_000}
        refused = self.problem(self.api.ask("POST", "/v1/events", event), 413, "PayloadTooLarge", "large-" + self.task)
        runs = {run["activity"].split("-")[0]: run for run in refused["event"]["runs"]}
        self.assertEqual([runs[name]["created"] for name in ("good", "large", "drained")], [True, False, True])
        batch = self.api.post("/v1/events", [event, {**event, "id": "e2", "data": 1}]).json["events"]
        self.assertEqual([(one.get("error"), one.get("status")) for one in batch], [("PayloadTooLarge", 413), (None, None)])
        self.api.post(f"/v1/queues/{other}/drain")
        again = {**event, "id": "e3"}
        self.problem(self.api.ask("POST", "/v1/events", again), 409, "QueueDraining", "drained-" + self.task, "send the event again")
        self.api.post(f"/v1/queues/{other}/resume")
        last = self.problem(self.api.ask("POST", "/v1/events", again), 413, "PayloadTooLarge")
        runs = {run["activity"].split("-")[0]: run["created"] for run in last["event"]["runs"]}
        self.assertEqual(runs, {"good": False, "large": False, "drained": True})

    def test_a_duplicate_event_is_counted_and_logged_by_name(self):
        kind, name = "order." + self.task, "on-" + self.task
        self.api.put("/v1/activities/" + name,
                     {"trigger": {"type": "event", "types": [kind]}, "target": {"task": self.task, "queue": self.queue}}, expect=201)
        event = {"specversion": "1.0", "id": "e1", "source": "/shop", "type": kind}
        self.assertEqual([self.api.post("/v1/events", event).json["runs"][0]["created"] for _ in range(3)], [True, False, False])
        patience = time.monotonic() + 60
        told, counts = [], {}
        while (sum("activity-%s:e1" % name in line for line in told) < 1 or counts["duplicates"] < 2) and time.monotonic() < patience:
            time.sleep(0.1)
            told = [line for line in self.api.server.log if '"duplicate events"' in line]
            counts = self.api.get("/v1/activities/" + name).json["counts"]
        self.assertEqual((counts["started"], counts["duplicates"]), (1, 2))
        self.assertTrue(any(f"activity '{name}' of namespace" in line and f"activity-{name}:e1" in line for line in told), told)

    def test_trace_context_never_loses_an_event(self):
        kind, trace = "order." + self.task, "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        self.api.put("/v1/activities/on-" + self.task,
                     {"trigger": {"type": "event", "types": [kind]}, "target": {"task": self.task, "queue": self.queue}}, expect=201)
        event = {"specversion": "1.0", "source": "/shop", "type": kind}
        for number, (header, extension, carried) in enumerate((("cc" + trace + "-x", None, "00" + trace), ("x", None, None),
                                                               (None, "00" + trace, "00" + trace), (None, "x" * 3000, None))):
            sent = {**event, "id": str(number), **({"traceparent": extension} if extension else {})}
            answer = self.api.post("/v1/events", sent, headers={"traceparent": header} if header else {}).json
            self.assertTrue(answer["runs"][0]["created"], answer)
            self.assertEqual(self.api.get("/v1/executions/" + answer["runs"][0]["execution"]).json["traceparent"], carried)

    def test_a_binary_event_with_quoted_headers_is_the_same_event(self):
        kind = "order." + self.task
        self.api.put("/v1/activities/on-" + self.task,
                     {"trigger": {"type": "event", "types": [kind]}, "target": {"task": self.task, "queue": self.queue}}, expect=201)
        plain = {"ce-specversion": "1.0", "ce-id": "e1", "ce-source": "/shop", "ce-type": kind}
        quoted = {name: f'"{value}"' for name, value in plain.items()}
        made = [self.api.ask("POST", "/v1/events", "1", headers={"Content-Type": "application/json", **headers}).json["runs"][0]["created"]
                for headers in (plain, quoted)]
        self.assertEqual(made, [True, False])

    def test_what_activities_start_says_who_asked_for_it(self):
        kind, trace = "order." + self.task, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        self.api.put("/v1/activities/on-" + self.task,
                     {"trigger": {"type": "event", "types": [kind]}, "target": {"task": self.task, "queue": self.queue}}, expect=201)
        event = {"specversion": "1.0", "id": "e1", "source": "/shop", "type": kind}
        started = self.api.post("/v1/events", event, headers={"traceparent": trace}).json["runs"][0]["execution"]
        shown = self.api.get("/v1/executions/" + started).json
        self.assertTrue(shown["enqueued_by"], shown)
        self.assertEqual(shown["traceparent"], trace)
        self.assertEqual(self.api.claim(self.queue)["claims"][0]["traceparent"], trace)
        triggered = self.api.post(f"/v1/activities/on-{self.task}/trigger", {"event": event}, expect=201).json
        found = self.api.get("/v1/executions/" + (triggered.get("id") or triggered["execution"])).json
        self.assertTrue(found["enqueued_by"], found)

    def test_a_backfill_is_done_piece_by_piece(self):
        path = "/v1/activities/s-" + self.task
        self.api.put(path, {"trigger": {"type": "cron", "cron": "* * * * * *"}, "target": {"task": self.task, "queue": self.queue}},
                     expect=201)
        self.api.post(path + "/pause")
        asked = {"from": "2025-01-01T00:00:00Z", "to": "2025-01-01T03:29:59Z"}  # 12,600 ticks
        first = self.api.post(path + "/backfill", asked).json
        self.assertEqual(first["started"], first["ticks"])
        self.assertGreaterEqual(first["ticks"], 10_000)
        self.assertLess(first["ticks"], 12_600)
        rest = self.api.post(path + "/backfill", {**asked, "from": first["next_from"]}).json
        self.assertEqual((first["ticks"] + rest["ticks"], rest["started"], rest["existing"]), (12_600, rest["ticks"], 0))
        self.assertNotIn("next_from", rest)

    def test_small_things(self):
        path = "/v1/activities"
        self.problem(self.api.ask("GET", path + "?cursor=zzzz"), 400, "InvalidArgument", "cursor")
        for number in range(2):
            self.api.put(f"{path}/p{number}-{self.task}", self.definition(), expect=201)
        page = self.api.get(path + "?limit=1").json
        after = self.api.get(path + "?limit=1&cursor=" + page["next"]).json
        self.assertGreater(after["activities"][0]["id"], page["activities"][0]["id"])
        for method, rest, body in (("GET", "", None), ("DELETE", "", None), ("POST", "/pause", {}), ("POST", "/resume", {}),
                                   ("POST", "/trigger", {}), ("POST", "/backfill", {"from": "2025-01-01", "to": "2025-01-01"}),
                                   ("GET", "/preview", None), ("GET", "/runs", None)):
            self.problem(self.api.ask(method, path + "/%00" + rest, body), 400, "InvalidArgument", "activity")
        self.problem(self.api.ask("POST", f"{path}/p0-{self.task}/trigger", {"key": ""}), 400, "InvalidIdempotencyKey", "key:")

    def test_bad_events(self):
        good = {"specversion": "1.0", "id": "e", "source": "/s", "type": "t"}
        for body, field in (({**good, "specversion": "2"}, "specversion"), ({**good, "source": ""}, "source"),
                            ({k: v for k, v in good.items() if k != "type"}, "type"), ("{", "byte"),
                            ([good, {**good, "type": 5}], "events[1].type")):
            answer = self.api.ask("POST", "/v1/events", body)
            self.assertEqual(answer.status, 400, answer)
            self.assertIn(field, answer.json["detail"])
        self.assertEqual(self.api.ask("POST", "/v1/events", "x", headers={"Content-Type": "text/plain"}).status, 415)
        self.assertEqual(self.api.ask("POST", "/v1/events", json.dumps({**good, "id": "x" * 256})).status, 400)


if __name__ == "__main__":
    unittest.main()
