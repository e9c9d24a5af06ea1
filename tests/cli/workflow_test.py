"""start, signal, show and journal: workflows from the command line.

The program under test has no workflow functions, so examples/approval.cpp works the runs of its
own workflow.
"""

import subprocess
import unittest

from _hapax import *

NOWHERE = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"
EXPENSE = '{"id":"7","amount":120,"patience":"1h"}'


@on_stores
class Starting:
    def begin(self, id="a", *arguments):
        return self.good("start", "flow", "--workflow-id", id, *arguments)["id"]

    def test_a_start_needs_an_id_and_says_why(self):
        problem = self.refused(USAGE, "UsageError", "start", "flow")
        self.assertIn("--workflow-id is required: it says what this run is", problem["detail"])
        self.refused(USAGE, "UsageError", "start")
        self.refused(DATA, "InvalidIdempotencyKey", "start", "flow", "--workflow-id", "")
        self.refused(DATA, "InvalidIdempotencyKey", "start", "flow", "--workflow-id", "x" * 256)
        self.refused(DATA, "InvalidJson", "start", "flow", "--workflow-id", "a", "--input", "{")

    def test_the_same_id_meets_the_same_run(self):
        first = self.good("start", "flow", "--workflow-id", "a", "--input", "1", "--queue", "q", "--priority", "3", "--tag", "t")
        again = self.good("start", "flow", "--workflow-id", "a", "--input", "1")
        self.assertEqual((first["created"], again["created"], again["id"]), (True, False, first["id"]))
        self.assertIn("deduplicated_from", again)
        shown = self.show(first["id"])
        self.assertEqual([shown[k] for k in ("kind", "task", "task_id", "queue", "priority", "tags", "max_attempts", "run")],
                         ["workflow", "flow", "a", "q", 3, ["t"], 1, 1])
        problem = self.refused(CONFLICT, "TaskAlreadyExists", "start", "flow", "--workflow-id", "a", "--input", "1",
                               "--on-conflict", "reject")
        self.assertEqual(problem["message"], "Workflow with ID 'a' is already pending")
        self.refused(DATA, "IdempotencyMismatch", "start", "flow", "--workflow-id", "a", "--input", "2")
        self.assertNotEqual(self.begin("b"), first["id"])
        self.good("cancel", first["id"])
        self.assertEqual(self.good("start", "flow", "--workflow-id", "a", "--input", "1")["run"], 2)

    def test_wait_and_delay(self):
        answer = self.hapax("start", "flow", "--workflow-id", "a", "--delay", "1h", "--wait", "--wait-timeout", "50ms", "--json")
        self.assertEqual((answer.code, answer.json["status"]), (STILL_GOING, "pending"))
        self.assertEqual(self.good("explain", answer.json["id"])["reasons"][0]["code"], "delayed")

    def test_a_worker_of_any_program_leaves_workflows_alone(self):
        flow = self.begin()
        worker = self.start("work", "--exec", "true")
        try:
            self.until_status(self.enqueue(), "completed")
            shown = self.show(flow)
            self.assertEqual((shown["status"], shown["attempt"], shown["attempts"]), ("pending", 0, []))
            self.assertEqual(self.good("explain", flow)["reasons"][0]["code"], "no_worker_for_task")
        finally:
            worker.terminate()
            worker.communicate()
        self.assertEqual(worker.returncode, 0)

    def test_input_comes_from_a_file_or_standard_input(self):
        with open(self.path("in.json"), "w", encoding="utf-8") as file:
            file.write('{"n": 1}')
        one = self.begin("a", "--input", "@" + self.path("in.json"))
        two = self.good("start", "flow", "--workflow-id", "b", "--input", "-", input='{"n": 2}')["id"]
        self.assertEqual((self.show(one)["input"], self.show(two)["input"]), ({"n": 1}, {"n": 2}))
        self.refused(MISSING, "MissingFile", "start", "flow", "--workflow-id", "c", "--input", "@nowhere.json")

    def test_a_run_is_found_by_its_workflow_id(self):
        id = self.begin()
        self.assertEqual(self.good("show", "--workflow", "flow", "--workflow-id", "a")["id"], id)
        self.refused(MISSING, "NotFound", "show", "--workflow", "flow", "--workflow-id", "b")
        self.refused(USAGE, "UsageError", "show", "--workflow", "flow")
        self.refused(USAGE, "UsageError", "show", id, "--workflow", "flow", "--workflow-id", "a")
        self.refused(USAGE, "UsageError", "show", "--task", "flow", "--task-id", "a", "--workflow", "flow", "--workflow-id", "a")
        self.refused(MISSING, "NotFound", "show", id, "--namespace", "other")

    def test_a_program_of_hapax_work_is_no_workflow(self):
        id = self.begin()
        worker = self.start("work", "--exec", "cat")
        self.assertEqual(self.hapax("enqueue", "job", "--wait").code, OK)
        worker.terminate()
        worker.wait()
        # The execution was enqueued before the workflow, and was not claimed.
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["result"], shown["fence"], shown["attempts"]), ("pending", None, 0, []))


