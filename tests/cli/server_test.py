"""`hapax … --server URL`: every command prints the same through the API as on the store."""

import functools
import json
import os
import re
import signal
import subprocess
import time
import unittest

from _hapax import BIN, CONFLICT, DATA, MISSING, OK, USAGE, OnSqlite, clean_environment, on_stores, run
from _serving import Serving

PERMISSION = 77
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def spanless(text):
    """Hides waiting times and column widths, which change from one moment to the next."""
    text = re.sub(r"\b\d+(\.\d+)?(us|ms|[smhd])(\d+(us|ms|[smhd]))*( \d+[smhd])?\b", "SPAN", text)
    return re.sub(r" +", " ", text)


def plain(text):
    """Hides all that differs between runs: IDs become numbers in order of appearance; times, durations and
    actors become placeholders."""
    seen = {}
    text = UUID.sub(lambda found: seen.setdefault(found[0], f"ID{len(seen) + 1}"), text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)
    text = re.sub(r"hx_[0-9a-f]{32}", "EFFECT", text)
    text = re.sub(r"(command line|api) \([^)]*\)", "ACTOR", text)
    text = re.sub(r"in \d+ ms \([\d,]+/s\)", "in a while", text)
    text = re.sub(r'"elapsed_ms":\d+', '"elapsed_ms":0', text)
    return spanless(text)


class WithServer:
    """self.remote runs the program through a server on the same store."""

    @functools.cached_property
    def server(self):
        return Serving(self, self.url)

    def remote(self, *arguments, **options):
        env = {"HAPAX_SERVER_URL": self.server.url, **options.pop("env", {})}
        return run(*arguments, env=env, **options)

    def same(self, *arguments, **options):
        """Runs a reading command on the store and through the server, and expects the same output."""
        for more in ([], ["--json"]):
            direct = self.hapax(*arguments, *more, **options)
            asked = self.remote(*arguments, *more, **options)
            self.assertEqual((asked.code, spanless(asked.out), spanless(asked.err)),
                             (direct.code, spanless(direct.out), spanless(direct.err)), arguments)
        return direct


