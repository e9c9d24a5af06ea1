#include <hapax/error.hpp>
#include <hapax/otlp.hpp>

#include <nlohmann/json.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace hapax {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

// A collector that answers each request with a status; 0: closes the connection instead.
class FakeCollector {
 public:
  explicit FakeCollector(int status = 200) : status_(status) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof place;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&place), bytes), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&place), &bytes), 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(place.sin_port)) + "/otel";
    thread_ = std::thread([this] { loop(); });
  }
  ~FakeCollector() { stop(); }
  // After this nobody listens at the URL.
  void stop() {
    if (socket_ < 0) { return; }
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(std::exchange(socket_, -1));
  }
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  [[nodiscard]] std::vector<nlohmann::json> spans() {
    std::vector<nlohmann::json> all;
    for (const auto& [head, body] : requests()) {
      if (!head.starts_with("POST /otel/v1/traces ")) { continue; }
      const nlohmann::json document = nlohmann::json::parse(body);
      for (const auto& span : document["resourceSpans"][0]["scopeSpans"][0]["spans"]) { all.push_back(span); }
    }
    return all;
  }

 private:
  void loop() {
    while (true) {
      const int peer = ::accept(socket_, nullptr, nullptr);
      if (peer < 0) { return; }
      std::string text;
      std::array<char, 8192> chunk{};
      std::size_t wanted = std::string::npos;
      while (text.size() < wanted) {
        const ssize_t got = ::recv(peer, chunk.data(), chunk.size(), 0);
        if (got <= 0) { break; }
        text.append(chunk.data(), static_cast<std::size_t>(got));
        const std::size_t end = text.find("\r\n\r\n");
        const std::size_t length = text.find("Content-Length: ");
        if (end != std::string::npos) { wanted = end + 4 + std::stoul(text.substr(length + 16)); }
      }
      const std::size_t end = text.find("\r\n\r\n");
      {
        const std::lock_guard lock(mutex_);
        if (end != std::string::npos) { requests_.emplace_back(text.substr(0, end + 2), text.substr(end + 4)); }
      }
      if (status_ != 0) {
        const std::string answer = "HTTP/1.1 " + std::to_string(status_) + " X\r\nContent-Length: 2\r\n\r\n{}";
        (void)::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
      }
      ::close(peer);
    }
  }

  const int status_;
  int socket_ = -1;
  std::string url_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::string>> requests_;  // head and body; guarded by mutex_
  std::thread thread_;
};

// Sends nothing before close().
OtlpOptions quiet(const std::string& url) {
  OtlpOptions options{.url = url, .service_name = "orders"};
  options.interval = 1h;
  options.metrics_interval = 1h;
  return options;
}

TEST(OtlpExporter, SendsWhatWaitsWhenItIsClosed) {
  FakeCollector collector;
  OtlpOptions options = quiet(collector.url());
  options.headers = {{"Authorization", "Bearer secret"}};
  options.resource = {{"deployment.environment.name", "test"}};
  OtlpExporter exporter(options);
  for (int i = 0; i < 1200; ++i) {
    exporter.on_attempt_ended(
        {.task = {.id = *Uuid::parse("01890a5d-ac96-774b-bcce-b302099a8057"), .task = "pay"}, .fence = i});
  }
  exporter.on_log(LogLevel::error, "told", {{"component", "worker"}});
  exporter.close();
  EXPECT_EQ(exporter.counts().sent, 1201U);
  EXPECT_EQ(exporter.counts().dropped, 0U);
  EXPECT_EQ(collector.spans().size(), 1200U);
  std::map<std::string, std::string> last;
  for (const auto& [head, body] : collector.requests()) {
    EXPECT_THAT(head, HasSubstr("\r\nAuthorization: Bearer secret\r\n"));
    EXPECT_THAT(head, HasSubstr("\r\nContent-Type: application/json\r\n"));
    EXPECT_THAT(body, HasSubstr(R"({"key":"service.name","value":{"stringValue":"orders"}})"));
    EXPECT_THAT(body, HasSubstr("deployment.environment.name"));
    last[head.substr(0, head.find(" HTTP"))] = body;
  }
  EXPECT_THAT(last["POST /otel/v1/metrics"], HasSubstr("hapax_attempts_total"));
  EXPECT_THAT(last["POST /otel/v1/logs"], HasSubstr("\"told\""));
  exporter.on_log(LogLevel::error, "late", {});
  EXPECT_EQ(exporter.counts().dropped, 1U);
}

