"""The worker protocol: claim with long poll, fenced outcomes, sessions by lease, progress and cancellation."""

import threading
import time
import unittest

from _api import UUID, on_stores


@on_stores
class Claims:
    def test_the_shape(self):
        made = self.api.enqueue(self.task, {"n": 1}, queue=self.queue, tags=["x"], metadata={"m": 1})
        told = self.api.claim(self.queue, worker="billing-7", limit=10, lease="30s")
        [claim] = told["claims"]
        self.assertEqual((claim["id"], claim["task"], claim["queue"], claim["input"]),
                         (made["id"], self.task, self.queue, {"n": 1}))
        self.assertEqual((claim["attempt"], claim["fence"], claim["deadline"]), (1, 1, None))
        self.assertTrue(claim["effect_key"].startswith("hx_"))
        self.assertEqual((claim["tags"], claim["metadata"]), (["x"], {"m": 1}))
        shown = self.api.get("/v1/executions/" + made["id"]).json
        self.assertEqual((shown["status"], shown["worker"], shown["session"]), ("running", "billing-7", told["session"]))
        self.assertEqual(self.api.claim(self.queue)["claims"], [])

    def test_only_these_tasks(self):
        self.api.enqueue(self.task, queue=self.queue)
        self.assertEqual(self.api.claim(self.queue, tasks=["other"])["claims"], [])
        self.assertEqual(len(self.api.claim(self.queue, tasks=[self.task])["claims"]), 1)

    def test_workflows_are_not_for_them(self):
        self.api.post("/v1/workflows/w/executions", {"workflow_id": self.task, "queue": self.queue}, expect=201)
        self.assertEqual(self.api.claim(self.queue)["claims"], [])

    def test_a_long_poll_is_woken(self):
        told = []
        began = time.monotonic()
        poll = threading.Thread(target=lambda: told.append(self.api.claim(self.queue, wait="30s")))
        poll.start()
        time.sleep(0.3)  # usually the poll is waiting by now; if not, it finds the work at once, which is right too
        self.api.enqueue(self.task, queue=self.queue)
        poll.join(30)
        self.assertEqual(len(told[0]["claims"]), 1)
        self.assertLess(time.monotonic() - began, 10)

    def test_a_long_poll_sees_what_becomes_due(self):
        self.api.enqueue(self.task, queue=self.queue, delay="400ms")
        self.assertEqual(len(self.api.claim(self.queue, wait="20s")["claims"]), 1)

    def test_a_long_poll_ends(self):
        began = time.monotonic()
        self.assertEqual(self.api.claim(self.queue, wait="300ms")["claims"], [])
        self.assertGreater(time.monotonic() - began, 0.25)

    def test_many_polls_share_a_burst(self):
        told = []
        polls = [threading.Thread(target=lambda: told.append(self.api.claim(self.queue, wait="30s"))) for _ in range(20)]
        for poll in polls:
            poll.start()
        time.sleep(0.3)
        for number in range(20):
            self.api.enqueue(self.task, number, queue=self.queue)
        for poll in polls:
            poll.join(60)
        self.assertEqual(sorted(claim["input"] for one in told for claim in one["claims"]), list(range(20)))

    def test_bad_orders(self):
        for body, field in (({}, "queues"), ({"queues": []}, "queues"), ({"queues": "q"}, "queues"),
                            ({"queues": [""]}, "queues"), ({"queues": ["q"], "limit": 0}, "limit"),
                            ({"queues": ["q"], "limit": 101}, "limit"), ({"queues": ["q"], "lease": "1ms"}, "lease"),
                            ({"queues": ["q"], "wait": "5"}, "wait"), ({"queues": ["q"], "session": "x"}, "session"),
                            ({"queues": ["q"], "worker": ""}, "worker")):
            self.problem(self.api.ask("POST", "/v1/claims", body), 400, "InvalidArgument", field)
        self.problem(self.api.ask("POST", "/v1/claims", {"queues": ["q"], "session": UUID}), 409, "StaleLease")


