#include "http/head.hpp"

#include "http/http_error.hpp"
#include "http/limits.hpp"

#include <gmock/gmock.h>

namespace hapax::http {
namespace {

using testing::ElementsAre;
using testing::Pair;

int status_of(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const HttpError& error) { return error.status(); }
  return 0;
}

std::string head(const std::string& first, const std::string& headers = "") {
  return first + "\r\nHost: localhost\r\n" + headers + "\r\n";
}

void parse(Request& request, std::string text) {
  request.head = std::move(text);
  parse_head(request);
}

int refusal(const std::string& text) {
  return status_of([&] {
    Request request;
    parse(request, text);
    (void)framing_of(request);
  });
}

TEST(HeadScanner, FindsTheEndWhateverThePieces) {
  const std::string text = head("GET / HTTP/1.1", "X: y\r\n");
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    HeadScanner scanner;
    std::optional<std::size_t> found;
    for (std::size_t seen = piece; !found; seen += piece) {
      found = scanner.scan(std::string_view(text + "next").substr(0, std::min(seen, text.size() + 4)));
    }
    EXPECT_EQ(*found, text.size());
  }
}

TEST(HeadScanner, RefusesAsSoonAsItIsCertain) {
  const auto scan = [](std::string_view bytes) {
    return status_of([&] {
      HeadScanner scanner;
      (void)scanner.scan(bytes);
    });
  };
  EXPECT_EQ(scan("\x16\x03\x01"), 400);
  EXPECT_EQ(scan("GET / HTTP/1.1\n"), 400);
  EXPECT_EQ(scan("EHLO example.org\r\n"), 400);
  EXPECT_EQ(scan("GET /" + std::string(limits::http_target_bytes + 100, 'x')), 414);
  EXPECT_EQ(scan("GET / HTTP/1.1\r\nX: " + std::string(limits::http_header_bytes, 'x')), 431);
  std::string many = "GET / HTTP/1.1\r\n";
  for (std::size_t i = 0; i < limits::http_headers; ++i) { many += "X: y\r\n"; }
  EXPECT_EQ(scan(many), 0);
  EXPECT_EQ(scan(many + "X: y\r\n"), 431);
  EXPECT_EQ(scan("GET / HTTP/1.1\r\nHos"), 0);
}

TEST(ParseHead, TakesItApart) {
  Request request;
  parse(request,
        head("PUT /v1/tasks/a%2Fb%20c?x=1+2&y&x=%C3%A9 HTTP/1.1", "X-Key:  v w \r\nx-key: other\r\nEmpty:\r\n"));
  EXPECT_EQ(request.method, "PUT");
  EXPECT_EQ(request.path, "/v1/tasks/a%2Fb%20c");
  EXPECT_THAT(request.segments, ElementsAre("v1", "tasks", "a/b c"));
  EXPECT_THAT(request.query, ElementsAre(Pair("x", "1 2"), Pair("y", ""), Pair("x", "\xc3\xa9")));
  EXPECT_EQ(request.header("x-key"), "v w");
  EXPECT_THAT(request.header_values("x-key"), ElementsAre("v w", "other"));
  EXPECT_EQ(request.header("empty"), "");
  EXPECT_EQ(request.header("absent"), std::nullopt);
  EXPECT_EQ(request.parameter("y"), "");
  EXPECT_THROW((void)request.parameter("x"), InvalidArgument);
  parse(request, "GET http://Example.org:80?q=1 HTTP/1.0\r\n\r\n");
  EXPECT_EQ(request.path, "/");
  EXPECT_TRUE(request.segments.empty());
  EXPECT_EQ(host_of(request), "example.org");
  EXPECT_EQ(request.version_minor, 0);
}

