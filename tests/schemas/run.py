#!/usr/bin/env python3
"""run.py SCHEMA_JUDGE ROOT: the published JSON Schemas and the library's own readers accept the same documents."""

import copy
import json
import subprocess
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("jsonschema is missing: install the Debian package python3-jsonschema, as ./dev test does")

GONE = object()
GOOD, BAD, BEYOND = "good", "bad", "beyond"  # beyond: bad, but no schema can express it

CRON = {
    "id": "daily-report", "name": "Daily report", "description": "What was sold",
    "trigger": {"type": "cron", "cron": "0 9 * * 1-5", "time_zone": "Europe/Zurich", "misfire_policy": "catchup",
                "misfire_grace": "2m", "catchup_limit": 10, "overlap": "skip", "jitter": "30s",
                "start": "2026-03-01T00:00:00+01:00", "end": "2027-03-01T00:00:00Z"},
    "target": {"task": "generate-report", "queue": "reports"}, "input": {"kind": "daily", "at": "{{scheduled_for}}"},
    "tasks": [{"task_type": "extract", "queue": "etl", "input": {}}, {"task_type": "load"}],
    "dedupe_key_strategy": "catchup"}
ON_ORDER = {
    "id": "on-order",
    "trigger": {"type": "event", "types": ["order.*"], "source": "/shop", "filter": {"/data/country": ["CH", "AT"]}},
    "target": {"workflow": "process_order"}}
EVENT = {
    "specversion": "1.0", "id": "evt_1", "source": "/shop", "type": "order.created", "subject": "order/456",
    "time": "2026-03-01T09:00:00.123Z", "datacontenttype": "application/json", "dataschema": "https://x/y",
    "tenant": "acme", "retries": 3, "urgent": True, "data": {"n": 1}}

