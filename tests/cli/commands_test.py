"""list, show, wait, cancel, retry, explain, queue, dlq, cleanup, sql, doctor, bench: output and exit codes."""

import pty
import subprocess
import time
import unittest

from _hapax import *

NOWHERE = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"


@on_stores
class Reading:
    def test_show_has_what_scripts_lean_on(self):
        id = self.enqueue("job", "--task-id", "k", "--input", "{}")
        self.work("cat")
        shown = self.show(id)
        self.assertLessEqual({"id", "task", "queue", "status", "input", "result", "error", "attempts", "run", "identity",
                              "created_at", "run_at", "started_at", "finished_at", "expires_at", "task_id", "effect_key"}, set(shown))
        self.assertEqual(self.good("show", "--task", "job", "--task-id", "k")["id"], id)
        self.assertRegex(shown["identity"], "^[0-9a-f]{64}$")
        self.assertRegex(shown["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
        attempt = shown["attempts"][0]
        self.assertLessEqual({"number", "worker", "started_at", "ended_at", "outcome", "error"}, set(attempt))

    def test_only_whole_ids_and_their_ends_are_taken(self):
        id = self.enqueue()
        for text in (id[:8], "", "x", id + "0", id.replace("-", "")):
            with self.subTest(text=text):
                self.refused(USAGE, "InvalidArgument", "show", text)
        self.assertEqual(self.show(id[-12:])["id"], id)
        self.assertEqual(self.show(id[-17:])["id"], id)
        self.refused(MISSING, "NotFound", "show", NOWHERE)
        self.refused(MISSING, "NotFound", "show", "--task", "job", "--task-id", "nobody")
        self.refused(USAGE, "UsageError", "show")
        self.refused(USAGE, "UsageError", "show", "--task", "job")

    def test_list_filters_pages_and_refuses(self):
        ids = [self.enqueue("job", "--queue", f"q{n % 2}", "--tag", f"t{n % 3}") for n in range(6)]
        self.enqueue("other", "--delay", "1h")
        self.good("cancel", ids[0])
        newest_first = list(reversed(ids))
        self.assertEqual([e["id"] for e in self.good("list", "--task", "job")], newest_first)
        self.assertEqual([e["id"] for e in self.good("list", "--status", "cancelled")], [ids[0]])
        self.assertEqual(len(self.good("list", "--status", "pending,cancelled")), 7)
        self.assertEqual([e["id"] for e in self.good("list", "--queue", "q1")], [ids[5], ids[3], ids[1]])
        self.assertEqual([e["id"] for e in self.good("list", "--tag", "t2")], [ids[5], ids[2]])
        page = self.good("list", "--task", "job", "--limit", "2")
        self.assertEqual([e["id"] for e in self.good("list", "--task", "job", "--limit", "2", "--after", page[-1]["id"])],
                         newest_first[2:4])
        self.refused(USAGE, "InvalidArgument", "list", "--status", "done")
        self.refused(USAGE, "InvalidArgument", "list", "--limit", "0")
        self.refused(USAGE, "InvalidArgument", "list", "--after", "yesterday")

    def test_lists_over_a_page_are_whole(self):
        self.good("enqueue", "--bulk", "-", input='{"task":"a"}\n' * 2_300)
        listed = self.good("list", "--limit", "2200")
        self.assertEqual((len(listed), len({e["id"] for e in listed})), (2_200, 2_200))

    def test_tables_for_people_show_control_characters_harmlessly(self):
        id = self.enqueue("job", "--input", '"\\u001b]0;title\\u0007"', "--queue", "q")
        for arguments in (["list"], ["show", id], ["queue", "list"], ["queue", "show", "q"], ["explain", id]):
            answer = self.hapax(*arguments)
            self.assertEqual(answer.code, OK, answer)
            self.assertNotIn(b"\x1b", answer.raw_out)
        self.assertIn("pending", self.hapax("list").out)

    def test_wait_tells_how_it_ended(self):
        good, bad, later = self.enqueue("job", "--input", "1"), self.enqueue("job", "--input", "2"), self.enqueue("job", "--delay", "1h")
        worker = self.start("work", "--exec", self.script('read n; [ "$n" = 2 ] && exit 65; echo "$n"'))
        done = self.hapax("wait", good, "--json")
        self.assertEqual((done.code, done.json), (OK, {"id": good, "status": "completed", "result": 1}))
        failed = self.hapax("wait", bad, "--json")
        self.assertEqual((failed.code, failed.json["status"], failed.json["error"]["type"]), (UNSUCCESSFUL, "failed", "PermanentFailure"))
        going = self.hapax("wait", later, "--timeout", "50ms", "--json")
        self.assertEqual((going.code, going.json["status"]), (STILL_GOING, "pending"))
        self.good("cancel", later)
        self.assertEqual(self.hapax("wait", later).code, UNSUCCESSFUL)
        self.refused(MISSING, "NotFound", "wait", NOWHERE)
        self.refused(USAGE, "InvalidArgument", "wait", later, "--timeout", "soon")
        worker.terminate()


@on_stores
class Acting:
    def fail(self, *arguments):
        id = self.enqueue("job", *arguments)
        self.work(self.script("echo broken >&2; exit 65"), *(["--queue", arguments[arguments.index("--queue") + 1]] if "--queue" in arguments else []))
        return id

    def test_cancel_by_id_and_by_filter(self):
        one = self.enqueue()
        self.assertEqual(self.good("cancel", one, "--reason", "why")["cancelled"], 1)
        self.assertEqual((self.show(one)["status"], self.show(one)["error"]["message"]), ("cancelled", "why"))
        self.assertEqual(self.refused(CONFLICT, "WrongStatus", "cancel", one)["existing_status"], "cancelled")
        self.refused(MISSING, "NotFound", "cancel", NOWHERE)
        for _ in range(3):
            self.enqueue("job", "--queue", "q")
        kept = self.enqueue("job")
        self.refused(USAGE, "UsageError", "cancel")
        self.assertEqual(self.good("cancel", "--queue", "q")["cancelled"], 3, "a script is not asked")
        self.assertEqual(self.show(kept)["status"], "pending")
        self.assertEqual(self.good("cancel", "--all", "--yes")["cancelled"], 1)

    def test_retry_makes_a_new_run_under_the_same_key(self):
        id = self.fail("--task-id", "k")
        answer = self.good("retry", id)
        again = self.show(answer["executions"][0]["new_id"])
        self.assertEqual((answer["retried"], again["run"], again["status"], again["task_id"]), (1, 2, "pending", "k"))
        self.assertEqual(again["effect_key"], self.show(id)["effect_key"])
        self.assertEqual(self.show(id)["retried_as"], again["id"])
        self.refused(CONFLICT, "TaskAlreadyExists", "retry", id)
        self.refused(CONFLICT, "WrongStatus", "retry", again["id"])
        self.refused(MISSING, "NotFound", "retry", NOWHERE)
        self.work("true")
        self.refused(CONFLICT, "WrongStatus", "retry", again["id"])

    def test_retry_by_filter_with_another_effect_key(self):
        id = self.fail("--queue", "q")
        answer = self.good("retry", "--queue", "q", "--new-effect-key", "--yes")
        self.assertEqual(answer["retried"], 1)
        self.assertNotEqual(self.show(answer["executions"][0]["new_id"])["effect_key"], self.show(id)["effect_key"])

    def test_a_reason_is_kept_also_of_what_runs(self):
        id = self.enqueue()
        self.start("work", "--exec", self.script("echo going on >&2; exec sleep 60"), "--kill-after", "5s")
        self.until_status(id, "running")
        self.assertEqual(self.good("cancel", id, "--reason", "ordered twice")["requested"], 1)
        shown = self.until_status(id, "cancelled")
        self.assertEqual((shown["error"]["type"], shown["error"]["message"]), ("Cancelled", "ordered twice"))
        self.assertEqual(shown["error"]["detail"], "going on\n")

    def test_a_deadline_counts_where_no_worker_is_there_to_see_to_it(self):
        first = self.good("enqueue", "job", "--task-id", "k", "--deadline", "300ms")
        answer = self.hapax("wait", first["id"], "--timeout", "20s", "--json")
        self.assertEqual((answer.code, answer.json["status"]), (UNSUCCESSFUL, "timed_out"), answer)
        second = self.good("enqueue", "job", "--task-id", "k", "--deadline", "50ms")
        self.assertEqual((second["created"], second["run"]), (True, 2))
        time.sleep(0.2)
        third = self.good("enqueue", "job", "--task-id", "k", "--deadline", "50ms")
        self.assertEqual((third["created"], third["run"]), (True, 3), "what has passed its deadline holds no key")
        time.sleep(0.2)
        shown = self.show(third["id"])
        self.assertEqual((shown["status"], shown["error"]["type"]), ("timed_out", "DeadlineExceeded"))

    def test_metadata_is_a_filter(self):
        one = self.enqueue("job", "--metadata", '{"customer": "ada=1", "n": 7}')
        two = self.enqueue("job", "--metadata", '{"customer": "bob", "n": 7}')
        found = lambda *arguments: [e["id"] for e in self.good("list", *arguments)]
        self.assertEqual(found("--metadata", "n=7"), [two, one])
        self.assertEqual(found("--metadata", "customer=ada=1"), [one])
        self.assertEqual(found("--metadata", "n=7", "--metadata", "customer=bob"), [two])
        self.assertEqual(found("--metadata", "n=8"), [])
        self.refused(USAGE, "InvalidArgument", "list", "--metadata", "customer")
        self.refused(USAGE, "InvalidArgument", "list", "--metadata", "=ada")
        self.assertEqual(self.good("cancel", "--metadata", "customer=bob")["cancelled"], 1)
        self.assertEqual(self.show(one)["status"], "pending")
        answer = self.good("retry", "--metadata", "n=7", "--status", "cancelled")
        self.assertEqual([e["id"] for e in answer["executions"]], [two])

    def test_what_is_no_dead_letter_is_left_alone(self):
        dead, ended = self.fail("--queue", "q"), self.enqueue()
        self.good("cancel", ended)
        for verb in (("show",), ("retry",), ("discard",), ("annotate", "--note", "x")):
            self.refused(MISSING, "NotFound", "dlq", verb[0], ended, *verb[1:])
        self.assertEqual(self.good("dlq", "annotate", dead, ended, "--note", "x")["annotated"], 1)
        self.assertEqual([self.show(id)["note"] for id in (dead, ended)], ["x", None])

    def test_scripts_act_by_filter_without_being_asked(self):
        ids = [self.fail("--queue", "q") for _ in range(2)]
        self.assertEqual(self.good("dlq", "annotate", "--queue", "q", "--note", "x")["annotated"], 2)
        self.assertEqual(self.good("dlq", "retry", "--queue", "q")["retried"], 2)
        self.work(self.script("exit 65"), "--queue", "q")
        plain = self.hapax("dlq", "discard", "--queue", "q")
        self.assertEqual((plain.code, plain.out), (OK, "2 dead letters discarded\n"), plain)

    def test_on_a_terminal_it_asks(self):
        id = self.enqueue("job", "--queue", "q")
        def answered(text, *arguments):
            ours, its = pty.openpty()
            child = subprocess.Popen([BIN, "cancel", "--queue", "q", *arguments], stdin=its, stdout=subprocess.PIPE, stderr=its,
                                     env=clean_environment(HAPAX_STORE_URL=self.url))
            os.close(its)
            os.write(ours, text)
            out, _ = child.communicate(timeout=60)
            os.close(ours)
            return child.returncode, out
        self.assertEqual(answered(b"n\n"), (OK, b"0 executions cancelled, 0 told to stop\n"))
        self.assertEqual(self.show(id)["status"], "pending")
        self.assertEqual(answered(b"", "--json")[0], OK, "who wants JSON is a script")
        self.assertEqual(self.show(id)["status"], "cancelled")

    def test_dead_letters(self):
        first, second = self.fail("--queue", "q"), self.fail("--queue", "q")
        self.assertEqual([e["id"] for e in self.good("dlq", "list", "--queue", "q")], [second, first])
        self.refused(MISSING, "NotFound", "dlq", "list", "--queue", "other")
        self.assertEqual(self.good("dlq", "show", first)["error"]["type"], "PermanentFailure")
        self.assertEqual(self.good("dlq", "annotate", first, "--note", "asked")["annotated"], 1)
        self.assertEqual(self.show(first)["note"], "asked")
        self.assertEqual(self.good("dlq", "discard", first)["discarded"], 1)
        self.assertEqual([e["id"] for e in self.good("dlq", "list")], [second])
        self.assertEqual(self.show(first)["status"], "failed")
        self.refused(MISSING, "NotFound", "dlq", "show", first)
        self.assertEqual(self.good("dlq", "retry", "--queue", "q", "--yes")["retried"], 1)
        self.assertEqual(self.good("dlq", "list"), [])
        self.assertEqual(self.good("queue", "show", "q")["ready"], 1)

    def test_queues(self):
        id = self.enqueue("job", "--queue", "q")
        self.enqueue("job", "--queue", "q", "--delay", "1h")
        shown = self.good("queue", "show", "q")
        self.assertEqual([shown[k] for k in ("ready", "delayed", "running", "dead", "paused", "draining")], [1, 1, 0, 0, False, False])
        self.assertTrue(self.good("queue", "pause", "q")["paused"])
        self.assertEqual([r["code"] for r in self.good("explain", id)["reasons"]][0], "paused")
        self.assertFalse(self.good("queue", "resume", "q")["paused"])
        settings = self.good("queue", "set", "q", "--retention", "30d", "--failed-retention", "90d")
        self.assertEqual((settings["retention"], settings["failed_retention"]), ("30d", "90d"))
        self.assertIsNone(self.good("queue", "set", "q", "--failed-retention", "same")["failed_retention"])
        self.assertEqual(self.good("queue", "move", "q", "r", "--create")["moved"], 2)
        self.assertEqual(self.show(id)["queue"], "r")
        self.refused(USAGE, "InvalidArgument", "queue", "move", "r", "q", "--limit", "-1")
        self.refused(USAGE, "InvalidArgument", "queue", "move", "r", "q", "--limit", "0")
        self.refused(USAGE, "InvalidArgument", "dlq", "list", "--limit", "-3")
        self.assertEqual(self.good("queue", "purge", "r"), {"purged": 2, "requested": 0})
        self.assertEqual(self.show(id)["status"], "cancelled")
        self.assertEqual({q["queue"] for q in self.good("queue", "list")}, {"q", "r"})
        self.refused(MISSING, "NotFound", "queue", "show", "nothing")
        self.refused(USAGE, "InvalidArgument", "queue", "set", "q", "--retention", "-1d")
        self.refused(USAGE, "UsageError", "queue", "set", "q")
        self.refused(USAGE, "InvalidArgument", "queue", "pause", "q" * 300)


@on_stores
class Operating:
    def test_another_interval_of_the_clean_up_is_followed_by_what_runs(self):
        for place in (("work", "--exec", "true", "--queue", "nothing"), ("serve", "--listen", "127.0.0.1:0")):
            self.url = self.make_store()  # PostgreSQL drops whole days after the first clean-up
            self.good("config", "apply", self.configuration("1h"))
            child = self.start(*place)
            self.good("queue", "set", "q", "--retention", "1s")
            self.enqueue("job", "--queue", "q")
            self.work("true", "--queue", "q")
            time.sleep(3)
            self.good("config", "apply", self.configuration("1s"))
            self.until(lambda: self.good("sql", "SELECT count(*) AS n FROM executions") == [{"n": 0}], f"{place[0]} to clean up", 60)
            self.assertEqual(self.good("cleanup")["expired"], 0)
            child.terminate()
            child.wait(timeout=60)

    def configuration(self, interval):
        path = self.path("cleanup.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'[cleanup]\ninterval = "{interval}"\n')
        return path

    def test_explain_says_why_in_a_sentence(self):
        def codes(id):
            return [reason["code"] for reason in self.good("explain", id)["reasons"]]
        pending = self.enqueue("job", "--task-id", "k")
        self.assertEqual(codes(pending), ["no_worker", "holds_key"])
        delayed = self.enqueue("job", "--delay", "1h")
        self.assertEqual(codes(delayed)[0], "delayed")
        self.assertIn("delayed until", self.hapax("explain", delayed).out)
        self.good("cancel", delayed)
        self.assertEqual(codes(delayed), ["cancelled"])
        self.work(self.script("exit 65"))
        self.assertEqual(codes(pending), ["failed", "dead_letter"])
        self.refused(MISSING, "NotFound", "explain", NOWHERE)

    def test_explain_names_a_worker_that_takes_other_tasks(self):
        worker = self.start("work", "--exec", "cat", "--task", "other")
        self.assertEqual(self.hapax("enqueue", "other", "--wait").code, OK)
        reasons = self.good("explain", self.enqueue("job"))["reasons"]
        self.assertEqual(reasons[0]["code"], "no_worker_for_task")
        worker.terminate()

    def test_sql_reads_and_never_writes(self):
        self.enqueue("job")
        rows = self.good("sql", "SELECT task, status, NULL AS missing FROM executions")
        self.assertEqual((len(rows), rows[0]["task"], rows[0]["missing"]), (1, "job", None))
        self.assertEqual(self.good("sql", "SELECT count(*) AS n, '007' AS t, '42' AS u, -1.5 AS f FROM executions"),
                         [{"n": 1, "t": "007", "u": "42", "f": -1.5}])
        self.assertIn("job", self.hapax("sql", "SELECT task FROM executions").out)
        for statement in ("DELETE FROM executions", "CREATE TABLE x (a int)", "DROP VIEW executions", "COMMIT", "nonsense", "",
                          "SELECT 1; DELETE FROM live"):
            with self.subTest(statement=statement):
                answer = self.hapax("sql", statement)
                self.assertIn(answer.code, (USAGE, DATA), answer)
                self.assertEqual(answer.err.count("\n"), 1, answer)
        self.assertEqual(len(self.good("list")), 1)

    def test_cleanup_deletes_what_is_past_its_retention(self):
        self.good("queue", "set", "q", "--retention", "1ms", "--failed-retention", "1ms")
        ended, kept = self.enqueue("job", "--queue", "q"), self.enqueue("job", "--queue", "q", "--delay", "1h")
        self.good("cancel", ended)
        time.sleep(0.01)
        answer = self.good("cleanup")
        self.assertLessEqual({"expired", "lost_sessions", "requeued", "dead", "timed_out"}, set(answer))
        self.assertEqual([e["id"] for e in self.good("list")], [kept])

    def test_doctor_migrate_and_version(self):
        self.good("list")
        answer = self.hapax("doctor", "--json")
        found = answer.json
        self.assertEqual(answer.code, UNSUCCESSFUL if any(f["level"] == "problem" for f in found["findings"]) else OK, answer)
        self.assertIn(found["backend"], ("sqlite", "postgresql"))
        self.assertTrue(all({"level", "subject", "detail", "advice"} == set(f) for f in found["findings"]))
        status = self.good("migrate", "--status")
        self.assertEqual((status["current"], status["up_to_date"]), (status["newest"], True))
        again = self.good("migrate")
        self.assertEqual(again["from"], again["to"])
        self.assertRegex(self.good("version")["version"], r"^\d+\.\d+\.\d+$")
        self.assertRegex(self.hapax("--version").out, r"^hapax \d+\.\d+\.\d+$")

    def test_bench_measures(self):
        answer = self.good("bench", "--count", "200", "--producers", "2")
        self.assertEqual([f["name"] for f in answer["figures"]], ["enqueue", "bulk enqueue", "drain"])
        self.assertTrue(all(f["per_second"] > 0 for f in answer["figures"]))
        self.refused(USAGE, "InvalidArgument", "bench", "--count", "0")


if __name__ == "__main__":
    unittest.main()
