"""docs/reference/openapi.yaml and the server accept the same requests."""

import json
import os
import re
import unittest
import urllib.parse

import jsonschema
import yaml

from _server import BIN, JSON, Server

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UUID = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"
FORMS = {"InvalidArgument", "InvalidJson", "InvalidIdempotencyKey", "PayloadTooLarge"}
CRON = {"trigger": {"type": "cron", "cron": "@daily"}, "target": {"task": "t"}}
BY_EVENT = {"trigger": {"type": "event", "types": ["t"]}, "target": {"task": "t"}}
EVENT = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
SESSION = "a session that is there"  # replaced by an existing session's ID once the server runs
OUTCOME = {"id": UUID, "fence": 1, "status": "completed"}

# Values that clients send instead of the right one.
VALUES = [None, "", "x", "x" * 200, "x" * 201, "x" * 256, "a\u0007b", 0, 1, -1, 7.5, 100, 1001, 32768, 10**7, True, False, [], ["a"], [1], ["/a"], [""],
          ["t"] * 21, {}, {"a": 1}, {"a": "b"}, "0", "1s", "1h30m", "1 s", "-1s", "30m1h", "1.5s", "90", "100/sec", "30/min burst 5", "0/sec", "100/week",
          "2030-01-01T00:00:00Z", "2030-01-01", "soon", UUID, "full", "reject", "wait", "allow", "strict", "input", "none", "skip", "queue",
          "pending", [UUID], ["x"], [EVENT], "AAEC"]

# Operation, a body that it accepts, and the object in it whose members are varied one by one.
BODIES = [
    ("POST", "/v1/tasks/t/executions", {}, ()),
    ("POST", "/v1/tasks/t/identity", {}, ()),
    ("POST", "/v1/workflows/w/executions", {"workflow_id": "w1", "on_conflict": "return_existing"}, ()),
    ("POST", "/v1/claims", {"queues": ["nothing"]}, ()),
    ("POST", "/v1/claims/open", {"queues": ["nothing"]}, ()),
    ("POST", "/v1/claims/extend", {"session": SESSION}, ()),
    ("POST", "/v1/claims/extend", {"session": SESSION, "progress": [{"id": UUID, "fence": 1}]}, ("progress", 0)),
    ("POST", "/v1/claims/finish", {"outcomes": [OUTCOME]}, ()),
    ("POST", "/v1/claims/finish", {"outcomes": [OUTCOME]}, ("outcomes", 0)),
    ("PUT", "/v1/tasks/catalogued", {}, ()),
    ("PUT", "/v1/tasks/catalogued", {"retry": {}}, ("retry",)),
    ("PUT", "/v1/queues/settings", {}, ()),
    ("POST", "/v1/queues/settings/move", {"to": "other"}, ()),
    ("POST", f"/v1/executions/{UUID}/cancel", {}, ()),
    ("POST", f"/v1/executions/{UUID}/retry", {}, ()),
    ("POST", f"/v1/executions/{UUID}/fork", {"steps": 1, "workflow_id": "w"}, ()),
    ("POST", "/v1/executions/cancel", {"ids": [UUID]}, ()),
    ("POST", "/v1/executions/cancel", {"filter": {"queue": "nothing"}}, ("filter",)),
    ("POST", "/v1/executions/retry", {"ids": [UUID]}, ()),
    ("POST", "/v1/dead-letters/discard", {"ids": [UUID]}, ()),
    ("POST", "/v1/dead-letters/annotate", {"ids": [UUID], "note": "n"}, ()),
    ("PUT", "/v1/activities/a", CRON, ()),
    ("PUT", "/v1/activities/a", CRON, ("trigger",)),
    ("PUT", "/v1/activities/a", CRON, ("target",)),
    ("PUT", "/v1/activities/a", {**CRON, "target": {"task": "t", "options": {}}}, ("target", "options")),
    ("PUT", "/v1/activities/b", BY_EVENT, ("trigger",)),
    ("POST", "/v1/activities/a/pause", {}, ()),
    ("POST", "/v1/activities/a/resume", {}, ()),
    ("POST", "/v1/activities/a/trigger", {}, ()),
]

