"""Payload encryption from the command line."""

import base64
import json
import os
import unittest

from _hapax import CONFIGURATION, OK, on_stores

SECRET = "4111-canary-1111"


@on_stores
class Encryption:
    def key_file(self, name, *keys):
        path = self.path(name)
        with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            for key in keys:
                file.write(f"{key} {base64.b64encode(key.encode() * 32).decode()}\n")
        return {"HAPAX_ENCRYPTION_KEY_FILE": path}

    def table(self, name):
        return name if self.url.startswith("sqlite:") else self.url.split("schema=")[1] + "." + name

    def test_what_is_stored_is_an_envelope_and_what_is_shown_is_not(self):
        keys = self.key_file("keys", "a")
        id = self.enqueue("pay", "--input", json.dumps({"card": SECRET}), env=keys)
        self.assertEqual(self.good("show", id, env=keys)["input"], {"card": SECRET})
        rows = self.hapax("sql", "SELECT * FROM " + self.table("executions"), "--json", env=keys)
        self.assertEqual(rows.code, OK, rows)
        self.assertNotIn(SECRET, rows.out)
        self.assertIn("aes-256-gcm", rows.out)
        seen = self.path("seen")
        self.good("work", "--exec", self.script(f"tee {seen}"), "--until-empty", env=keys)
        with open(seen, encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"card": SECRET})
        self.assertEqual(self.good("show", id, env=keys)["result"], {"card": SECRET})

    def test_without_the_key_a_store_is_not_opened(self):
        self.enqueue("pay", env=self.key_file("keys", "a"))
        self.refused(CONFIGURATION, "ConfigurationError", "list")
        self.refused(CONFIGURATION, "ConfigurationError", "list", env=self.key_file("other", "b"))
        self.refused(CONFIGURATION, "ConfigurationError", "list", env={"HAPAX_ENCRYPTION_KEY_FILE": self.path("absent")})

    def test_a_key_file_that_others_may_read_is_refused(self):
        keys = self.key_file("keys", "a")
        os.chmod(keys["HAPAX_ENCRYPTION_KEY_FILE"], 0o644)
        self.refused(CONFIGURATION, "ConfigurationError", "enqueue", "pay", env=keys)

    def test_the_file_may_be_named_by_the_configuration(self):
        keys = self.key_file("keys", "a")
        with open(self.path("hapax.toml"), "w", encoding="utf-8") as file:
            file.write('[encryption]\nkey_file = "' + keys["HAPAX_ENCRYPTION_KEY_FILE"] + '"\n')
        configured = {"HAPAX_CONFIG": self.path("hapax.toml")}
        id = self.enqueue("pay", env=configured)
        self.assertEqual(self.good("show", id, env=keys)["id"], id)
        self.refused(CONFIGURATION, "ConfigurationError", "list")

    def test_a_new_key_comes_in_while_there_is_work(self):
        before = self.enqueue("pay", "--input", '"old"', env=self.key_file("keys", "a"))
        both = self.key_file("both", "a", "b")
        after = self.enqueue("pay", "--input", '"new"', env=both)
        self.assertEqual([self.good("show", id, env=both)["input"] for id in (before, after)], ["old", "new"])
        only_new = self.key_file("new", "b")
        self.assertEqual(self.good("show", after, env=only_new)["input"], "new")
        # An execution whose payload cannot be decrypted is shown without it and with the error, alone and in a list.
        for shown in (self.good("show", before, env=only_new), self.good("list", env=only_new)[1]):
            self.assertEqual((shown["id"], shown["error"]["type"]), (before, "DecryptionFailed"))
            self.assertIn("'a'", shown["error"]["message"])
        self.assertIsNone(self.good("show", before, env=only_new)["input"])
        self.good("work", "--exec", self.script("cat"), "--until-empty", env=both)
        self.assertEqual([self.good("show", id, env=both)["result"] for id in (before, after)], ["old", "new"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