@on_stores
class Looking(WithServer):
    """Reading commands, compared on one store."""

    def test_executions(self):
        self.good("queue", "set", "q", "--retention", "2d", "--rate-limit", "100/sec")
        first = self.enqueue("pay", "--input", '{"n": 1.50, "big": 9007199254740993, "text": "grün\\u0007"}', "--queue", "q", "--task-id", "k",
                             "--tag", "a", "--metadata", '{"b":1,"a":2}', "--priority", "7", "--timeout", "5s", "--deadline", "1h")
        failing = self.enqueue("fail", "--max-attempts", "2", "--retry-base", "1ms")
        bad = self.script("printf 'red \\033[31m alert\\n' >&2; exit 1")
        self.work(bad, "--task", "fail")
        self.enqueue("later", "--delay", "1h")
        for arguments in (["show", first], ["show", failing], ["show", "--task", "pay", "--task-id", "k"], ["list"],
                          ["list", "--status", "failed,pending", "--limit", "2"], ["list", "--queue", "q", "--tag", "a"],
                          ["list", "--task", "nothing"], ["list", "--after", failing], ["explain", first], ["explain", failing],
                          ["identity", "pay", "--task-id", "k", "--input", "1"], ["identity", "bare"], ["queue", "list"],
                          ["queue", "show", "q"], ["queue", "show", "default"], ["dlq", "list"], ["dlq", "show", failing],
                          ["wait", first, "--timeout", "0"], ["wait", failing]):
            self.same(*arguments)
        shown = self.remote("show", failing)
        self.assertNotIn(b"\x1b", shown.raw_out)
        self.assertIn("\\x1b[31m alert", shown.out)

    def test_what_cannot_be(self):
        id = self.enqueue("job")
        gone = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"
        for arguments in (["show", gone], ["show", "x"], ["wait", gone], ["cancel", gone], ["retry", gone], ["explain", gone],
                          ["show", "--task", "t", "--task-id", "nobody"], ["explain", "--run", "activity-a:never"], ["show", "--run", "x"],
                          ["show", "--workflow", "w", "--workflow-id", "w"], ["retry", id], ["dlq", "show", id], ["dlq", "discard", id],
                          ["journal", "show", id], ["journal", "export", id], ["signal", id, "go"], ["signal", gone, "go"],
                          ["queue", "show", "nothing"], ["queue", "purge", "nothing", "--yes"], ["list", "--status", "odd"],
                          ["list", "--limit", "0"], ["enqueue", "job", "--input", "{"], ["enqueue", "job", "--delay", "soon"],
                          ["enqueue", "job", "--priority", "99999"], ["enqueue", "job", "--task-id", ""],
                          ["enqueue", "job", "--task-id", "a\x01b"], ["enqueue", "bad\x01name"], ["queue", "set", "q", "--rate-limit", "fast"],
                          ["activity", "show", "nothing"], ["activity", "trigger", "nothing"], ["activity", "runs", "nothing"]):
            answer = self.same(*arguments)
            self.assertNotEqual(answer.code, OK, arguments)

    def test_activities(self):
        definition = {"id": "daily", "trigger": {"type": "cron", "cron": "0 9 * * *", "time_zone": "Europe/Zurich"},
                      "target": {"task": "report"}, "input": {"b": 1, "a": 1.0}, "tasks": [{"task_type": "extract", "input": {}}]}
        self.good("activity", "apply", "-", input=json.dumps(definition))
        self.good("activity", "trigger", "daily", "--key", "one")
        self.good("activity", "pause", "daily", "--note", "the warehouse moves")
        for arguments in (["activity", "list"], ["activity", "list", "--after", "a"], ["activity", "list", "--after", "daily"],
                          ["activity", "show", "daily", "--versions"], ["activity", "runs", "daily", "--tasks"],
                          ["activity", "show", "dayly"], ["activity", "preview", "daily", "--from", "2026-03-27", "--down", "2h"],
                          ["list", "--activity", "daily"], ["show", "--run", "activity-daily:manual-one"]):
            self.same(*arguments)
        [run_shown] = self.remote("activity", "runs", "daily", "--tasks", "--json").json
        self.assertEqual([task["task"] for task in run_shown["tasks"]], ["extract"])

    def test_top(self):
        self.enqueue("job")
        direct, asked = (ask("top", "--once", "--json").json for ask in (self.hapax, self.remote))
        self.assertEqual(sorted(asked), sorted(direct))
        for each in (direct, asked):
            each.pop("at")
            each["queues"][0].pop("oldest_ready")
        self.assertEqual(asked, direct)
        self.assertIn("on " + self.server.url, self.remote("top", "--once").out)


class Twin(OnSqlite):
    """A second store, used only through a server: commands that change the two must give the same output."""

    def setUp(self):
        super().setUp()
        self.server = Serving(self, "sqlite:" + self.path("served.db"))

    def remote(self, *arguments, **options):
        env = {"HAPAX_SERVER_URL": self.server.url, **options.pop("env", {})}
        return run(*arguments, env=env, **options)

    def both(self, *arguments, **options):
        """Runs a command on the store and through the server. An argument may be a pair: one for each."""
        of = [[part[side] if isinstance(part, tuple) else part for part in arguments] for side in (0, 1)]
        direct, asked = self.hapax(*of[0], **options), self.remote(*of[1], **options)
        self.assertEqual((asked.code, plain(asked.out), plain(asked.err)), (direct.code, plain(direct.out), plain(direct.err)), arguments)
        return direct, asked

    def ids(self, *arguments, **options):
        direct, asked = self.both(*arguments, "--json", **options)
        self.assertEqual(direct.code, OK, direct)
        return direct.json["id"], asked.json["id"]


