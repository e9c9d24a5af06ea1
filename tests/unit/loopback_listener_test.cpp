#include "telemetry/loopback_listener.hpp"

#include <hapax/error.hpp>
#include <hapax/prometheus.hpp>

#include "base/stream.hpp"

#include <gmock/gmock.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace hapax::telemetry {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string answer_to(const std::string& head) {
  return LoopbackListener::answer(head, [] { return std::string("hapax_up 1\n"); });
}

TEST(LoopbackListener, AnswersGetMetricsAlone) {
  EXPECT_THAT(answer_to("GET /metrics HTTP/1.1\r\nHost: localhost:9464\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer_to("GET /metrics HTTP/1.1\r\nHost: localhost:9464\r\n"), HasSubstr("\r\n\r\nhapax_up 1\n"));
  EXPECT_THAT(answer_to("GET /metrics?x=1 HTTP/1.1\r\nhost: [::1]:1\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer_to("HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n"), testing::EndsWith("\r\n\r\n"));
  EXPECT_THAT(answer_to("GET /metrics HTTP/1.0\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer_to("POST /metrics HTTP/1.1\r\nHost: localhost\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\nHost: localhost\r\n"), StartsWith("HTTP/1.1 404 "));
  for (const std::string bad : {"", "GET\r\n", "GET /metrics\r\n", "GET /metrics HTTP/1.1\r\n",
                                "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n", "\r\n\r\n"}) {
    EXPECT_THAT(answer_to(bad), StartsWith("HTTP/1.1 400 ")) << bad;
  }
}

// A page of another site can make a browser ask, under that site's name.
TEST(LoopbackListener, AnswersToLoopbackNamesAlone) {
  for (const std::string host :
       {"evil.example", "127.evil.example", "localhost.evil.example:9464", "10.0.0.1", "[::2]"}) {
    EXPECT_THAT(answer_to("GET /metrics HTTP/1.1\r\nHost: " + host + "\r\n"), StartsWith("HTTP/1.1 403 ")) << host;
  }
}

TEST(LoopbackListener, ListensOnTheLoopbackAlone) {
  for (const std::string address : {"0.0.0.0:0", "192.168.1.1:9464", "[::]:0", "example.org:80", "127.0.0.1",
                                    "127.0.0.1:x", "127.0.0.1:70000", ":9464", "", "[::1:0"}) {
    EXPECT_THROW(LoopbackListener(address, [] { return std::string(); }), InvalidArgument) << address;
  }
}

// Sends the bytes and reads until the listener closes the connection.
std::string asked(const std::string& address, const std::string& bytes) {
  base::Stream stream({.host = "127.0.0.1", .port = address.substr(address.find(':') + 1), .shown = address}, nullptr,
                      std::chrono::seconds(10));
  std::string all;
  std::array<char, 4096> chunk{};
  try {
    stream.write(bytes, std::chrono::seconds(10));
    while (const std::size_t got = stream.read(chunk.data(), chunk.size(), std::chrono::seconds(30))) {
      all.append(chunk.data(), got);
    }
  } catch (const base::StreamBroken&) {}  // it closes a connection that sends too much
  return all;
}

TEST(LoopbackListener, ServesThePrometheusText) {
  const PrometheusMetrics metrics({.listen = "127.0.0.1:0"});
  const std::string answer = asked(metrics.address(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(answer, HasSubstr("# TYPE hapax_admissions_total counter\n"));
}

TEST(LoopbackListener, RefusesAHeadWithoutEnd) {
  const PrometheusMetrics metrics({.listen = "127.0.0.1:0"});
  const std::string answer =
      asked(metrics.address(), "GET /metrics HTTP/1.1\r\nX: " + std::string(listener_head_bytes + 10, 'x'));
  EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 431 ")) << answer.substr(0, 100);
  // Others are served afterwards.
  EXPECT_THAT(asked(metrics.address(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST(LoopbackListener, EndsWithItsObjectWhileConnectionsAreOpen) {
  std::optional<PrometheusMetrics> metrics(std::in_place, PrometheusOptions{.listen = "127.0.0.1:0"});
  const std::string address = metrics->address();
  const base::Stream open({.host = "127.0.0.1", .port = address.substr(address.find(':') + 1), .shown = address},
                          nullptr, std::chrono::seconds(10));
  metrics.reset();
  EXPECT_THROW(base::Stream({.host = "127.0.0.1", .port = address.substr(address.find(':') + 1), .shown = address},
                            nullptr, std::chrono::seconds(10)),
               base::StreamBroken);
}

}  // namespace
}  // namespace hapax::telemetry
