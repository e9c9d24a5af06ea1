"""The dashboard's own routes: the document with its base and its policy, the files, and what is refused."""

import gzip
import re
import unittest

from _server import BIN, Server

POLICY = "default-src 'self'; base-uri 'self'; frame-ancestors 'none'; form-action 'self'; object-src 'none'"


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(BIN, "serve", "--store", "sqlite:dashboard.db", "--listen", "127.0.0.1:0", "--log", "off")
        cls.addClassCleanup(cls.server.stop)

    def get(self, path, *headers):
        return self.server.get(path, *headers)

    def test_every_page_is_the_document_with_a_base_that_leads_to_the_root(self):
        for path, base in (("/", "./"), ("/executions", "./"), ("/executions/0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f", "../"),
                           ("/queues", "./"), ("/queues/a%2Fb", "../"), ("/queues/%3Cscript%3E", "../"), ("/dead-letters", "./"),
                           ("/schedules", "./"), ("/schedules/daily", "../"), ("/workers", "./"), ("/guards", "./"),
                           ("/audit?actor=x", "./"), ("/settings", "./")):
            with self.subTest(path):
                answer = self.get(path)
                self.assertEqual(answer.status, 200)
                self.assertEqual(answer.header("content-type"), "text/html; charset=utf-8")
                self.assertEqual(answer.header("content-security-policy"), POLICY)
                self.assertEqual(answer.header("x-content-type-options"), "nosniff")
                self.assertEqual(answer.header("referrer-policy"), "no-referrer")
                self.assertEqual(answer.header("cache-control"), "no-cache")
                self.assertIn(f'<base href="{base}"'.encode(), answer.body)
                self.assertNotIn(b"<script>", answer.body)

    def test_a_page_that_has_not_changed_is_304(self):
        etag = self.get("/queues").header("etag")
        again = self.get("/queues", "If-None-Match: " + etag)
        self.assertEqual((again.status, again.body), (304, b""))
        self.assertEqual(self.get("/queues/q", "If-None-Match: " + etag).status, 200, "another base is another document")
        self.assertEqual(self.get("/queues", 'If-None-Match: "other"').status, 200)

    def test_files_are_the_same_with_and_without_compression_and_kept_for_good(self):
        document = self.get("/").body.decode()
        files = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', document)
        self.assertTrue(len(files) >= 2 or "was not built" in document, document)
        for path in files:
            with self.subTest(path):
                plain = self.get("/" + path)
                packed = self.get("/" + path, "Accept-Encoding: br, gzip")
                self.assertEqual((plain.status, packed.status), (200, 200))
                self.assertIsNone(plain.header("content-encoding"))
                self.assertEqual(packed.header("content-encoding"), "gzip")
                self.assertEqual(gzip.decompress(packed.body), plain.body)
                self.assertEqual(packed.header("vary"), "Accept-Encoding")
                self.assertIn("immutable", packed.header("cache-control"))
                self.assertEqual(packed.header("content-security-policy"), POLICY)
                self.assertEqual(self.get("/" + path, "If-None-Match: " + plain.header("etag")).status, 304)

    def test_head_tells_the_same_without_the_body(self):
        with self.server.connect() as client:
            client.send("HEAD /queues HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = client.answer(head_only=True)
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.header("content-length"), str(len(self.get("/queues").body)))

    def test_other_methods_and_other_paths(self):
        for path in ("/", "/queues", "/executions/x"):
            answer = self.server.ask("POST", path)
            self.assertEqual((answer.status, answer.header("allow")), (405, "GET, HEAD, OPTIONS"), path)
        for path in ("/assets/nothing.js", "/assets/..%2findex.html", "/assets/", "/executions/..%2f..%2fetc%2fpasswd", "/queues/a/..%2f..",
                     "/index.html", "/favicon.ico", "/nothing"):
            self.assertEqual(self.get(path).status, 404, path)


if __name__ == "__main__":
    unittest.main()