@on_stores
class Signals:
    def test_a_signal_to_what_cannot_take_it(self):
        run = self.good("start", "flow", "--workflow-id", "a")["id"]
        self.refused(MISSING, "NotFound", "signal", NOWHERE, "go")
        self.refused(MISSING, "NotFound", "signal", run, "go", "--namespace", "other")
        self.refused(MISSING, "NotFound", "signal", "--workflow", "flow", "--workflow-id", "b", "go")
        self.refused(USAGE, "UsageError", "signal", run)
        self.refused(USAGE, "UsageError", "signal", "--workflow", "flow", "--workflow-id", "a")
        self.refused(USAGE, "UsageError", "signal", run, "go", "--workflow", "flow", "--workflow-id", "a")
        self.refused(USAGE, "InvalidArgument", "signal", self.enqueue("job"), "go")
        self.refused(USAGE, "InvalidArgument", "signal", run, "")
        self.refused(DATA, "InvalidJson", "signal", run, "go", "--data", "yes")
        self.good("cancel", run)
        self.assertEqual(self.refused(CONFLICT, "WrongStatus", "signal", run, "go")["existing_status"], "cancelled")

    def test_a_signal_is_kept_for_a_run_that_has_not_begun(self):
        run = self.good("start", "flow", "--workflow-id", "a")["id"]
        self.assertEqual(self.good("signal", run, "go", "--data", '{"n":1}'),
                         {"id": run, "workflow": "flow", "workflow_id": "a", "signal": "go"})
        self.assertIn(run, self.hapax("signal", "--workflow", "flow", "--workflow-id", "a", "go").out)
        self.assertEqual(len(self.good("journal", "export", run)["events"]), 2)
        for _ in range(2):
            self.good("signal", run, "go", "--once", "mail-1")
        events = self.good("journal", "export", run)["events"]
        self.assertEqual([(e["name"], e["data"]) for e in events], [("go", {"n": 1}), ("go", None), ("go", None)])


