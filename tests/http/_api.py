"""Shared by the API's tests: a server on a store of its own, on SQLite and on PostgreSQL, and a client that
checks every answer against docs/reference/openapi.yaml."""

import http.client
import json
import os
import re
import subprocess
import sys
import unittest
import urllib.parse
import uuid

import jsonschema

from _server import BIN, Server, clean_environment

UUID = "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f"


class Document:
    """The server's own description; checks answers against it."""

    def __init__(self, text):
        self.whole = json.loads(text)
        self.resolver = jsonschema.RefResolver("", self.whole)
        self.paths = [(re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path) + r"\Z"), path) for path in self.whole["paths"]]
        # /v1/executions/batch must match before /v1/executions/{id}
        self.paths.sort(key=lambda item: item[1].count("{"))

    def resolve(self, node):
        while "$ref" in node:
            node = self.resolver.resolve(node["$ref"])[1]
        return node

    def operation(self, method, path):
        for pattern, name in self.paths:
            if pattern.match(path) and method.lower() in self.whole["paths"][name]:
                return self.whole["paths"][name][method.lower()]
        return None

    def check(self, method, path, status, content_type, body):
        operation = self.operation(method, path)
        if operation is None:
            return
        responses = operation["responses"]
        response = responses.get(str(status)) or (responses.get("default") if status >= 400 else None)
        assert response, f"{method} {path} answered {status}, which the description does not know"
        content = self.resolve(response).get("content", {})
        kind = (content_type or "").split(";")[0]
        assert kind in content, f"{method} {path} {status}: {kind} is not among {list(content)}"
        if kind.endswith("json") and kind != "application/x-ndjson":
            schema = content[kind]["schema"]
            jsonschema.Draft202012Validator(schema, resolver=self.resolver).validate(json.loads(body))

    def check_schema(self, name, value):
        schema = {"$ref": f"#/components/schemas/{name}"}
        jsonschema.Draft202012Validator(schema, resolver=self.resolver).validate(value)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


class Api:
    """A client of one server and namespace."""

    def __init__(self, server, ns=None, document=None):
        self.server, self.ns = server, ns
        self.document = document or Document(self._send("GET", "/openapi.json").body)

    def _send(self, method, path, body=None, headers=None, timeout=60):
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=timeout)
        try:
            given = dict(headers or {})
            if self.ns is not None:
                given["Hapax-Namespace"] = self.ns
            connection.request(method, path, body=body, headers=given)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def ask(self, method, path, body=None, headers=None, expect=None, timeout=60):
        """Sends `body` unchanged if it is bytes or text, otherwise as JSON. `expect` is the status that the
        answer must have."""
        given = dict(headers or {})
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if body is not None:
            given.setdefault("Content-Type", "application/json")
        if isinstance(body, str):
            body = body.encode()
        answer = self._send(method, path, body, given, timeout)
        self.document.check(method, urllib.parse.urlsplit(path).path, answer.status, answer.headers.get("content-type"),
                            answer.body)
        if expect is not None:
            assert answer.status == expect, f"{method} {path}: expected {expect}, got {answer}"
        return answer

    def get(self, path, expect=200, **options):
        return self.ask("GET", path, expect=expect, **options)

    def post(self, path, body=None, expect=200, **options):
        return self.ask("POST", path, body, expect=expect, **options)

    def put(self, path, body=None, expect=None, **options):
        return self.ask("PUT", path, body, expect=expect, **options)

    def delete(self, path, expect=200, **options):
        return self.ask("DELETE", path, expect=expect, **options)

    def enqueue(self, task, input=None, expect=201, headers=None, **more):
        return self.post(f"/v1/tasks/{task}/executions", {"input": input, **more}, expect=expect, headers=headers).json

    def claim(self, *queues, expect=200, **more):
        return self.post("/v1/claims", {"queues": list(queues), **more}, expect=expect).json

    def finish(self, *outcomes, expect=200):
        return self.post("/v1/claims/finish", {"outcomes": list(outcomes)}, expect=expect).json

    def complete(self, claim, result=None):
        return self.finish({"id": claim["id"], "fence": claim["fence"], "status": "completed", "result": result})

    def other(self, ns):
        return Api(self.server, ns, self.document)


class ApiCase:
    """Mixed into unittest.TestCase by on_stores: self.api calls a server on a new store, one for each class."""

    backend = "sqlite"

    @classmethod
    def setUpClass(cls):
        cls.schema = "api_" + uuid.uuid4().hex[:16]
        cls.store = cls.make_store()
        cls.servers = []
        cls.api = Api(cls.serve())

    @classmethod
    def make_store(cls):
        if cls.backend == "sqlite":
            return f"sqlite:{cls.schema}.db"
        base = os.environ.get("HAPAX_TEST_POSTGRES_URL")
        if not base:
            sys.exit("HAPAX_TEST_POSTGRES_URL is not set: run ./dev test, or ./dev servers and export what it prints")
        url = base + ("&" if "?" in base else "?") + "schema=" + cls.schema
        subprocess.run([BIN, "migrate", "--store", url], check=True, env=clean_environment(), capture_output=True)
        return url

    @classmethod
    def serve(cls, *arguments):
        server = Server(BIN, "serve", "--store", cls.store, "--listen", "127.0.0.1:0", "--log", "errors", *arguments)
        cls.servers.append(server)
        return server

    @classmethod
    def tearDownClass(cls):
        codes = [server.stop() for server in cls.servers if server.process.poll() is None]
        assert not any(codes), codes

    def setUp(self):
        # Unique names, so that tests of a class do not affect each other.
        self.queue = "q-" + uuid.uuid4().hex[:12]
        self.task = "t-" + uuid.uuid4().hex[:12]

    def problem(self, answer, status, name, *texts):
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["content-type"], "application/problem+json")
        problem = answer.json
        self.assertEqual(problem["error"], name, answer)
        self.assertEqual(problem["status"], status)
        self.assertEqual(problem["message"], problem["detail"])
        for text in texts:
            self.assertIn(text, problem["detail"])
        return problem


def on_stores(case):
    """Makes two test cases of one: OnSqlite and OnPostgres."""
    module = sys.modules[case.__module__]
    for backend in ("sqlite", "postgres"):
        name = case.__name__ + "On" + backend.capitalize()
        made = type(name, (ApiCase, case, unittest.TestCase), {"backend": backend, "__module__": case.__module__})
        setattr(module, name, made)
    return case