class Acting(Twin, unittest.TestCase):
    def test_admission(self):
        self.ids("enqueue", "pay", "--input", '{"a":1}', "--task-id", "k", "--tag", "x", "--tag", "y", "--metadata", '{"z":1}')
        self.both("enqueue", "pay", "--input", '{"a":1}', "--task-id", "k")
        self.both("enqueue", "pay", "--input", '{"a":1}', "--task-id", "k", "--json")
        self.both("enqueue", "pay", "--input", '{"a":2}', "--task-id", "k")
        self.both("enqueue", "pay", "--input", '{"a":1}', "--task-id", "k", "--on-conflict", "reject")
        self.both("enqueue", "pay", "--input", '{"a":1}', "--task-id", "k", "--on-conflict", "wait", "--wait-timeout", "100ms")
        self.both("enqueue", "pay", "--input", '{"a":1}', "--task-id", "k", "--wait", "--wait-timeout", "100ms")
        self.both("enqueue", "pay", "--task-id", "d", "--debounce", "1h", "--input", "1")
        self.both("enqueue", "pay", "--task-id", "d", "--debounce", "1h", "--input", "2")
        self.both("start", "order", "--workflow-id", "o-1", "--input", "1")
        self.both("start", "order", "--workflow-id", "o-1", "--input", "1", "--json")
        self.both("start", "order", "--workflow-id", "o-1", "--input", "2")
        for listed in (self.both("list"), self.both("list", "--json")):
            self.assertEqual(listed[0].code, OK)

    def test_executions_are_cancelled_retried_and_annotated(self):
        first, second, third = (self.ids("enqueue", "job", "--input", str(n)) for n in range(3))
        self.both("cancel", first, "--reason", "ordered twice")
        self.both("cancel", first)
        self.both("cancel", first, second, "--json")
        self.both("cancel", "--status", "pending", "--yes")
        self.both("show", third)
        self.both("retry", first)
        self.both("retry", first)
        self.both("retry", first, second, "--json")
        self.both("retry", "--status", "cancelled", "--task", "job", "--yes")
        dead = self.ids("enqueue", "bad")
        bad = self.script("exit 65")
        self.both("work", "--exec", bad, "--task", "bad", "job", "--until-empty", "--json", "--name", "w")
        self.both("dlq", "annotate", dead, "--note", "asked the bank")
        self.both("dlq", "show", dead, "--json")
        self.both("dlq", "retry", dead, "--new-effect-key")
        self.both("dlq", "discard", "--all", "--yes", "--json")
        self.both("dlq", "list")

    def test_queues(self):
        for number in range(3):
            self.both("enqueue", "job", "--queue", "a", "--input", str(number))
        self.both("queue", "set", "a", "--retention", "2d", "--concurrency", "4", "--rate-limit", "10/sec burst 2")
        self.both("queue", "set", "a", "--rate-limit", "none", "--json")
        self.both("queue", "pause", "a")
        self.both("queue", "drain", "a")
        self.both("enqueue", "job", "--queue", "a")
        self.both("queue", "resume", "a")
        self.both("queue", "move", "a", "b", "--limit", "1")
        self.both("queue", "move", "a", "b", "--limit", "1", "--create")
        self.both("queue", "pause", "b")
        self.both("queue", "pause", "c", "--create")
        self.both("queue", "pause", "nowhere")
        self.both("dlq", "retry", "--queue", "nowhere", "--json")
        self.both("queue", "move", "a", "a")
        self.both("queue", "purge", "a")
        self.both("queue", "purge", "a", "--yes", "--json")

    def test_bulk(self):
        lines = "".join(json.dumps({"task": "load", "input": n, "task_id": f"row-{n % 4}"}) + "\n\n" for n in range(4))
        more = "".join(json.dumps({"input": n, "on_conflict": "reject", "task_id": f"row-{n}"}) + "\n" for n in range(6))
        self.both("enqueue", "--bulk", "-", "--queue", "import", "--tag", "t", input=lines)
        self.both("enqueue", "load", "--bulk", "-", "--each", "--json", input=more)
        self.both("enqueue", "load", "--bulk", "-", input=more)
        for bad in ('{"task":"x"}\n{"task":"x","inptu":1}\n', '{"task":"x"}\n{"task":"x","delay":"soon"}\n', '{"task":"x"}\n{', "{}\n",
                    '{"task":"x"}\n{"task":"x","task_id":""}\n'):
            direct, _ = self.both("enqueue", "--bulk", "-", input=bad)
            self.assertEqual(direct.code, DATA, direct)
            self.both("enqueue", "--bulk", "-", "--json", input=bad)
        self.both("list", "--task", "x")

    def test_many_lines_in_several_batches(self):
        lines = "".join(f'{{"task":"load","input":{n}}}\n' for n in range(12_345))
        direct, asked = self.both("enqueue", "--bulk", "-", input=lines)
        self.assertIn("12,345 admitted of 12,345 lines", asked.out)
        self.assertEqual(self.remote("queue", "show", "default", "--json").json["ready"], 12_345)

    def test_activities_and_events(self):
        file = self.path("activities.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump([{"id": "tidy", "trigger": {"type": "cron", "cron": "@daily"}, "target": {"task": "tidy"}},
                       {"id": "on-order", "trigger": {"type": "event", "types": ["order.*"]}, "target": {"task": "greet"}}], out)
        self.both("enqueue", "greets")
        self.both("activity", "apply", file, "--dry-run")
        self.both("activity", "apply", file)
        self.both("activity", "apply", file, "--json")
        self.both("activity", "pause", "tidy", "--note", "wait")
        self.both("activity", "resume", "tidy", "--json")
        self.both("activity", "trigger", "tidy", "--key", "k")
        self.both("activity", "trigger", "tidy", "--key", "k", "--json")
        self.both("activity", "backfill", "tidy", "--from", "2026-03-01", "--to", "2026-03-03")
        self.both("activity", "backfill", "tidy", "--from", "2026-03-01", "--to", "2026-03-03", "--json")
        self.both("activity", "backfill", "tidy", "--from", "2026-03-01T10:00:00Z", "--to", "2026-03-01T11:00:00Z")
        event = '{"specversion":"1.0","id":"e1","source":"/shop","type":"order.created","data":{"n":1.0}}'
        self.both("event", "send", event)
        self.both("event", "send", event, "--json")
        self.both("event", "send", "--source", "/shop", "--type", "order.paid", "--data", "{}", "--json")
        many = "".join(json.dumps({"specversion": "1.0", "id": f"m{n}", "source": "/s", "type": "order.x" if n % 2 else "other"}) + "\n"
                       for n in range(2500))
        self.both("event", "send", "--bulk", "-", input=many)
        self.both("event", "send", "-", input='{"specversion":"1.0","id":"a","source":"/s","type":"t"}\n{"specversion":"1.0","id":"b"}\n')
        self.both("event", "send", "--source", "/s", "--type", "t", "--require-id")
        self.both("activity", "runs", "on-order", "--limit", "3")
        self.both("activity", "delete", "tidy")
        self.both("activity", "delete", "tidy")

    def test_signals(self):
        run_id = self.ids("start", "approval", "--workflow-id", "a-1")
        self.both("signal", run_id, "approve", "--data", '{"by": "ada"}', "--once", "mail")
        self.both("signal", "--workflow", "approval", "--workflow-id", "a-1", "approve", "--json")
        self.both("signal", run_id, "approve", "--data", "{")
        self.both("show", run_id)
        self.both("journal", "show", run_id)
        self.both("journal", "export", run_id)
        self.both("cancel", run_id)
        self.both("signal", run_id, "approve")

    def test_a_program_as_worker(self):
        for number in range(5):
            self.both("enqueue", "job", "--input", str(number), "--task-id", f"k{number}")
        self.both("enqueue", "fails", "--max-attempts", "2", "--retry-base", "1ms")
        self.both("enqueue", "permanent")
        self.both("enqueue", "garbage")
        self.both("enqueue", "slow", "--timeout", "200ms", "--max-attempts", "1")
        program = self.script('read input\n'
                              'case $HAPAX_TASK in fails) echo no such order >&2; exit 3;; permanent) exit 65;; garbage) echo '
                              '"not json";; slow) sleep 30;; *) echo "{\\"got\\":$input,\\"run\\":$HAPAX_RUN,\\"ns\\":\\"$HAPAX_NAMESPACE\\"}";; esac')
        direct, asked = self.both("work", "--exec", program, "--concurrency", "3", "--until-empty", "--json", "--kill-after", "100ms")
        self.assertEqual((asked.json["completed"], asked.json["failed"], asked.json["retried"]), (6, 3, 1), asked)
        self.assertEqual(direct.code, OK)
        for listed in (self.hapax("list", "--json"), self.remote("list", "--json")):
            self.assertEqual([(e["task"], e["status"], e["result"], e["attempt"], (e["error"] or {}).get("message")) for e in listed.json],
                             [(e["task"], e["status"], e["result"], e["attempt"], (e["error"] or {}).get("message"))
                              for e in self.hapax("list", "--json").json])