@on_stores
class Outcomes:
    def start(self, **more):
        made = self.api.enqueue(self.task, queue=self.queue, **more)
        [claim] = self.api.claim(self.queue)["claims"]
        self.assertEqual(claim["id"], made["id"])
        return claim

    def show(self, claim):
        return self.api.get("/v1/executions/" + claim["id"]).json

    def test_completed(self):
        claim = self.start()
        told = self.api.complete(claim, {"ok": [1]})
        self.assertEqual(told, {"verdicts": [{"id": claim["id"], "verdict": "accepted"}]})
        self.assertEqual(self.api.get(f"/v1/executions/{claim['id']}/result").json,
                         {"id": claim["id"], "status": "completed", "result": {"ok": [1]}})
        self.assertEqual(self.api.complete(claim, {"ok": [1]})["verdicts"][0]["verdict"], "accepted")  # the same outcome again

    def test_failed_is_retried_by_the_tasks_policy_and_then_dead(self):
        claim = self.start(max_attempts=2, retry_base="1ms", retry_cap="1ms")
        error = {"type": "Timeout", "message": "too slow", "detail": "at line 3"}
        self.api.finish({"id": claim["id"], "fence": claim["fence"], "status": "failed", "error": error})
        self.assertEqual(self.show(claim)["status"], "pending")
        [again] = self.api.claim(self.queue, wait="20s")["claims"]
        self.assertEqual((again["attempt"], again["fence"]), (2, 2))
        self.api.finish({"id": again["id"], "fence": again["fence"], "status": "failed", "error": error})
        shown = self.show(claim)
        self.assertEqual((shown["status"], shown["dead"], shown["error"]), ("failed", True, error))
        attempts = self.api.get(f"/v1/executions/{claim['id']}/attempts").json["attempts"]
        self.assertEqual([attempt["outcome"] for attempt in attempts], ["failed", "failed"])

    def test_permanent(self):
        claim = self.start()
        self.api.finish({"id": claim["id"], "fence": 1, "status": "failed", "permanent": True})
        self.assertEqual(self.show(claim)["status"], "failed")

    def test_retry_after(self):
        claim = self.start()
        self.api.finish({"id": claim["id"], "fence": 1, "status": "failed", "retry_after": "1h"})
        shown = self.show(claim)
        self.assertEqual(shown["status"], "pending")
        self.assertGreater(shown["run_at"], shown["created_at"])
        self.assertEqual(self.api.claim(self.queue)["claims"], [])

    def test_snoozed_and_released_spend_no_attempt(self):
        claim = self.start()
        self.api.finish({"id": claim["id"], "fence": 1, "status": "snoozed", "retry_after": "1ms"})
        [claim] = self.api.claim(self.queue, wait="20s")["claims"]
        self.assertEqual((claim["attempt"], claim["fence"]), (1, 2))
        self.api.finish({"id": claim["id"], "fence": 2, "status": "released"})
        [claim] = self.api.claim(self.queue, wait="20s")["claims"]
        self.assertEqual((claim["attempt"], claim["fence"]), (1, 3))

    def test_cancelled(self):
        claim = self.start()
        self.api.post(f"/v1/executions/{claim['id']}/cancel", {"reason": "not wanted"})
        self.api.finish({"id": claim["id"], "fence": 1, "status": "cancelled"})
        shown = self.show(claim)
        self.assertEqual((shown["status"], shown["error"]["message"]), ("cancelled", "not wanted"))

    def test_a_stale_fence_changes_nothing(self):
        claim = self.start()
        answer = self.api.ask("POST", "/v1/claims/finish", {"outcomes": [
            {"id": claim["id"], "fence": 2, "status": "completed"}, {"id": UUID, "fence": 1, "status": "completed"}]})
        problem = self.problem(answer, 409, "StaleLease")
        self.assertEqual([one["verdict"] for one in problem["verdicts"]], ["stale", "stale"])
        self.assertEqual(self.show(claim)["status"], "running")
        told = self.api.finish({"id": UUID, "fence": 1, "status": "completed"},
                               {"id": claim["id"], "fence": 1, "status": "completed"})
        self.assertEqual([one["verdict"] for one in told["verdicts"]], ["stale", "accepted"])

    def test_bad_outcomes(self):
        claim = self.start()
        good = {"id": claim["id"], "fence": 1, "status": "completed"}
        for outcomes, field in (([], "outcomes"), ([{**good, "status": "done"}], "outcomes[0].status"),
                                ([{"id": "x", "fence": 1, "status": "completed"}], "outcomes[0].id"),
                                ([good, good], "outcomes[1].id"), ([{**good, "fence": "1"}], "fence"),
                                ([{"id": claim["id"], "status": "completed"}], "outcomes[0].fence"),
                                ([{**good, "status": "snoozed"}], "retry_after"),
                                ([{**good, "retry_after": "5"}], "retry_after"), ([{**good, "resutl": 1}], "resutl")):
            self.problem(self.api.ask("POST", "/v1/claims/finish", {"outcomes": outcomes}), 400, "InvalidArgument", field)
        answer = self.api.ask("POST", "/v1/claims/finish", {"outcomes": [{**good, "result": "x" * (1 << 20)}]})
        self.problem(answer, 413, "PayloadTooLarge", "outcomes[0].result")
        self.assertEqual(self.show(claim)["status"], "running")

    def test_the_waiter_is_told(self):
        claim = self.start()
        told = []
        waiter = threading.Thread(
            target=lambda: told.append(self.api.get(f"/v1/executions/{claim['id']}/result?wait=30s").json))
        waiter.start()
        self.api.complete(claim, 5)
        waiter.join(30)
        self.assertEqual(told[0]["result"], 5)


