"""work --exec: any program is a worker."""

import json
import os
import threading
import unittest

from _hapax import *

TRACE = "00-11111111111111111111111111111111-1111111111111111-01"


@on_stores
class Protocol:
    def test_exit_0_completes_with_the_json_on_standard_output(self):
        id = self.enqueue("job", "--input", '{"b": 1,\n "a": [true, null]}')
        summary = self.work("cat")
        self.assertEqual((summary["completed"], summary["failed"]), (1, 0))
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["result"], shown["error"]), ("completed", {"b": 1, "a": [True, None]}, None))
        self.assertEqual([a["outcome"] for a in shown["attempts"]], ["completed"])

    def test_no_output_is_a_null_result(self):
        id = self.enqueue()
        self.work("true")
        self.assertEqual((self.show(id)["status"], self.show(id)["result"]), ("completed", None))

    def test_the_input_is_one_line_and_the_environment_tells_of_the_execution(self):
        id = self.enqueue("job", "--input", '[1,\n2]', "--queue", "q", "--task-id", "k")
        program = self.script('#!/usr/bin/env python3\nimport json, os, sys\nlines = sys.stdin.readlines()\n'
                              'print(json.dumps({"lines": lines, **{k: v for k, v in os.environ.items() if k.startswith("HAPAX_")}}))')
        self.work(program, "--queue", "q")
        shown = self.show(id)
        result = shown["result"]
        self.assertEqual([json.loads(line) for line in result["lines"]], [[1, 2]])
        self.assertTrue(result["lines"][0].endswith("\n"))
        self.assertEqual(result["HAPAX_EXECUTION_ID"], id)
        self.assertEqual((result["HAPAX_TASK"], result["HAPAX_QUEUE"], result["HAPAX_NAMESPACE"]), ("job", "q", "default"))
        self.assertEqual((result["HAPAX_ATTEMPT"], result["HAPAX_FENCE"]), ("1", str(shown["fence"])))
        self.assertEqual(result["HAPAX_EFFECT_KEY"], shown["effect_key"])

    def environment(self, *work, task=("job",), **own):
        """The environment of a program whose worker was started with the variables `own`."""
        id = self.enqueue(*task)
        self.work(self.script('#!/usr/bin/env python3\nimport json, os\nprint(json.dumps(dict(os.environ)))'), *work, env=own)
        return self.show(id)["result"]

    def test_programs_get_no_secret_of_hapax(self):
        own = {"HAPAX_TOKEN": "hapax_secret", "HAPAX_TRACEPARENT": TRACE.replace("1", "2"), "HAPAX_TRACESTATE": "b=2", "PGPASSWORD": "secret",
               "HAPAX_SOMETHING_OF_TOMORROW": "secret", "OF_THE_CALLER": "kept"}
        seen = self.environment(**own)
        self.assertEqual({name for name in seen if name.startswith("HAPAX_") or name == "PGPASSWORD"},
                         {"HAPAX_EXECUTION_ID", "HAPAX_TASK", "HAPAX_QUEUE", "HAPAX_NAMESPACE", "HAPAX_ATTEMPT", "HAPAX_MAX_ATTEMPTS",
                          "HAPAX_RUN", "HAPAX_FENCE", "HAPAX_EFFECT_KEY"})
        self.assertEqual((seen["OF_THE_CALLER"], seen["PATH"]), ("kept", os.environ["PATH"]))

    def test_programs_get_the_trace_of_their_execution(self):
        seen = self.environment(task=("job", "--traceparent", TRACE, "--tracestate", "a=1"),
                                HAPAX_TRACEPARENT=TRACE.replace("1", "2"), HAPAX_TRACESTATE="b=2")
        self.assertEqual((seen["HAPAX_TRACEPARENT"], seen["HAPAX_TRACESTATE"]), (TRACE, "a=1"))

    def test_pass_env_hands_a_variable_of_hapax_on_by_name(self):
        seen = self.environment("--pass-env", "HAPAX_TOKEN", "--pass-env", "PGPASSWORD", "--pass-env", "HAPAX_NOT_SET",
                                HAPAX_TOKEN="hapax_handed_on", PGPASSWORD="p", HAPAX_OTHER="kept back")
        self.assertEqual((seen["HAPAX_TOKEN"], seen["PGPASSWORD"]), ("hapax_handed_on", "p"))
        self.assertFalse({"HAPAX_OTHER", "HAPAX_NOT_SET"} & set(seen))

    def test_pass_env_takes_names_that_the_protocol_does_not_set(self):
        for name, told in (("HAPAX_TRACEPARENT", "is set for each execution"), ("A=B", "is no variable's name")):
            problem = self.refused(USAGE, "InvalidArgument", "work", "--exec", "true", "--pass-env=" + name)
            self.assertIn(told, problem["detail"])

    def test_worker_processes_keep_the_environment_and_their_programs_do_not(self):
        # HAPAX_STORE_URL alone names the store, so worker processes without it would find no work.
        seen = self.environment("--processes", "2", HAPAX_TOKEN="hapax_secret")
        self.assertFalse({"HAPAX_TOKEN", "HAPAX_STORE_URL"} & set(seen))

    def test_exit_65_fails_for_good(self):
        id = self.enqueue()
        self.work(self.script('echo starting >&2; echo "no such order" >&2; exit 65'))
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["attempt"], shown["dead"]), ("failed", 1, True))
        self.assertEqual(shown["error"]["type"], "PermanentFailure")
        self.assertIn("no such order", shown["error"]["message"])
        self.assertIn("starting\nno such order", shown["error"]["detail"])

    def test_exit_75_asks_for_a_retry(self):
        id = self.enqueue("job", "--retry-base", "1ms")
        self.work(self.script('[ "$HAPAX_ATTEMPT" = 1 ] && exit 75; echo "$HAPAX_ATTEMPT"'))
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["result"], len(shown["attempts"])), ("completed", 2, 2))
        self.assertEqual(shown["attempts"][0]["error"]["type"], "RetryRequested")

    def test_any_other_exit_is_a_failed_attempt(self):
        id = self.enqueue("job", "--retry-base", "1ms", "--max-attempts", "3")
        self.work(self.script("exit 9"))
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["attempt"]), ("failed", 3))
        self.assertEqual([a["outcome"] for a in shown["attempts"]], ["failed"] * 3)
        self.assertEqual((shown["error"]["type"], shown["error"]["message"]), ("ExitStatus", "exit status 9"))

    def test_a_killed_program_is_a_failed_attempt(self):
        id = self.enqueue("job", "--max-attempts", "1")
        self.work(self.script("kill -9 $$"))
        self.assertIn("signal 9 (SIGKILL)", self.show(id)["error"]["message"])

    def test_output_that_is_not_json_is_a_text(self):
        for number, (printed, result) in enumerate(((r"hello\n", "hello"), (r' said "it"\n 2\n\n', ' said "it"\n 2'),
                                                    (r"\n \n", None), ("{broken", "{broken"), ("1 2", "1 2"))):
            id = self.enqueue()
            self.work(self.script(f"printf '{printed}'", f"print{number}"))
            shown = self.show(id)
            self.assertEqual((shown["status"], shown["attempt"], shown["result"], shown["error"]), ("completed", 1, result, None))

    def test_nul_and_broken_utf8_are_recorded_in_a_readable_form(self):
        id = self.enqueue("job", "--max-attempts", "1")
        self.work(self.script(r"printf 'a\000b\377c\033[31m' >&2; printf 'x\000\377'; exit 1"))
        shown = self.show(id)
        self.assertEqual(shown["status"], "failed")
        self.assertIn("a\\x00b\\xffc", shown["error"]["detail"].replace("\\xFF", "\\xff"))
        text = self.hapax("show", id)
        self.assertEqual(text.code, OK)
        self.assertNotIn(b"\x1b", text.raw_out)
        garbage = self.enqueue("job")
        self.work(self.script(r"printf '\000\377'", "garbage"))
        shown = self.show(garbage)
        self.assertEqual((shown["status"], shown["result"].lower()), ("completed", "\0\\xff"))

    def test_huge_output_is_dropped_and_huge_input_is_passed(self):
        for number, command in enumerate(("head -c 3000000 /dev/zero | tr '\\0' 1", "head -c 200000 /dev/zero; echo")):
            id = self.enqueue()
            worked = self.hapax("work", "--until-empty", "--exec", self.script(command, f"huge{number}"))
            self.assertEqual(worked.code, OK, worked)
            shown = self.show(id)
            self.assertEqual((shown["status"], shown["result"], shown["error"]), ("completed", None, None))
            self.assertIn(id, worked.err)
            self.assertIn("over the limit of 1048576 bytes", worked.err)
        text = "x" * 1_000_000
        whole = self.enqueue("job", "--input", "-", input=json.dumps(text))
        self.work("cat")
        self.assertEqual(self.show(whole)["result"], text)
        unread = self.enqueue("job", "--input", "-", input=json.dumps(text))
        self.work("true")
        self.assertEqual(self.show(unread)["status"], "completed")

    def test_only_the_tail_of_standard_error_is_kept(self):
        id = self.enqueue("job", "--max-attempts", "1")
        self.work(self.script("seq 1 200000 >&2; exit 1"))
        detail = self.show(id)["error"]["detail"]
        self.assertTrue(detail.endswith("199999\n200000\n"), detail[-40:])
        self.assertLessEqual(len(detail), 16 << 10)

    def test_a_child_left_in_the_background_is_not_waited_for(self):
        id = self.enqueue()
        self.work(self.script("sleep 30 & echo 1"), timeout=20)
        self.assertEqual(self.show(id)["result"], 1)

    def test_a_shell_command_and_a_program_that_is_missing(self):
        id = self.enqueue("job", "--input", "[5]")
        self.work("cat | tr 5 6")
        self.assertEqual(self.show(id)["result"], [6])
        self.refused(MISSING, "MissingFile", "work", "--exec", "/no/such/program")
        self.refused(MISSING, "MissingFile", "work", "--exec", "no-such-program-anywhere")
        self.refused(USAGE, "UsageError", "work", "--exec", " ")

    def test_only_the_tasks_asked_for_are_claimed(self):
        one, other = self.enqueue("one"), self.enqueue("other")
        worker = self.start("work", "--exec", "cat", "--task", "one")
        self.until_status(one, "completed")
        self.assertEqual(self.show(other)["status"], "pending")
        worker.terminate()
        self.assertEqual(worker.wait(timeout=30), OK)

    def test_several_queues_and_much_at_once(self):
        text = "".join(json.dumps({"task": "t", "queue": f"q{n % 2}", "input": n}) + "\n" for n in range(60))
        self.good("enqueue", "--bulk", "-", input=text)
        summary = self.work("cat", "--queue", "q0", "--queue", "q1", "--concurrency", "4")
        self.assertEqual(summary["completed"], 60)
        listed = self.good("list", "--limit", "100")
        self.assertEqual(sorted(e["result"] for e in listed), list(range(60)))

    def test_until_empty_waits_for_what_is_delayed(self):
        id = self.enqueue("job", "--delay", "400ms")
        self.assertEqual(self.work("cat")["completed"], 1)
        self.assertEqual(self.show(id)["status"], "completed")

    def test_until_idle_ends_when_what_is_left_is_not_this_workers_to_run(self):
        flow = self.good("start", "order", "--workflow-id", "o-1")["id"]
        job = self.enqueue("job", "--delay", "400ms")
        other = self.enqueue("other")
        done = self.hapax("work", "--exec", "cat", "--task", "job", "--until-idle", "--json")
        self.assertEqual(done.code, LEFT, done)
        self.assertEqual((done.json["completed"], done.json["left"]), (1, 2), done)
        self.assertEqual([self.show(each)["status"] for each in (flow, job, other)], ["pending", "completed", "pending"])
        plain = self.hapax("work", "--exec", "cat", "--until-idle")
        self.assertEqual(plain.code, LEFT, plain)
        self.assertIn("workflow 'order' (" + flow, plain.out)
        self.good("cancel", flow)
        self.assertEqual(self.hapax("work", "--exec", "cat", "--until-idle", "--json").code, OK)

    def test_until_empty_says_which_workflow_it_waits_for(self):
        flow = self.good("start", "order", "--workflow-id", "o-1")["id"]
        worker = self.start("work", "--exec", "cat", "--until-empty")
        said = []
        reading = threading.Thread(target=lambda: said.extend(line.decode() for line in worker.stderr))
        reading.start()
        self.until(lambda: any("workflow 'order' (" + flow in line for line in said), "the workflow to be named", 60)
        self.assertIn("--until-idle", "".join(said))
        self.assertIsNone(worker.poll(), "--until-empty waits for the workflow")
        self.good("cancel", flow)
        self.assertEqual(worker.wait(timeout=60), OK)
        reading.join(timeout=30)


if __name__ == "__main__":
    unittest.main()