class Working(WithServer, OnSqlite, unittest.TestCase):
    def worker(self, program, *arguments):
        env = clean_environment(HAPAX_SERVER_URL=self.server.url)
        child = subprocess.Popen([BIN, "work", "--exec", program, *arguments], env=env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.children.append(child)
        return child

    def test_a_worker_that_is_killed_has_its_work_done_again(self):
        id = self.enqueue("job")
        program = self.script(f"echo x >> {self.path('began')}; sleep 30")
        worker = self.worker(program, "--lease", "4s")
        self.until(lambda: os.path.exists(self.path("began")), "the program to begin")
        worker.kill()
        done = self.remote("work", "--exec", self.script("echo 2", "second"), "--until-empty", "--json", "--lease", "4s")
        self.assertEqual((done.code, done.json["completed"]), (OK, 1), done)
        shown = self.show(id)
        self.assertEqual((shown["status"], shown["result"], shown["lost"]), ("completed", 2, 1))

    def test_a_result_may_be_as_deep_as_without_a_server(self):
        deepest = "[" * 64 + "]" * 64
        id = self.enqueue("job")
        done = self.remote("work", "--exec", self.script(f"echo '{deepest}'"), "--until-empty", "--json")
        self.assertEqual((done.code, done.json["completed"]), (OK, 1), done)
        self.assertEqual(self.show(id)["result"], json.loads(deepest))

    def test_results_that_are_too_large_together_go_one_by_one(self):
        limit = {"HAPAX_LIMITS_PAYLOAD": "8MiB"}
        server = Serving(self, self.url, env=limit)
        ids = [self.enqueue("job") for _ in range(4)]
        program = self.script("head -c 7000000 /dev/zero | tr '\\0' x")
        done = run("work", "--exec", program, "--until-empty", "--concurrency", "4", "--json",
                   env={**limit, "HAPAX_SERVER_URL": server.url})
        self.assertEqual((done.code, done.json["completed"], done.err), (OK, 4, ""), done)
        for id in ids:
            self.assertEqual(len(self.show(id)["result"]), 7_000_000)

    def test_stopped_with_grace_it_lets_programs_finish(self):
        id = self.enqueue("job")
        waiting = self.enqueue("job")
        worker = self.worker(self.script(f"echo x > {self.path('began')}; sleep 1; echo 7"))
        self.until(lambda: os.path.exists(self.path("began")), "the program to begin")
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(30), OK)
        self.assertEqual((self.show(id)["status"], self.show(id)["result"]), ("completed", 7))
        left = self.show(waiting)
        self.assertEqual((left["status"], left["attempt"]), ("pending", 0))

    def test_after_the_grace_it_releases(self):
        id = self.enqueue("job")
        worker = self.worker(self.script(f"echo x > {self.path('began')}; exec sleep 60"), "--grace", "100ms", "--kill-after", "200ms")
        self.until(lambda: os.path.exists(self.path("began")), "the program to begin")
        begun = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(30), OK)
        self.assertLess(time.monotonic() - begun, 20, "the program would run for a minute")
        self.until(lambda: self.show(id)["status"] == "pending", "its execution to be given back")
        self.assertEqual((self.show(id)["attempt"], self.show(id)["lost"]), (0, 0))
        self.assertEqual(self.remote("top", "--once", "--json").json["sessions"], [])

    def test_a_cancelled_one_is_told(self):
        id = self.enqueue("job")
        worker = self.worker(self.script(f"echo x > {self.path('began')}; exec sleep 60"))
        self.until(lambda: os.path.exists(self.path("began")), "the program to begin")
        self.assertEqual(self.remote("cancel", id).code, OK)
        self.until_status(id, "cancelled")
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(30), OK)

    def test_it_bides_a_server_that_is_away(self):
        first = self.enqueue("job")
        program = self.script(f"echo x >> {self.path('began')}; sleep 1; echo 1")
        worker = self.worker(program)
        self.until(lambda: os.path.exists(self.path("began")), "the program to begin")
        port = self.server.url.rsplit(":", 1)[1]
        self.server.kill()
        second = self.enqueue("job")
        time.sleep(1.5)

        def serves_again():
            """Another connection of this machine may hold the port for a moment."""
            again = subprocess.Popen([BIN, "serve", "--listen", "127.0.0.1:" + port, "--log", "off"],
                                     env=clean_environment(HAPAX_STORE_URL=self.url), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
            self.children.append(again)
            return again.stdout.readline().startswith(b"listening")
        self.until(serves_again, "the server to listen again")
        self.until_status(first, "completed")
        self.until_status(second, "completed")
        self.assertEqual(self.show(first)["attempt"], 1)
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(30), OK)

    def test_a_deadline_is_kept(self):
        id = self.enqueue("job", "--deadline", "1s")
        worker = self.worker(self.script("exec sleep 60"), "--kill-after", "100ms")
        shown = self.until_status(id, "timed_out", 20)
        self.assertEqual(shown["error"]["type"], "DeadlineExceeded")
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(30), OK)

    def test_a_record_that_is_gone(self):
        """A repeated request whose identity is still held but whose record has expired says so, both ways."""
        self.good("queue", "set", "default", "--retention", "1s", "--dedup-window", "1h")
        self.enqueue("pay", "--task-id", "k")
        self.work("cat")
        self.until(lambda: self.good("list") == [], "its record to expire")
        self.assertTrue(self.remote("enqueue", "pay", "--task-id", "k", "--json").json["result_expired"])
        direct, asked = (ask("enqueue", "pay", "--task-id", "k", "--wait") for ask in (self.hapax, self.remote))
        self.assertEqual((asked.code, asked.err.split(":")[0]), (direct.code, direct.err.split(":")[0]), asked)
        self.assertEqual((asked.code, asked.err.split(":")[0]), (MISSING, "ResultExpired"), asked)

    def test_processes(self):
        for number in range(20):
            self.enqueue("job", "--input", str(number))
        done = self.remote("work", "--exec", "cat", "--processes", "2", "--until-empty", "--json")
        self.assertEqual((done.code, done.json["completed"]), (OK, 20), done)