@on_stores
class Sessions:
    def test_extend_tells_of_cancellation_and_keeps_progress(self):
        self.api.enqueue(self.task, queue=self.queue)
        told = self.api.claim(self.queue, lease="30s")
        [claim] = told["claims"]
        progress = {"id": claim["id"], "fence": claim["fence"], "fraction": 0.4, "message": "page 4 of 10"}
        body = {"session": told["session"], "lease": "30s", "progress": [progress]}
        self.assertEqual(self.api.post("/v1/claims/extend", body).json, {"cancel": [], "lost": []})
        shown = self.api.get("/v1/executions/" + claim["id"]).json
        self.assertEqual(shown["progress"], {"fraction": 0.4, "message": "page 4 of 10"})
        self.api.post(f"/v1/executions/{claim['id']}/cancel")
        self.assertEqual(self.api.post("/v1/claims/extend", {"session": told["session"]}).json,
                         {"cancel": [claim["id"]], "lost": []})

    def test_stale_progress(self):
        self.api.enqueue(self.task, queue=self.queue)
        told = self.api.claim(self.queue)
        good = {"id": told["claims"][0]["id"], "fence": 1}
        stale = {"id": UUID, "fence": 1}
        answer = self.api.post("/v1/claims/extend", {"session": told["session"], "progress": [good, stale]})
        self.assertEqual(answer.json, {"cancel": [], "lost": [UUID]})
        answer = self.api.ask("POST", "/v1/claims/extend", {"session": told["session"], "progress": [stale]})
        self.assertEqual(self.problem(answer, 409, "StaleLease")["lost"], [UUID])

    def test_an_unknown_session(self):
        self.problem(self.api.ask("POST", "/v1/claims/extend", {"session": UUID}), 409, "StaleLease")
        self.problem(self.api.ask("POST", "/v1/claims/extend", {"session": "x"}), 400, "InvalidArgument", "session")
        self.problem(self.api.ask("POST", "/v1/claims/extend", {}), 400, "InvalidArgument", "session")

    def test_a_session_that_stops_extending_is_lost(self):
        self.api.enqueue(self.task, queue=self.queue)
        first = self.api.claim(self.queue, lease="300ms")
        again = self.api.claim(self.queue, wait="20s")
        self.assertEqual((again["claims"][0]["id"], again["claims"][0]["fence"]), (first["claims"][0]["id"], 2))
        answer = self.api.ask("POST", "/v1/claims/finish", {"outcomes": [
            {"id": first["claims"][0]["id"], "fence": 1, "status": "completed"}]})
        self.problem(answer, 409, "StaleLease")
        self.problem(self.api.ask("POST", "/v1/claims/extend", {"session": first["session"]}), 409, "StaleLease")

    def test_a_session_goes_on_with_its_claims(self):
        for number in range(3):
            self.api.enqueue(self.task, number, queue=self.queue)
        first = self.api.claim(self.queue)
        second = self.api.claim(self.queue, session=first["session"], limit=2)
        self.assertEqual(second["session"], first["session"])
        self.assertEqual(len(second["claims"]), 2)

    def test_bad_progress(self):
        told = self.api.claim(self.queue)
        item = {"id": UUID, "fence": 1}
        for progress in ([{**item, "fraction": 2}], [{**item, "fraction": "half"}], [{"fence": 1}], [{"id": UUID}]):
            answer = self.api.ask("POST", "/v1/claims/extend", {"session": told["session"], "progress": progress})
            self.problem(answer, 400, "InvalidArgument")


if __name__ == "__main__":
    unittest.main()
