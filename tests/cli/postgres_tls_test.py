"""TLS to PostgreSQL: sslmode and related parameters reach libpq; the server has a certificate that the test made."""

import os
import pathlib
import shutil
import subprocess
import unittest

from _hapax import OK, STORE, run

CONTROL = str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "test_postgres.sh")


def control(*arguments):
    return subprocess.run([CONTROL, *arguments], check=True, stdout=subprocess.PIPE, text=True, timeout=120).stdout.strip()


def make_certificate(folder, name):
    key, certificate = os.path.join(folder, name + ".key"), os.path.join(folder, name + ".crt")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                    "-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True, timeout=60)
    return key, certificate


class PostgresTls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = control("create")
        cls.addClassCleanup(control, "remove", cls.folder)
        cls.plain = control("url", cls.folder)
        with open(os.path.join(cls.folder, "password"), encoding="ascii") as file:
            cls.password = file.read()
        before = run("migrate", "--store", cls.plain + "?sslmode=require")
        assert before.code == STORE, before  # a server without TLS is refused
        assert cls.password not in before.err + before.out, before
        data = os.path.join(cls.folder, "data")
        key, cls.certificate = make_certificate(".", "server")
        cls.certificate = os.path.abspath(cls.certificate)
        owner = os.stat(data)
        for source, name in ((key, "server.key"), (cls.certificate, "server.crt")):
            target = os.path.join(data, name)
            shutil.copy(source, target)
            os.chmod(target, 0o600)
            os.chown(target, owner.st_uid, owner.st_gid)
        with open(os.path.join(data, "postgresql.conf"), "a", encoding="utf-8") as file:
            file.write("ssl = on\n")
        control("stop", cls.folder)
        control("start", cls.folder)
        migrated = run("migrate", "--store", cls.plain + "?sslmode=require")
        assert migrated.code == OK, migrated

    def url(self, parameters):
        return self.plain + "?" + parameters

    def uses_tls(self, url):
        answer = run("sql", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", "--json", env={"HAPAX_STORE_URL": url})
        self.assertEqual(answer.code, OK, answer)
        return "true" in answer.out

    def test_a_required_connection_is_encrypted(self):
        self.assertTrue(self.uses_tls(self.url("sslmode=require")))
        self.assertFalse(self.uses_tls(self.url("sslmode=disable")))

    def test_the_server_is_known_by_its_certificate(self):
        self.assertTrue(self.uses_tls(self.url("sslmode=verify-full&sslrootcert=" + self.certificate)))

    def test_another_authority_is_refused(self):
        _, other = make_certificate(".", "other")
        answer = run("list", env={"HAPAX_STORE_URL": self.url("sslmode=verify-full&sslrootcert=" + os.path.abspath(other))})
        self.assertEqual(answer.code, STORE, answer)
        self.assertTrue(answer.err.startswith("StoreUnavailable: "), answer)
        self.assertNotIn(self.password, answer.err)

    def test_work_goes_its_way_over_tls(self):
        env = {"HAPAX_STORE_URL": self.url("sslmode=require")}
        self.assertEqual(run("enqueue", "job", "--input", '{"n":1}', env=env).code, OK)
        done = run("work", "--exec", "/bin/cat", "--until-empty", "--json", env=env)
        self.assertEqual(done.code, OK, done)


if __name__ == "__main__":
    unittest.main(verbosity=2)