class Refused(OnSqlite, unittest.TestCase):
    def token(self, scopes, *arguments):
        return self.good("token", "create", "--scopes", scopes, *arguments)["token"]

    def test_tokens(self):
        writer, reader, worker = (self.token(scopes, "--namespace", "shop") for scopes in ("enqueue", "read", "work"))
        short = self.token("read", "--expires", "1s")
        server = Serving(self, self.url)

        def ask(token, *arguments, **options):
            return run(*arguments, "--server", server.url, env={"HAPAX_TOKEN": token} if token else {}, **options)

        made = ask(writer, "enqueue", "job", "--json")
        self.assertEqual(made.code, OK, made)
        id = made.json["id"]
        self.assertEqual(ask(reader, "show", id, "--json").json["namespace"], "shop")
        for token, code, name in ((None, PERMISSION, "Unauthorized"), ("hapax_wrong", PERMISSION, "Unauthorized"),
                                  (writer, PERMISSION, "Forbidden"), (worker, PERMISSION, "Forbidden")):
            refused = ask(token, "show", id)
            self.assertEqual((refused.code, refused.err.split(":")[0], refused.out), (code, name, ""), refused)
            self.assertEqual(ask(token, "show", id, "--json").json["error"], name)
            if token:
                self.assertNotIn(token, refused.err)
        self.assertEqual(ask(reader, "enqueue", "job").code, PERMISSION)
        self.assertEqual(ask(reader, "cancel", id).code, PERMISSION)
        self.assertEqual(ask(worker, "work", "--exec", "cat", "--until-empty").code, PERMISSION)
        self.assertEqual(ask(reader, "work", "--exec", "cat").code, PERMISSION)
        # Another tenant's execution is not found.
        theirs = self.token("read", "--namespace", "bakery")
        self.assertEqual(ask(theirs, "show", id).code, MISSING)
        # A token that may only enqueue learns that a key is taken.
        self.assertEqual(ask(writer, "enqueue", "pay", "--task-id", "k").code, OK)
        taken = ask(writer, "enqueue", "pay", "--task-id", "k")
        self.assertEqual((taken.code, taken.err.split(":")[0]), (CONFLICT, "TaskAlreadyExists"), taken)
        # The token decides the namespace.
        self.assertEqual(ask(reader, "list", "--namespace", "bakery").code, USAGE)
        time.sleep(1.1)
        self.assertEqual(ask(short, "list").code, PERMISSION)

        file = self.path("token")
        with open(file, "w", encoding="ascii") as out:
            out.write(reader + "\n")
        open_file = run("list", "--server", server.url, "--token-file", file)
        self.assertEqual(open_file.code, 78, open_file)
        os.chmod(file, 0o600)
        self.assertEqual(run("show", id, "--server", server.url, "--token-file", file).code, OK)
        self.assertEqual(run("--server", server.url, "--token-file", file, "show", id).code, OK)
        self.assertEqual(run("list", "--server", server.url, "--token-file", self.path("none")).code, 66)
        missing = run("list", "--server", "https://127.0.0.1:1", "--ca-file", self.path("none"))
        self.assertEqual(missing.code, 66)
        self.assertIn("--ca-file", missing.err)
        self.assertEqual(run("serve", "--store", "memory:", "--tls-cert", self.path("none"), "--tls-key", self.path("none")).code, 66)

    def test_namespaces_without_tokens(self):
        server = Serving(self, self.url)
        made = run("enqueue", "job", "--namespace", "shop", "--json", "--server", server.url)
        self.assertEqual(run("show", made.json["id"], "--server", server.url).code, MISSING)
        self.assertEqual(run("show", made.json["id"], "--server", server.url, env={"HAPAX_NAMESPACE": "shop"}).code, OK)

    def test_who_is_to_answer(self):
        server = Serving(self, self.url)
        self.assertEqual(run("list", "--server", server.url, "--store", self.url).code, USAGE)
        both = run("list", env={"HAPAX_SERVER_URL": server.url, "HAPAX_STORE_URL": self.url})
        self.assertEqual(both.code, 78, both)
        self.enqueue("job")
        self.assertEqual(len(run("list", "--json", "--server", server.url, env={"HAPAX_STORE_URL": "sqlite:other.db"}).json), 1)
        self.assertEqual(len(run("list", "--json", "--store", self.url, env={"HAPAX_SERVER_URL": "http://127.0.0.1:1"}).json), 1)
        file = self.path("hapax.toml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(f'[server]\nurl = "{server.url}"\n[store]\nurl = "sqlite:{self.path("elsewhere.db")}"\n')
        self.assertEqual(len(run("list", "--json", "--config", file).json), 1)
        # The file names a server and a store: commands about the store itself use the store.
        self.assertEqual(run("migrate", "--config", file).code, OK)
        for url in ("http://", "ftp://x", "http://user:secret@host", "http://host:99999", "http://h/?q", "http://[::1", "http://h o"):
            refused = run("list", "--server", url)
            self.assertEqual(refused.code, 78, refused)
            self.assertNotIn("secret", refused.err)

    def test_what_is_about_the_store_itself(self):
        server = Serving(self, self.url)
        for arguments in (["migrate"], ["migrate", "--status"], ["cleanup"], ["doctor"], ["sql", "SELECT 1"], ["bench"], ["serve"],
                          ["token", "list"], ["token", "create", "--scopes", "read"], ["audit"], ["config", "show"], ["config", "audit"],
                          ["guard", "list"]):
            answer = run(*arguments, "--server", server.url)
            self.assertEqual(answer.code, USAGE, answer)
            self.assertIn("works on the store itself; use --store", answer.err)
        self.assertEqual(run("config", "check", "--server", server.url).code, OK)
        self.assertEqual(run("version", "--server", server.url).code, OK)


if __name__ == "__main__":
    unittest.main()