@on_stores
class Approval:
    def begin_work(self):
        folder = os.environ.get("HAPAX_EXAMPLES")
        self.assertTrue(folder, "HAPAX_EXAMPLES is not set: it must name the folder of the built examples")
        self.children.append(subprocess.Popen([os.path.join(folder, "approval"), "work", self.url], stdin=subprocess.PIPE,
                                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))

    def begin(self, id="expense-7", input=EXPENSE):
        self.begin_work()
        return self.good("start", "approve_expense", "--workflow-id", id, "--input", input)["id"]

    def until_it_waits(self, id):
        self.until(lambda: self.show(id)["waiting"] and len(self.show(id)["journal"]) > 2, f"{id} to wait for its signal")
        return self.show(id)

    def test_from_start_to_end(self):
        id = self.begin()
        shown = self.until_it_waits(id)
        self.assertEqual((shown["status"], shown["stuck_reason"], shown["continued_as"], shown["parent"]), ("pending", None, None, None))
        self.assertEqual([(e["kind"], e["name"], e["status"]) for e in shown["journal"][:3]],
                         [("started", None, "recorded"), ("task", "send_mail", "completed"), ("signal", "decision", "waiting")])
        mail = self.show(shown["journal"][1]["child"])
        self.assertEqual((mail["task"], mail["parent"], mail["kind"]), ("send_mail", id, "task"))
        self.assertEqual((mail["parent_workflow_id"], shown["parent_workflow_id"]), (shown["task_id"], None))
        text = self.hapax("show", id).out
        self.assertRegex(text, r"waits for +signal 'decision', timer until ")
        self.assertIn("pending (waiting)", text)
        self.assertEqual(self.good("explain", id)["reasons"][0]["code"], "waiting")
        self.good("signal", "--workflow", "approve_expense", "--workflow-id", "expense-7", "decision",
                  "--data", '{"approved":true,"by":"ada"}')
        self.assertEqual(self.good("wait", id, "--timeout", "30s")["result"], "approved by ada")
        self.refused(CONFLICT, "WrongStatus", "signal", id, "decision")
        again = self.hapax("start", "approve_expense", "--workflow-id", "expense-7", "--input", EXPENSE, "--wait", "--json").json
        self.assertEqual((again["created"], again["result"]), (False, "approved by ada"))

    def test_a_timeline_tells_what_happened(self):
        id = self.begin(input='{"id":"7","amount":1,"patience":"100ms"}')
        self.assertEqual(self.good("wait", id, "--timeout", "30s")["result"], "expired")
        journal = self.good("journal", "show", id)
        self.assertEqual(journal, self.show(id)["journal"])
        self.assertEqual([e["position"] for e in journal], list(range(len(journal))))
        self.assertEqual([e["status"] for e in journal if e["kind"] == "signal"], ["timed_out", "timed_out"])
        self.assertEqual([e["input"] for e in journal if e["kind"] == "task"],
                         ["please decide on expense 7", "reminder: expense 7 waits for you"])
        self.assertLessEqual({"position", "kind", "name", "status", "at", "ended_at", "attempts", "child", "input", "result",
                              "error", "detail"}, set(journal[1]))
        text = self.hapax("journal", "show", "--workflow", "approve_expense", "--workflow-id", "expense-7").out
        self.assertRegex(text, r"(?m)^ *2 +\+[\d.]+(us|ms|s) +signal +decision +timed_out")
        self.assertNotRegex(self.hapax("show", id).out, "waits for")

    def test_what_a_signal_carries_is_shown_harmlessly(self):
        id = self.begin()
        self.until_it_waits(id)
        self.good("signal", id, "decision", "--data", '{"approved":true,"by":"\\u001b]0;title\\u0007"}')
        self.good("wait", id, "--timeout", "30s")
        for arguments in (["show", id], ["journal", "show", id]):
            self.assertNotIn(b"\x1b", self.hapax(*arguments).raw_out)

    def test_a_journal_is_exported(self):
        id = self.begin()
        self.until_it_waits(id)
        journal = self.good("journal", "export", id)
        self.assertEqual([journal[k] for k in ("format", "workflow", "workflow_id", "id", "status")],
                         ["hapax-journal-1", "approve_expense", "expense-7", id, "pending"])
        path = self.path("journal.json")
        self.assertEqual(self.good("journal", "export", id, "--output", path), {"id": id, "file": path})
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file), journal)
        self.refused(MISSING, "MissingFile", "journal", "export", id, "--output", "/no/such/folder/x.json")
        self.refused(MISSING, "NotFound", "journal", "export", NOWHERE)
        self.refused(USAGE, "InvalidArgument", "journal", "export", self.enqueue("job", "--queue", "q"))
        self.refused(USAGE, "InvalidArgument", "journal", "show", self.good("list", "--queue", "q")[0]["id"])

    def test_a_fork_goes_on_from_the_middle(self):
        id = self.begin(input='{"id":"7","amount":1,"patience":"1ms"}')
        self.assertEqual(self.good("wait", id, "--timeout", "30s")["result"], "expired")
        self.refused(USAGE, "UsageError", "journal", "fork", id, "--steps", "2")
        self.refused(USAGE, "InvalidArgument", "journal", "fork", id, "--steps", "99", "--workflow-id", "x")
        self.refused(MISSING, "NotFound", "journal", "fork", NOWHERE, "--steps", "1", "--workflow-id", "x")
        forked = self.good("journal", "fork", id, "--steps", "2", "--workflow-id", "expense-7-again")
        self.assertEqual((forked["created"], forked["forked_from"], forked["steps"]), (True, id, 2))
        self.assertEqual(self.good("wait", forked["id"], "--timeout", "30s")["result"], "expired")
        before, after = self.good("journal", "show", id), self.good("journal", "show", forked["id"])
        self.assertEqual(after[1]["child"], before[1]["child"])
        self.assertNotEqual(after[5]["child"], before[5]["child"])

    def test_a_waiting_run_is_cancelled(self):
        id = self.begin()
        self.until_it_waits(id)
        self.assertEqual(self.good("cancel", id, "--reason", "why")["requested"], 1)
        self.assertEqual(self.until_status(id, "cancelled")["error"]["message"], "why")
        self.assertIn("cancelled", [e["kind"] for e in self.show(id)["journal"]])


if __name__ == "__main__":
    unittest.main()
