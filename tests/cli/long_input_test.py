"""Long input on the command line, in hapax.toml and in files: no error repeats more than 200 bytes of it."""

import unittest

from _hapax import *

LONG = "x" * 100_000
UUID = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"


class LongInput(unittest.TestCase):
    def short(self, answer, most=1000):
        self.assertNotEqual(answer.code, OK, answer)
        self.assertNotIn("x" * 201, answer.err, answer)
        self.assertLess(len(answer.err), most, answer)

    def test_arguments(self):
        for arguments in ([LONG], ["--" + LONG], ["list", "--" + LONG], ["list", LONG],
                          ["list", "--limit", LONG], ["list", "--status", LONG], ["list", "--status", "failed", "--status", LONG],
                          ["list", "--metadata", LONG], ["list", "--store", LONG],
                          ["list", "--store", "sqlite:" + LONG], ["list", "--store", "postgresql://h/x?pool=" + LONG],
                          ["list", "--server", "http://" + LONG + ".invalid"], ["list", "--config", LONG],
                          ["show", LONG], ["show", "--task", "t", "--key", LONG], ["enqueue", LONG],
                          ["enqueue", "t", "--delay", LONG],
                          ["enqueue", "t", "--input", "@" + LONG], ["enqueue", "t", "--bulk", LONG], ["enqueue", "t", "--on-conflict", LONG],
                          ["enqueue", "t", "--priority", LONG], ["enqueue", "t", "--tag", LONG], ["queue", "set", "q", "--retention", LONG],
                          ["queue", "set", "q", "--rate-limit", LONG], ["work", "--exec", LONG], ["work", "--exec", "true", "--pass-env", LONG + "="],
                          ["serve", "--listen", LONG],
                          ["serve", "--tls-cert", LONG, "--tls-key", LONG], ["serve", "--token-file", LONG], ["activity", "apply", LONG],
                          ["activity", "show", LONG], ["activity", "preview", "--cron", "@" + LONG],
                          ["activity", "preview", "--cron", "@daily", "--time-zone", LONG], ["event", "send", LONG], ["token", "revoke", LONG],
                          ["token", "create", "--scopes", LONG], ["config", "forget", LONG], ["completion", LONG],
                          ["guard", "list", "--store", LONG], ["guard", "list", "--store", "redis://localhost?" + LONG + "=1"]):
            with self.subTest(" ".join(arguments).replace(LONG, "…")):
                self.short(run(*arguments, env={"HAPAX_STORE_URL": "memory:"}))

    def test_variables(self):
        for name in ("HAPAX_STORE_URL", "HAPAX_CONFIG", "HAPAX_NAMESPACE", "HAPAX_SERVER_URL", "HAPAX_FAULT"):
            with self.subTest(name):
                self.short(run("list", env={"HAPAX_STORE_URL": "memory:", name: LONG}))

    def test_configuration(self):
        for text in (f"{LONG} = 1", f"[{LONG}]\na = 1", f"[queues.q]\n{LONG} = 1", f"[queues.{LONG}]\nretention = '1d'", f"[queues.q]\nretention = '{LONG}'",
                     f"[queues.q]\nrate_limit = '{LONG}'", f"[queues.q]\nconcurrency = '{LONG}'", f"[tasks.t]\nidentity_strategy = '{LONG}'",
                     f"[tasks.t]\nidentity_strategy = 'contextual'\nidentity_keys = ['{LONG}']", f"[limits]\npayload = '{LONG}'",
                     f"[activities.a]\n{LONG} = 1", f"[activities.a]\ntarget = {{ task = 't' }}\ntrigger = {{ type = 'cron', cron = '{LONG}' }}",
                     f"[activities.a]\ntarget = {{ task = 't' }}\ntrigger = {{ type = 'cron', cron = '@daily', time_zone = '{LONG}' }}",
                     f"[activities.a]\ntarget = {{ task = 't' }}\ntrigger = {{ type = '{LONG}' }}", f"a = {LONG}", f"a = '{LONG}\n"):
            with self.subTest(text.replace(LONG, "…")):
                with open("long.toml", "w", encoding="utf-8") as file:
                    file.write(text)
                self.short(run("config", "check", "long.toml"), most=3000)

    def test_lines_of_files(self):
        for line in ('{"%s": 1}' % LONG, '{"task": "%s"}' % LONG, '{"task": "t", "delay": "%s"}' % LONG, LONG):
            with self.subTest(line.replace(LONG, "…")):
                self.short(run("enqueue", "--bulk", "-", "--store", "memory:", input=line))
        self.short(run("event", "send", "-", "--store", "memory:", input='{"specversion": "1.0", "type": "t", "source": "s", "%s": 1}' % LONG))

    def test_short_words_still_get_a_suggestion(self):
        self.assertIn("did you mean 'enqueue'?", run("enqeue").err)


if __name__ == "__main__":
    unittest.main()