TEST(OtlpExporter, DropsAndCountsWhatDoesNotFit) {
  FakeCollector collector;
  const std::string url = collector.url();
  collector.stop();
  OtlpOptions options = quiet(url);
  options.queue = 10;
  options.headers = {{"Authorization", "Bearer secret"}};
  OtlpExporter exporter(options);
  for (int i = 0; i < 25; ++i) { exporter.on_attempt_ended({.fence = i}); }
  exporter.close();
  const OtlpCounts counts = exporter.counts();
  EXPECT_EQ(counts.sent, 0U);
  EXPECT_EQ(counts.dropped, 25U);
  EXPECT_GE(counts.failures, 1U);
  EXPECT_THAT(counts.last_error, HasSubstr("127.0.0.1"));
  EXPECT_THAT(counts.last_error, Not(HasSubstr("secret")));
}

TEST(OtlpExporter, SendsAtOnceWhenHalfOfTheQueueIsUsed) {
  for (const std::size_t queue : {std::size_t{3}, std::size_t{4}}) {
    FakeCollector collector;
    OtlpOptions options = quiet(collector.url());
    options.queue = queue;
    OtlpExporter exporter(options);
    for (int i = 0; i < 2; ++i) { exporter.on_attempt_ended({.fence = i}); }
    for (int tries = 0; tries < 1000 && exporter.counts().sent < 2; ++tries) { std::this_thread::sleep_for(10ms); }
    EXPECT_EQ(exporter.counts().sent, 2U) << queue;
  }
}

TEST(OtlpExporter, DropsWhatTheCollectorRefuses) {
  FakeCollector collector(400);
  OtlpExporter exporter(quiet(collector.url()));
  exporter.on_attempt_ended({});
  exporter.close();
  EXPECT_EQ(exporter.counts().dropped, 1U);
  EXPECT_THAT(exporter.counts().last_error, HasSubstr("answered 400"));
}

TEST(OtlpExporter, LeavesOutSignalsThatAreSwitchedOff) {
  FakeCollector collector;
  OtlpOptions options = quiet(collector.url());
  options.traces = false;
  options.logs = false;
  options.metrics = false;
  OtlpExporter exporter(options);
  exporter.on_attempt_ended({});
  exporter.on_log(LogLevel::error, "told", {});
  TraceContext trace;
  exporter.trace_request(Uuid{}, trace);
  EXPECT_EQ(trace.traceparent, "");
  exporter.close();
  EXPECT_TRUE(collector.requests().empty());
}

TEST(OtlpExporter, ACollectorThatClosesConnectionsLosesSpansAtTheEndAlone) {
  FakeCollector collector(0);
  OtlpExporter exporter(quiet(collector.url()));
  exporter.on_attempt_ended({});
  exporter.close();
  EXPECT_EQ(exporter.counts().dropped, 1U);
}

TEST(OtlpExporter, RefusesOptionsThatCannotBeUsedWithoutShowingSecrets) {
  const auto refused = [](OtlpOptions options) -> std::string {
    try {
      const OtlpExporter exporter(options);
    } catch (const Error& error) { return error.name() + " " + error.what(); }
    return "";
  };
  for (const std::string url : {"", "127.0.0.1:4318", "ftp://a", "http://", "http://user:secret@host",
                                "http://a?key=secret", "http://a:b", "http://[::1", "http://a b", "http://a:"}) {
    EXPECT_THAT(refused({.url = url}), ::testing::StartsWith("ConfigurationError ")) << url;
    EXPECT_THAT(refused({.url = url}), Not(HasSubstr("secret"))) << url;
  }
  EXPECT_THAT(refused({.headers = {{"X", "secret\r\nY: 1"}}}), ::testing::StartsWith("ConfigurationError "));
  EXPECT_THAT(refused({.headers = {{"X", "secret\r\nY: 1"}}}), Not(HasSubstr("secret")));
  EXPECT_THAT(refused({.headers = {{"bad name", "v"}}}), ::testing::StartsWith("ConfigurationError "));
  EXPECT_THAT(refused({.queue = 0}), ::testing::StartsWith("InvalidArgument queue"));
  EXPECT_THAT(refused({.timeout = 0s}), ::testing::StartsWith("InvalidArgument timeout"));
}

}  // namespace
}  // namespace hapax
