"""Metrics of an embedded worker, scraped by a real Prometheus; the shipped rules and the dashboard name metrics that exist."""

import json
import os
import re
import subprocess
import unittest

from _observed import SOURCE, Observed, Prometheus, Server, fetch, hapax, until

ALERTS = os.path.join(SOURCE, "packaging", "prometheus", "alerts.yml")
DASHBOARD = os.path.join(SOURCE, "packaging", "grafana", "hapax.json")


def families(text):
    return set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))


def named_in(text):
    """The families that expressions name: a histogram's samples have endings."""
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\bhapax_[a-z_]+", text)}


def expressions():
    with open(DASHBOARD, encoding="utf-8") as file:
        dashboard = json.load(file)
    found = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    return found + [variable["query"] for variable in dashboard["templating"]["list"]]


class Scraped(unittest.TestCase):
    def setUp(self):
        self.store = "sqlite:" + os.path.abspath(self._testMethodName + ".db")
        self.observed = Observed(self.store)
        self.addCleanup(self.observed.stop)

    def test_every_metric_of_the_rules_and_the_dashboard_is_served_by_program_and_server(self):
        with open(ALERTS, encoding="utf-8") as file:
            named = named_in(file.read()) | named_in("\n".join(expressions()))
        self.assertGreater(len(named), 20)
        _, own = fetch(self.observed.address)
        self.assertEqual(named - families(own), set())
        server = Server(self.store)
        try:
            _, served = fetch(server.address)
        finally:
            server.stop()
        self.assertEqual(named - families(served), set())
        self.assertEqual({name for name in families(served) if not name.startswith("hapax_http_")}, families(own))

    def test_the_rules_and_the_dashboard_are_in_promql(self):
        subprocess.run(["promtool", "check", "rules", ALERTS], check=True, capture_output=True, timeout=60)
        every = {"$__rate_interval": "5m", "$namespace": ".*", "$queue": ".*", "$task": ".*"}
        rules = []
        for number, expression in enumerate(each for each in expressions() if not each.startswith(("label_values(", "prometheus"))):
            for name, value in every.items():
                expression = expression.replace(name, value)
            rules.append({"record": f"check:expression_{number}", "expr": expression})
        self.assertGreater(len(rules), 20)
        with open("dashboard.yml", "w", encoding="utf-8") as file:
            json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
        subprocess.run(["promtool", "check", "rules", "dashboard.yml"], check=True, capture_output=True, timeout=60)

    def test_a_real_prometheus_scrapes_the_worker(self):
        for number in range(3):
            hapax("enqueue", "charge", "--store", self.store, "--input", json.dumps(str(number)), "--wait")
        prometheus = Prometheus("prometheus", [self.observed.address], ALERTS)
        self.addCleanup(prometheus.stop)
        until(lambda: list(prometheus.query("up").values()) == [1.0], "the worker to be scraped")
        done = until(lambda: prometheus.query('hapax_attempts_total{task="charge",outcome="completed"}'), "the attempts")
        [(labels, value)] = done.items()
        self.assertEqual(value, 3)
        self.assertEqual(dict(labels)["namespace"], "default")
        self.assertEqual(list(prometheus.query('hapax_wait_seconds_count{task="charge"}').values()), [3.0])
        self.assertEqual(list(prometheus.query('hapax_queue_depth{queue="default",state="ready"}').values()), [0.0])
        # Each rule has been evaluated on these metrics without an error.
        rules = until(lambda: [rule for group in (prometheus.ask("rules") or {"groups": []})["groups"] for rule in group["rules"]
                               if rule["health"] != "unknown"], "the rules to be evaluated")
        self.assertEqual([rule["name"] for rule in rules if rule["health"] != "ok"], [])

    def test_an_alert_fires(self):
        prometheus = Prometheus("firing", [self.observed.address], ALERTS)
        self.addCleanup(prometheus.stop)
        # The first sample of a counter is no increase, so one execution fails before the others.
        subprocess.run([os.environ["HAPAX_BIN"], "enqueue", "broken", "--store", self.store, "--input", '"x"', "--wait"],
                       capture_output=True, timeout=60)
        until(lambda: prometheus.query('hapax_attempts_total{task="broken",outcome="failed"}'), "the first failure to be scraped")
        lines = "".join('{"task":"broken","input":"x"}\n' for _ in range(20))
        subprocess.run([os.environ["HAPAX_BIN"], "enqueue", "--bulk", "-", "--store", self.store], input=lines.encode(),
                       capture_output=True, check=True, timeout=60)
        fired = until(lambda: prometheus.query('ALERTS{alertname="HapaxDeadLetters",alertstate="firing"}'), "the alert")
        self.assertEqual([dict(labels)["task"] for labels in fired], ["broken"])


if __name__ == "__main__":
    unittest.main()
