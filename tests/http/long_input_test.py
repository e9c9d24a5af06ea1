"""A megabyte of input where a word is expected: the answer is short, and costs no more than reading the request."""

import json
import os
import unittest
import urllib.parse

from _server import BIN, JSON, Server

CHARS = 1_000_000
LONG = "x" * CHARS
LESS = "x" * 60_000  # for activities and events, whose size limit is lower
# A problem has its message twice, as `detail` and as `message`, and a message quotes at most two inputs.
MOST = 2000
CRON = {"id": "a", "trigger": {"type": "cron", "cron": "@daily"}, "target": {"task": "t"}}
EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def with_member(object, *path, value=1):
    """`object` with one more member, at `path`."""
    made = json.loads(json.dumps(object))
    place = made
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = value
    return made


# Bodies with a long text where a client may misspell a name or send a word.
BODIES = {
    "a member of an enqueue": ("POST", "/v1/tasks/t/executions", {LONG: 1}),
    "a repeated key": ("POST", "/v1/tasks/t/executions", '{"input":{"%s":1,"%s":2}}' % (LONG[:400_000], LONG[:400_000])),
    "an integer": ("POST", "/v1/tasks/t/executions", '{"input":%s}' % ("7" * CHARS)),
    "a queue": ("POST", "/v1/tasks/t/executions", {"queue": LONG}),
    "a key": ("POST", "/v1/tasks/t/executions", {"idempotency_key": LONG}),
    "a duration": ("POST", "/v1/tasks/t/executions", {"delay": LONG}),
    "an instant": ("POST", "/v1/tasks/t/executions", {"run_at": LONG}),
    "an on_conflict": ("POST", "/v1/tasks/t/executions", {"on_conflict": LONG}),
    "a priority": ("POST", "/v1/tasks/t/executions", {"priority": LONG}),
    "a tag": ("POST", "/v1/tasks/t/executions", {"tags": [LONG]}),
    "tags": ("POST", "/v1/tasks/t/executions", {"tags": LONG}),
    "metadata": ("POST", "/v1/tasks/t/executions", {"metadata": LONG}),
    "a member of a start": ("POST", "/v1/workflows/w/executions", {LONG: 1}),
    "a member of an identity": ("POST", "/v1/tasks/t/identity", {LONG: 1}),
    "a member of a claim": ("POST", "/v1/claims", {LONG: 1}),
    "a queue of a claim": ("POST", "/v1/claims", {"queues": [LONG]}),
    "queues of a claim": ("POST", "/v1/claims", {"queues": [str(number) for number in range(20_000)]}),
    "a session": ("POST", "/v1/claims/extend", {"session": LONG}),
    "a member of a finish": ("POST", "/v1/claims/finish", {LONG: 1}),
    "a member of an outcome": ("POST", "/v1/claims/finish", {"outcomes": [{LONG: 1}]}),
    "an outcome": ("POST", "/v1/claims/finish", {"outcomes": [{"id": LONG, "fence": 1, "status": "completed"}]}),
    "a status": ("POST", "/v1/claims/finish", {"outcomes": [{"id": "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f", "fence": 1, "status": LONG}]}),
    "a member of a queue": ("PUT", "/v1/queues/q", {LONG: 1}),
    "a setting of a queue": ("PUT", "/v1/queues/q", {"retention": LONG}),
    "a rate of a queue": ("PUT", "/v1/queues/q", {"rate_limit": LONG}),
    "a member of an activity": ("PUT", "/v1/activities/a", with_member(CRON, LESS)),
    "a member of a trigger": ("PUT", "/v1/activities/a", with_member(CRON, "trigger", LESS)),
    "a trigger's type": ("PUT", "/v1/activities/a", with_member(CRON, "trigger", "type", value=LESS)),
    "a cron expression": ("PUT", "/v1/activities/a", with_member(CRON, "trigger", "cron", value=LESS)),
    "a cron macro": ("PUT", "/v1/activities/a", with_member(CRON, "trigger", "cron", value="@" + LESS)),
    "a cron field": ("PUT", "/v1/activities/a", with_member(CRON, "trigger", "cron", value=LESS + " * * * *")),
    "a cron list": ("PUT", "/v1/activities/a", with_member(CRON, "trigger", "cron", value="1," * 25_000 + "x * * * *")),
    "a time zone": ("PUT", "/v1/activities/a", with_member(CRON, "trigger", "time_zone", value=LESS)),
    "an activity's id": ("PUT", "/v1/activities/a", with_member(CRON, "id", value=LONG)),
    "a pointer": ("PUT", "/v1/activities/a", with_member(CRON, "trigger", value={"type": "event", "types": ["t"], "filter": {"/" + LESS: 1}})),
    "a template's place": ("PUT", "/v1/activities/a", with_member(CRON, "input", value={"a": "{{" + LESS + "}}"})),
    "a template's key": ("PUT", "/v1/activities/a", with_member(CRON, "input", value={LESS: "{{nothing}}"})),
    "an attribute's name": ("POST", "/v1/events", with_member(EVENT, LESS)),
    "a version of events": ("POST", "/v1/events", with_member(EVENT, "specversion", value=LESS)),
    "an extension": ("POST", "/v1/events", with_member(EVENT, "tenant", value=LESS)),
    "base64": ("POST", "/v1/events", with_member(EVENT, "data_base64", value=LESS + "!")),
    "a member of an action": ("POST", "/v1/dead-letters/retry", {LONG: 1}),
}
QUERIES = ["/v1/executions?{}=1", "/v1/executions?status={}", "/v1/executions?cursor={}", "/v1/executions?limit={}", "/v1/executions?metadata={}",
           "/v1/executions?identity={}", "/v1/executions?queue={}", "/v1/executions?task={}", "/v1/executions?tag={}",
           "/v1/executions?created_after={}", "/v1/executions/{}", "/v1/queues/{}", "/v1/activities/{}", "/v1/activities/{}/runs",
           "/v1/tasks/{}", "/v1/stream?queue={}&{}=1", "/{}"]


class LongInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BIN, "serve", "--listen", "127.0.0.1:0", env={"HAPAX_STORE_URL": "sqlite:long.db"})
        cls.addClassCleanup(lambda: cls.server.process.poll() is None and cls.server.stop())

    def send(self, method, path, body):
        type = "Content-Type: application/cloudevents+json" if path == "/v1/events" else JSON
        return self.server.ask(method, path, type, body=body if isinstance(body, str) else json.dumps(body))

    def short(self, answer):
        self.assertIn(answer.status, (400, 404, 413, 414, 415), answer)
        self.assertEqual(answer.header("content-type"), "application/problem+json", answer)
        self.assertLess(len(answer.body), MOST, answer)
        self.assertNotIn("x" * 201, answer.body.decode(), answer)

    def cost(self, method, path, body):
        """CPU seconds that the server spends on a request; other processes do not count."""
        def spent():
            with open(f"/proc/{self.server.process.pid}/stat", encoding="ascii") as stat:
                user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
            return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        before = spent()
        for _ in range(5):
            self.send(method, path, body)
        return spent() - before

    def test_no_error_echoes_more_than_200_bytes_of_a_body(self):
        for what, (method, path, body) in BODIES.items():
            with self.subTest(what):
                answer = self.send(method, path, body)
                self.short(answer)
                self.assertNotEqual(answer.json["detail"], "there is nothing at this path; /openapi.json lists what there is")

    def test_no_error_echoes_more_than_200_bytes_of_a_target_or_a_header(self):
        for target in QUERIES:
            with self.subTest(target):
                answer = self.server.get(target.replace("{}", "x" * 3500))
                if answer.status != 200:
                    self.short(answer)
        for header in ("Idempotency-Key", "traceparent", "Content-Type", "Hapax-Namespace"):
            with self.subTest(header):
                answer = self.server.ask("POST", "/v1/tasks/t/executions", f'{header}: "{"x" * 8000}"', body="{}")
                if answer.status != 201:
                    self.short(answer)

    def test_names_cost_no_more_than_their_size(self):
        usual = self.cost("POST", "/v1/tasks/t/executions", {"input": LONG})
        for what in [name for name in BODIES if name.startswith("a member of")] + ["queues of a claim"]:
            with self.subTest(what):
                self.assertLess(self.cost(*BODIES[what]), 5 * usual + 0.5)

    def test_short_names_still_get_a_suggestion(self):
        answer = self.send("POST", "/v1/tasks/t/executions", {"idempotency_kye": 1})
        self.assertIn('did you mean "idempotency_key"?', answer.json["detail"])
        answer = self.server.get("/v1/executions?" + urllib.parse.urlencode({"statsu": "failed"}))
        self.assertIn('did you mean "status"?', answer.json["detail"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
