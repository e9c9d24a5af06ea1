"""The workers of docs/guides/worker-protocol.md, exactly as printed there, do what the guide says."""

import os
import re
import signal
import subprocess
import sys
import unittest

from _api import on_stores

GUIDE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "guides", "worker-protocol.md")


def worker(language):
    with open(GUIDE, encoding="utf-8") as file:
        found = re.search(rf"<!-- worker: {language} -->\n```{language}\n(.*?)```", file.read(), re.S)
    return found[1]


@on_stores
class Guide:
    def run_worker(self, language, command):
        name = f"worker-{self.queue}.{language}"
        with open(name, "w", encoding="utf-8") as file:
            file.write(worker(language))
        url = f"http://{self.api.server.host}:{self.api.server.port}"
        process = subprocess.Popen([*command, name, url, self.queue], stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            good = [self.api.enqueue("greet", {"name": f"n{number}"}, queue=self.queue)["id"] for number in range(6)]
            bad = self.api.enqueue("greet", {}, queue=self.queue, max_attempts=1)["id"]
            for number, id in enumerate(good):
                outcome = self.api.get(f"/v1/executions/{id}/result?wait=60s").json
                self.assertEqual(outcome["result"], {"greeting": f"hello n{number}"})
            outcome = self.api.get(f"/v1/executions/{bad}/result?wait=60s").json
            self.assertEqual(outcome["status"], "failed")
            self.assertIn("name", outcome["error"]["message"])
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def test_bash(self):
        self.run_worker("bash", ["bash"])

    def test_python(self):
        self.run_worker("python", [sys.executable, "-B"])

    def test_they_are_short(self):
        for language in ("bash", "python"):
            lines = [line for line in worker(language).splitlines() if line.strip()]
            self.assertLessEqual(len(lines), 32, language)


if __name__ == "__main__":
    unittest.main()
