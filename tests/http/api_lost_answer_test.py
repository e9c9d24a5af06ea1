"""Answers of the worker protocol that never arrive, sessions that several servers serve, and executions that
run alone."""

import json
import socket
import threading
import time
import unittest

from _api import Api, on_stores
from _server import until


class Helpers:
    def show(self, execution):
        return self.api.get("/v1/executions/" + execution).json

    def status(self, execution):
        return self.show(execution)["status"]

    def claim_and_leave(self, **more):
        """Sends a claim and closes the connection before the answer comes."""
        body = json.dumps({"queues": [self.queue], **more}).encode()
        server = self.api.server
        with socket.create_connection((server.host, server.port)) as connection:
            connection.sendall(b"POST /v1/claims HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
                               + str(len(body)).encode() + b"\r\n\r\n" + body)

    def lose(self, lease="1s"):
        """Makes an execution whose worker was lost once and that is due again."""
        made = self.api.enqueue(self.task, queue=self.queue, max_attempts=9)["id"]
        self.assertEqual(self.api.claim(self.queue, lease=lease)["claims"][0]["id"], made)
        until(lambda: self.show(made)["lost"] == 1, "the loss", 20)
        return made


@on_stores
class LostAnswers(Helpers):
    def test_whoever_left_holds_nothing(self):
        for tries_left in reversed(range(5)):
            self.queue += "-again"
            session = self.api.claim(self.queue, lease="60s")["session"]
            made = self.api.enqueue(self.task, queue=self.queue)["id"]
            self.claim_and_leave(session=session, lease="60s")
            try:
                until(lambda: self.show(made)["fence"] == 1 and self.status(made) == "pending", "it to be given back", 10)
                break
            except AssertionError:
                # On a busy machine the answer may be sent before the client closes; then the server cannot know
                # that it was lost.
                if not tries_left:
                    raise
        self.assertEqual(self.show(made)["attempt"], 0)
        self.api.post("/v1/claims/extend", {"session": session, "lease": "60s"})
        [claim] = self.api.claim(self.queue, session=session, lease="60s")["claims"]
        self.assertEqual((claim["id"], claim["attempt"]), (made, 1))

    def test_a_claim_that_says_what_its_session_holds_has_the_rest_given_back_first(self):
        told = self.api.claim(self.queue, lease="60s")
        made = [self.api.enqueue(self.task, number, queue=self.queue)["id"] for number in range(3)]
        [first] = self.api.claim(self.queue, session=told["session"], lease="60s")["claims"]
        [lost] = self.api.claim(self.queue, session=told["session"], lease="60s")["claims"]  # the test ignores this answer, as if it never arrived
        self.assertEqual([first["id"], lost["id"]], made[:2])
        held = [{"id": first["id"], "fence": first["fence"]}]
        again = self.api.claim(self.queue, session=told["session"], lease="60s", limit=10, held=held)
        self.assertEqual([(claim["id"], claim["attempt"]) for claim in again["claims"]], [(made[1], 1), (made[2], 1)])
        self.assertNotIn("lost", again)
        self.assertEqual(self.status(first["id"]), "running")

    def test_it_is_also_told_what_it_lost(self):
        told = self.api.claim(self.queue, lease="60s")
        self.api.enqueue(self.task, queue=self.queue)
        [claim] = self.api.claim(self.queue, session=told["session"], lease="60s")["claims"]
        self.api.complete(claim)
        held = [{"id": claim["id"], "fence": claim["fence"]}]
        self.assertEqual(self.api.claim(self.queue, session=told["session"], held=held)["lost"], [claim["id"]])

    def test_extend_tells_of_losses_without_being_told_what_is_held(self):
        made = self.api.enqueue(self.task, queue=self.queue)["id"]
        told = self.api.claim(self.queue, lease="60s")
        [claim] = told["claims"]
        shape = {"session": told["session"], "lease": "60s"}
        self.assertEqual(self.api.post("/v1/claims/extend", shape).json, {"cancel": [], "lost": []})
        # The execution is given back without its worker's knowledge.
        self.api.post("/v1/claims/extend", {**shape, "held": []})
        time.sleep(0.1)
        until(lambda: self.api.post("/v1/claims/extend", {**shape, "held": []}).status == 200 and self.status(made) == "pending",
              "the grace of a claim to be over", 20)
        self.assertEqual(self.api.post("/v1/claims/extend", shape).json, {"cancel": [], "lost": [made]})
        self.assertEqual(self.api.post("/v1/claims/extend", shape).json, {"cancel": [], "lost": []})
        self.problem(self.api.ask("POST", "/v1/claims/finish", {"outcomes": [
            {"id": made, "fence": claim["fence"], "status": "completed"}]}), 409, "StaleLease")


@on_stores
class Alone(Helpers):
    def test_what_was_lost_before_has_no_neighbours_whichever_server_is_asked(self):
        other = Api(self.serve(), document=self.api.document)
        suspect = self.lose()
        more = [self.api.enqueue(self.task, number, queue=self.queue)["id"] for number in range(3)]
        session = self.api.claim(self.queue + "-none", lease="60s")["session"]
        [first] = other.claim(self.queue, session=session, lease="60s", limit=10)["claims"]
        self.assertEqual(first["id"], suspect)
        for api in (self.api, other):
            self.assertEqual(api.claim(self.queue, session=session, lease="60s", limit=10)["claims"], [])
        self.api.complete(first)
        rest = self.api.claim(self.queue, session=session, lease="60s", limit=10)["claims"]
        self.assertEqual([claim["id"] for claim in rest], more)

    def test_it_is_not_given_to_a_session_that_holds_something(self):
        other = Api(self.serve(), document=self.api.document)
        held = self.api.enqueue(self.task, queue=self.queue)["id"]
        told = self.api.claim(self.queue, lease="60s")
        self.assertEqual(told["claims"][0]["id"], held)
        suspect = self.lose()
        for api in (self.api, other):
            self.assertEqual(api.claim(self.queue, session=told["session"], lease="60s", limit=10)["claims"], [])
        self.assertEqual(other.claim(self.queue, lease="60s")["claims"][0]["id"], suspect)


@on_stores
class Line(Helpers):
    def test_a_poll_is_not_left_asleep_behind_one_that_wants_another_task(self):
        told = []
        first = threading.Thread(target=lambda: self.api.claim(self.queue, tasks=["another"], wait="30s"))
        first.start()
        time.sleep(0.3)
        second = threading.Thread(target=lambda: told.append(self.api.claim(self.queue, tasks=[self.task], wait="60s")))
        second.start()
        time.sleep(0.5)
        began = time.monotonic()
        self.api.enqueue(self.task, queue=self.queue)
        second.join(60)
        self.assertEqual(len(told[0]["claims"]), 1)
        self.assertLess(time.monotonic() - began, 12)
        self.api.enqueue("another", queue=self.queue)
        first.join(60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