# Where the schema cannot say the rule, or is stricter to help clients: path, members, reason.
BEYOND = [
    ("/v1/(tasks|workflows)/.*", {"task"}, "the path says it; here it may only say the same"),
    ("/v1/tasks/t/identity", {"wait_timeout"}, "nothing waits there"),
    ("/v1/(tasks|workflows)/./executions", {"wait_timeout"}, "at most 5m, which no pattern can say"),
    ("/v1/.*", {"traceparent", "tracestate"}, "trace context never refuses work"),
    ("/v1/tasks/t/.*", {"throttle", "debounce", "keep_last"}, "they need a key or a strategy that makes requests the same"),
    ("/v1/tasks/catalogued", {"identity_keys"}, "they need a contextual strategy"),
    ("/v1/claims", {"held"}, "it says something of a session only"),
    ("/v1/claims/finish", {"session"}, "outcomes are judged by their fences"),
    ("/v1/queues/settings", {"dedup_window", "rate_limit", "key_rate_limit", "concurrency", "worker_concurrency", "key_concurrency"},
     "the words of hapax.toml are taken too: \"none\", and numbers as texts"),
    ("/v1/activities/a", {"id", "cron", "time_zone"}, "the path says the id; what a cron expression or a zone is no pattern can say"),
]


def members(document, schema):
    """Names of all members that a schema defines."""
    while "$ref" in schema:
        schema = document.resolve(schema["$ref"])
    found = list(schema.get("properties", {}))
    for part in ("oneOf", "anyOf", "allOf"):
        for each in schema.get(part, []):
            found += [name for name in members(document, each) if name not in found]
    return found


def is_date_time(value):
    return not isinstance(value, str) or re.fullmatch(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", value) is not None


def is_uuid(value):
    return not isinstance(value, str) or re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value) is not None


class Document:
    def __init__(self):
        with open(os.path.join(ROOT, "docs/reference/openapi.yaml"), encoding="utf-8") as file:
            self.whole = yaml.safe_load(file)
        self.formats = jsonschema.FormatChecker(formats=())
        self.formats.checkers = {"date-time": (is_date_time, ()), "uuid": (is_uuid, ())}
        # /v1/executions/batch must match before /v1/executions/{id}
        self.paths = sorted(self.whole["paths"], key=lambda path: path.count("{"))

    def resolve(self, reference):
        node = self.whole
        for name in reference[2:].split("/"):
            node = node[name]
        return node

    def schema(self, method, path):
        for name in self.paths:
            if re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", name), path) and method.lower() in self.whole["paths"][name]:
                body = self.whole["paths"][name][method.lower()]["requestBody"]
                body = self.resolve(body["$ref"]) if "$ref" in body else body
                return body["content"]["application/json"]["schema"]
        raise KeyError(f"{method} {path} is not described")

    def takes(self, schema, body):
        rooted = {**schema, "components": self.whole["components"]} if "$ref" not in schema else {"allOf": [schema], "components": self.whole["components"]}
        return jsonschema.Draft202012Validator(rooted, format_checker=self.formats).is_valid(body)