# (base, path, value, judgement): the base document with one value set or removed.
ACTIVITIES = [
    (CRON, [], None, GOOD),
    (ON_ORDER, [], None, GOOD),
    (CRON, ["name"], GONE, GOOD),
    (CRON, ["input"], GONE, GOOD),
    (CRON, ["input"], None, GOOD),
    (CRON, ["input"], [1, "x", None], GOOD),
    (CRON, ["tasks"], [], GOOD),
    (CRON, ["dedupe_key_strategy"], GONE, GOOD),
    (CRON, ["trigger", "cron"], "@every 90s", GOOD),
    (CRON, ["trigger", "time_zone"], GONE, GOOD),
    (CRON, ["trigger", "jitter"], "0", GOOD),
    (CRON, ["trigger", "misfire_grace"], "1h30m5s", GOOD),
    (CRON, ["target"], {"workflow": "w"}, GOOD),
    (CRON, ["id"], "Über-Bericht", GOOD),
    (CRON, [], [], BAD),
    (CRON, [], "x", BAD),
    (CRON, ["id"], GONE, BAD),
    (CRON, ["id"], "", BAD),
    (CRON, ["id"], "a:b", BAD),
    (CRON, ["id"], "a\nb", BAD),
    (CRON, ["id"], "x" * 201, BAD),
    (CRON, ["id"], 7, BAD),
    (CRON, ["name"], None, BAD),
    (CRON, ["description"], "x" * 2049, BAD),
    (CRON, ["triger"], {}, BAD),
    (CRON, ["trigger"], GONE, BAD),
    (CRON, ["trigger"], "@daily", BAD),
    (CRON, ["trigger", "type"], GONE, BAD),
    (CRON, ["trigger", "type"], "timer", BAD),
    (CRON, ["trigger", "cron"], GONE, BAD),
    (CRON, ["trigger", "cron"], 5, BAD),
    (CRON, ["trigger", "cron"], "", BAD),
    (CRON, ["trigger", "cron"], "0 0 30 2 *", BEYOND),
    (CRON, ["trigger", "time_zone"], "Europe/Zurch", BEYOND),
    (CRON, ["trigger", "time_zone"], "", BAD),
    (CRON, ["trigger", "misfire_policy"], "later", BAD),
    (CRON, ["trigger", "misfire_policy"], "skip", BEYOND),
    (CRON, ["trigger", "misfire_grace"], "1.5s", BAD),
    (CRON, ["trigger", "misfire_grace"], "", BAD),
    (CRON, ["trigger", "misfire_grace"], "5", BAD),
    (CRON, ["trigger", "misfire_grace"], "5s1m", BAD),
    (CRON, ["trigger", "misfire_grace"], 60, BAD),
    (CRON, ["trigger", "misfire_grace"], "0", BEYOND),
    (CRON, ["trigger", "catchup_limit"], 0, BAD),
    (CRON, ["trigger", "catchup_limit"], 1001, BAD),
    (CRON, ["trigger", "catchup_limit"], 1.5, BAD),
    (CRON, ["trigger", "overlap"], "queue", BAD),
    (CRON, ["trigger", "jitter"], "4d", BEYOND),
    (CRON, ["trigger", "start"], "yesterday", BAD),
    (CRON, ["trigger", "start"], "2026-03-01", BAD),
    (CRON, ["trigger", "end"], "2026-02-01T00:00:00Z", BEYOND),
    (CRON, ["trigger", "types"], ["a"], BAD),
    (CRON, ["target"], GONE, BAD),
    (CRON, ["target"], {}, BAD),
    (CRON, ["target"], {"task": "a", "workflow": "b"}, BAD),
    (CRON, ["target", "task"], "", BAD),
    (CRON, ["target", "queue"], "", BAD),
    (CRON, ["target", "priority"], 1, BAD),
    (CRON, ["input"], "{{nothing}}", BEYOND),
    (CRON, ["tasks"], {}, BAD),
    (CRON, ["tasks"], [{"task_type": "t"}] * 51, BAD),
    (CRON, ["tasks", 0, "task_type"], GONE, BAD),
    (CRON, ["tasks", 0, "name"], "x", BAD),
    (CRON, ["dedupe_key_strategy"], "never", BAD),
    (ON_ORDER, ["dedupe_key_strategy"], "skip", BAD),
    (ON_ORDER, ["trigger", "overlap"], "skip", BAD),
    (ON_ORDER, ["trigger", "types"], GONE, BAD),
    (ON_ORDER, ["trigger", "types"], [], BAD),
    (ON_ORDER, ["trigger", "types"], [""], BAD),
    (ON_ORDER, ["trigger", "types"], "order.*", BAD),
    (ON_ORDER, ["trigger", "types"], ["a"] * 101, BAD),
    (ON_ORDER, ["trigger", "source"], "", BAD),
    (ON_ORDER, ["trigger", "source"], GONE, GOOD),
    (ON_ORDER, ["trigger", "filter"], {}, GOOD),
    (ON_ORDER, ["trigger", "filter"], [], BAD),
] + [(ON_ORDER, ["trigger", "filter"], {pointer: 1}, judgement) for pointer, judgement in [
    ("/data", GOOD), ("/data/a", GOOD), ("/data/a~0b/~1", GOOD), ("/data/", GOOD), ("/subject", GOOD),
    ("/tenant", GOOD), ("/database", GOOD), ("/data_base64", GOOD), ("", BAD), ("/", BAD), ("data", BAD),
    ("/Data", BAD), ("/data/~", BAD), ("/data/~2", BAD), ("/subject/x", BAD), ("/" + "x" * 64, GOOD), ("/" + "x" * 65, BAD),
    ("/data/" + "x" * 195, BAD)]
] + [(ON_ORDER, ["trigger", "filter"], {"/data/x": condition}, judgement) for condition, judgement in [
    (None, GOOD), (True, GOOD), (1.5, GOOD), ("x", GOOD), ([1, "x"], GOOD), ({"equals": {"a": 1}}, GOOD),
    ({"in": [[1]]}, GOOD), ({"exists": False}, GOOD), ([], BAD), ([1] * 101, BAD), ({}, BAD), ({"in": []}, BAD),
    ({"in": 1}, BAD), ({"exists": 1}, BAD), ({"is": 1}, BAD), ({"equals": 1, "exists": True}, BAD)]
]