TEST(ParseHead, RefusesWhatReadersMightTakeDifferently) {
  for (const char* first :
       {"GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET\t/ HTTP/1.1", "GET /", "/ HTTP/1.1", "GET x HTTP/1.1",
        "G@T / HTTP/1.1", "GET * HTTP/1.1", "GET /\x7f HTTP/1.1", "GET /\xc3\xa9 HTTP/1.1", "GET /#x HTTP/1.1",
        "GET /a\rb HTTP/1.1", "GET / HTTP/1.11", "GET / http/1.1", "GET /% HTTP/1.1", "GET /%a HTTP/1.1",
        "GET /%ag HTTP/1.1", "GET /?% HTTP/1.1"}) {
    EXPECT_EQ(refusal(head(first)), 400) << first;
  }
  EXPECT_EQ(refusal(head("GET / HTTP/2.0")), 505);
  for (const char* header : {"X : y\r\n", "X\t: y\r\n", " X: y\r\n", "X: y\r\n z\r\n", ": y\r\n", "X\r\n",
                             "X: a\rb\r\n", "X: a\x01\r\n", "X@: y\r\n", "Host: other\r\n"}) {
    EXPECT_EQ(refusal(head("GET / HTTP/1.1", header)), 400) << header;
  }
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(refusal(head("GET / HTTP/1.1", "X: caf\xc3\xa9\r\n")), 0);
}

TEST(ParseHead, AHigherMinorVersionIsTakenAsHttp11) {
  for (const char* first : {"GET / HTTP/1.2", "GET / HTTP/1.9"}) { EXPECT_EQ(refusal(head(first)), 0) << first; }
  EXPECT_EQ(refusal(head("GET / HTTP/1.x")), 505);
  EXPECT_EQ(refusal("GET / HTTP/1.2\r\n\r\n"), 400) << "HTTP/1.1 needs a Host header";
}

TEST(ParseHead, AHostThatIsNoneIsRefused) {
  const auto with_host = [](const std::string& host) {
    return refusal("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  };
  for (const char* host :
       {"a b", "a/b", "a@b", "a:b", "a:1:2", "[::1", "[]", "[::1]x", "[g::]", "a%zz", "\"a\"", "caf\xc3\xa9"}) {
    EXPECT_EQ(with_host(host), 400) << host;
  }
  for (const char* host :
       {"", "a", "a:", "a:80", "a.example:7171", "[::1]", "[::1]:80", "127.0.0.1:1", "a_b-c~", "a%20b"}) {
    EXPECT_EQ(with_host(host), 0) << host;
  }
}

TEST(Framing, ByLengthOrChunksAndNeverBoth) {
  const auto framing = [](const std::string& headers) {
    Request request;
    parse(request, head("POST / HTTP/1.1", headers));
    return framing_of(request);
  };
  EXPECT_EQ(framing("").kind, Framing::Kind::none);
  EXPECT_EQ(framing("Content-Length: 0\r\n").kind, Framing::Kind::none);
  EXPECT_EQ(framing("Content-Length: 0012\r\n").length, 12U);
  EXPECT_EQ(framing("transfer-encoding: ChunKed\r\n").kind, Framing::Kind::chunked);
  EXPECT_GT(framing("Content-Length: 99999999999999999999999999\r\n").length, std::uint64_t{1} << 50);
  for (const char* headers :
       {"Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: 1\r\nContent-Length: 1\r\n",
        "Content-Length: 1,1\r\n", "Content-Length: -1\r\n", "Content-Length: 1 2\r\n", "Content-Length: \r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}) {
    EXPECT_EQ(refusal(head("POST / HTTP/1.1", headers)), 400) << headers;
  }
  EXPECT_EQ(refusal(head("POST / HTTP/1.0", "Transfer-Encoding: chunked\r\n")), 400);
  for (const char* encoding : {"gzip", "gzip, chunked", "chunked, gzip", "identity", ""}) {
    EXPECT_EQ(refusal(head("POST / HTTP/1.1", "Transfer-Encoding: " + std::string(encoding) + "\r\n")), 501)
        << encoding;
  }
}

TEST(Hosts, WithoutTheirPortInLowerCase) {
  const auto host = [](const std::string& value) {
    Request request;
    parse(request, "GET / HTTP/1.1\r\nHost: " + value + "\r\n\r\n");
    return host_of(request);
  };
  EXPECT_EQ(host("LocalHost:7171"), "localhost");
  EXPECT_EQ(host("[::1]:7171"), "[::1]");
  EXPECT_EQ(host("[::1]"), "[::1]");
  EXPECT_EQ(host(""), "");
}

}  // namespace
}  // namespace hapax::http