def changed(body, place, name, value):
    made = json.loads(json.dumps(body))
    inner = made
    for step in place:
        inner = inner[step]
    inner[name] = value
    return made


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.document = Document()
        cls.server = Server(BIN, "serve", "--listen", "127.0.0.1:0", "--log", "off", env={"HAPAX_STORE_URL": "memory:"})
        cls.addClassCleanup(lambda: cls.server.process.poll() is None and cls.server.stop())
        for method, path, body in (("PUT", "/v1/queues/settings", {}), ("PUT", "/v1/activities/a", CRON), ("PUT", "/v1/activities/b", BY_EVENT)):
            assert cls.server.ask(method, path, JSON, body=json.dumps(body)).status in (200, 201)
        opened = cls.server.ask("POST", "/v1/claims/open", JSON, body=json.dumps({"queues": ["nothing"], "lease": "1h"}))
        cls.session = opened.json["session"]

    def ask(self, client, method, path, body):
        """Whether the server accepts the request's form, and its message."""
        answer = client.ask(method, path, JSON, body=json.dumps(body))
        problem = answer.json if answer.status >= 400 else {}
        self.assertLess(answer.status, 500, answer)
        return problem.get("error") not in FORMS, problem.get("detail")

    def test_what_the_description_takes_the_server_takes_and_the_other_way_round(self):
        tried, differences = 0, []
        with self.server.connect(timeout=120) as client:
            for method, path, body, place in BODIES:
                schema = self.document.schema(method, path)
                body = {**body, "session": self.session} if "session" in body else body
                self.assertTrue(self.document.takes(schema, body), f"{method} {path}: the example itself")
                inner = schema
                for step in place:
                    while "$ref" in inner:
                        inner = self.document.resolve(inner["$ref"])
                    inner = inner["items"] if isinstance(step, int) else inner["properties"][step]
                for name in [*members(self.document, inner), "unknown"]:
                    for value in VALUES:
                        if name == "wait" and value == "1h30m":
                            continue  # the server would wait that long
                        made = changed(body, place, name, value)
                        described = self.document.takes(schema, made)
                        taken, detail = self.ask(client, method, path, made)
                        tried += 1
                        if described != taken and not self.excepted(path, name, value, taken):
                            differences.append(f"{method} {path} {place} {name}={json.dumps(value)[:40]}: "
                                               f"{'looser' if described else 'stricter'} than the server ({detail})")
        self.assertGreater(tried, 5000)
        self.assertEqual(differences, [], f"{len(differences)} of {tried}:\n" + "\n".join(differences))

    def excepted(self, path, name, value, taken):
        if value is None and taken:
            return True  # null counts as absent, as the description's introduction says
        return any(re.fullmatch(pattern, path) and name in names for pattern, names, _ in BEYOND)

    def test_every_header_and_query_parameter_is_described(self):
        for path, item in self.document.whole["paths"].items():
            if not path.startswith("/v1/"):
                continue
            shared = [self.document.resolve(each["$ref"]) if "$ref" in each else each for each in item.get("parameters", [])]
            self.assertIn("Hapax-Namespace", [each["name"] for each in shared], path)
        answer = self.server.get("/v1/executions/find?" + urllib.parse.urlencode({"task": "t", "task_id": "k", "queue": "q"}))
        self.assertEqual(answer.status, 404, answer)
        known = [each.get("name") for each in self.document.whole["paths"]["/v1/executions/find"]["get"]["parameters"]]
        self.assertIn("queue", known)

    def test_every_media_type_is_described_and_taken(self):
        batch = self.document.whole["paths"]["/v1/executions/batch"]["post"]["requestBody"]["content"]
        self.assertEqual(set(batch), {"application/x-ndjson", "application/ndjson", "application/jsonl"})
        for kind in batch:
            answer = self.server.ask("POST", "/v1/executions/batch", f"Content-Type: {kind}", body='{"task":"t"}\n')
            self.assertEqual(answer.status, 200, answer)
        events = self.document.whole["paths"]["/v1/events"]["post"]["requestBody"]["content"]
        self.assertEqual(set(events), {"application/cloudevents+json", "application/cloudevents-batch+json", "application/json", "*/*"})
        answer = self.server.ask("POST", "/v1/events", "Content-Type: text/csv", "ce-specversion: 1.0", "ce-source: /s", "ce-type: t", "ce-id: 1", body="a,b")
        self.assertEqual(answer.status, 200, answer)

    def test_nothing_that_a_client_may_leave_out_has_a_default(self):
        """Code generators treat a member with a default as always present."""
        found = []

        def look(node, path):
            if isinstance(node, dict):
                if "default" in node and path[-2:-1] != ["responses"] and "responses" not in path:
                    found.append("/".join(map(str, path)))
                for name, value in node.items():
                    look(value, [*path, name])
            elif isinstance(node, list):
                for number, value in enumerate(node):
                    look(value, [*path, number])

        look(self.document.whole, [])
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