EVENTS = [
    (EVENT, [], None, GOOD),
    (EVENT, ["id"], GONE, GOOD),
    (EVENT, ["id"], None, GOOD),
    (EVENT, ["subject"], None, GOOD),
    (EVENT, ["time"], None, GOOD),
    (EVENT, ["data"], GONE, GOOD),
    (EVENT, ["data"], None, GOOD),
    (EVENT, ["data"], [1, {"a": "b"}], GOOD),
    (EVENT, ["data_base64"], None, GOOD),
    (EVENT, ["tenant"], None, GOOD),
    (EVENT, ["tenant"], "", GOOD),
    (EVENT, [], [], BAD),
    (EVENT, ["specversion"], GONE, BAD),
    (EVENT, ["specversion"], "0.3", BAD),
    (EVENT, ["id"], "", BAD),
    (EVENT, ["id"], 7, BAD),
    (EVENT, ["id"], "x" * 256, BAD),
    (EVENT, ["source"], GONE, BAD),
    (EVENT, ["source"], None, BAD),
    (EVENT, ["source"], "", BAD),
    (EVENT, ["source"], "x" * 1025, BAD),
    (EVENT, ["type"], GONE, BAD),
    (EVENT, ["type"], "x" * 201, BAD),
    (EVENT, ["type"], "a\tb", BAD),
    (EVENT, ["subject"], "", BAD),
    (EVENT, ["time"], "noon", BAD),
    (EVENT, ["time"], 1772355600, BAD),
    (EVENT, ["time"], "2026-02-30T09:00:00Z", BEYOND),
    (EVENT, ["datacontenttype"], "", BAD),
    (EVENT, ["data_base64"], "AAEC", BAD),
    (EVENT, ["specVersion"], "1.0", BAD),
    (EVENT, ["my_tenant"], "x", BAD),
    (EVENT, ["x" * 64], "x", GOOD),
    (EVENT, ["x" * 65], "x", BAD),
    (EVENT, ["my_tenant"], None, BAD),
    (EVENT, [], {"specversion": "1.0", "id": "1", "source": "s", "type": "t", **{f"e{i}": i for i in range(38)}}, GOOD),
    (EVENT, [], {"specversion": "1.0", "id": "1", "source": "s", "type": "t", **{f"e{i}": i for i in range(39)}}, BAD),
    (EVENT, [], {"specversion": "1.0", "source": "s", "type": "t", **{f"e{i}": i for i in range(38)}}, GOOD),
    (EVENT, [], {"specversion": "1.0", "source": "s", "type": "t", **{f"e{i}": i for i in range(39)}}, BAD),
    (EVENT, [], {"specversion": "1.0", "id": "1", "source": "s", "type": "t", **{f"e{i}": None for i in range(39)}}, BAD),
    (EVENT, ["traceparent"], "x" * 2000, GOOD),
    (EVENT, ["tracestate"], 7.5, GOOD),
    (EVENT, ["tenant"], {}, BAD),
    (EVENT, ["tenant"], 1.5, BAD),
    (EVENT, ["tenant"], 2147483648, BAD),
    (EVENT, ["tenant"], -2147483648, GOOD),
    (EVENT, ["tenant"], "x" * 1025, BAD),
    (EVENT, ["data"], json.loads("[" * 41 + "]" * 41), BEYOND),
] + [({"specversion": "1.0", "source": "s", "type": "t"}, ["data_base64"], text, judgement) for text, judgement in [
    ("AAEC", GOOD), ("AA==", GOOD), ("AAA=", GOOD), ("+/9z", GOOD), ("", GOOD), ("AAE", BAD), ("A===", BAD),
    ("AA=A", BAD), ("AA-_", BAD), ("====", BAD)]
]


def made(base, path, value):
    if not path:
        return copy.deepcopy(base) if value is None else value
    document = copy.deepcopy(base)
    place = document
    for part in path[:-1]:
        place = place[part]
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return document


def breaches(judge, kind, schema, cases):
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    documents = [json.dumps(made(*case[:3])) for case in cases]
    answer = subprocess.run([judge, kind], input="\n".join(documents) + "\n", text=True, capture_output=True,
                            check=True, timeout=60)
    verdicts = answer.stdout.splitlines()
    if len(verdicts) != len(documents):
        yield f"{len(verdicts)} answers to {len(documents)} documents"
        return
    for (_, path, _, expected), document, verdict in zip(cases, documents, verdicts):
        by_reader, _, rest = verdict.partition(" ")
        by_schema = GOOD if validator.is_valid(json.loads(document)) else BAD
        where = f"{kind} {path}: {document[:300]}"
        if by_reader != (GOOD if expected == GOOD else BAD):
            yield f"{where}: expected {expected}, the reader says {verdict[:300]}"
        if by_schema != (BAD if expected == BAD else GOOD):
            yield f"{where}: expected {expected}, the schema says {by_schema}"
        if by_reader == GOOD and not validator.is_valid(json.loads(rest)):
            yield f"{where}: its canonical form is refused by the schema: {rest[:300]}"


def main():
    judge, root = sys.argv[1:]
    found = 0
    for kind, cases in (("activity", ACTIVITIES), ("event", EVENTS)):
        with open(f"{root}/docs/schemas/{kind}.schema.json", encoding="utf-8") as file:
            schema = json.load(file)
        for breach in breaches(judge, kind, schema, cases):
            print(breach)
            found += 1
    print(f"{len(ACTIVITIES) + len(EVENTS)} documents, {found} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
