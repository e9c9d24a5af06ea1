"""Queries over HTTP: a worker that has the workflow's function answers, on SQLite and on PostgreSQL."""

import os
import pathlib
import subprocess
import unittest

from _api import UUID, on_stores
from _server import BIN, clean_environment, until

APPROVAL = pathlib.Path(BIN).parent / "examples" / "approval"


@on_stores
class Queries:
    def worker(self):
        """The example's worker; runs until its standard input ends."""
        child = subprocess.Popen([APPROVAL, "work", self.store], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 env=clean_environment())
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.addCleanup(child.stdin.close)
        return child

    def start(self, key, patience="1h"):
        body = {"workflow_id": key, "input": {"id": key, "amount": 1.5, "patience": patience}}
        return self.api.post("/v1/workflows/approve_expense/executions", body, expect=201).json["id"]

    def ask(self, id, name="stage", wait="20s", body=None):
        return self.api.ask("POST", f"/v1/executions/{id}/queries/{name}?wait={wait}", body)

    def waits(self, id):
        journal = self.api.get(f"/v1/executions/{id}/journal").json
        return "decision" in str(journal)

    def test_a_worker_that_has_the_function_answers(self):
        if not os.access(APPROVAL, os.X_OK):
            self.fail(f"{APPROVAL} is not built")
        self.worker()
        id = self.start("a-" + self.task)
        until(lambda: self.waits(id), "the workflow to wait for its decision")
        answer = self.ask(id)
        self.assertEqual((answer.status, answer.json), (200, {"id": id, "query": "stage", "answer": "asked"}), answer)
        # The query changed nothing in the run, and a refused query is no dead letter.
        self.problem(self.ask(id, "speed"), 404, "NotFound", "stage")
        self.problem(self.ask(UUID), 404, "NotFound")
        self.assertEqual(self.api.get("/v1/dead-letters?queue=hapax.query").json["executions"], [])
        late = self.start("b-" + self.task, "1s")
        until(lambda: self.ask(late).json.get("answer") == "reminded" or self.ask(late).status == 409, "the reminder", 60)
        self.api.post(f"/v1/executions/{id}/signals/decision", {"approved": True, "by": "ada"})
        until(lambda: self.api.get(f"/v1/executions/{id}").json["status"] == "completed", "the end")
        self.problem(self.ask(id), 409, "WrongStatus", "completed")

    def test_a_question_that_nobody_answers_is_withdrawn(self):
        id = self.start("c-" + self.task)
        answer = self.ask(id, wait="300ms")
        self.problem(answer, 504, "QueryTimeout", "approve_expense")
        asked = self.api.get("/v1/executions?queue=hapax.query&task=hapax.query:approve_expense&status=pending").json["executions"]
        self.assertEqual(asked, [])


if __name__ == "__main__":
    unittest.main()
