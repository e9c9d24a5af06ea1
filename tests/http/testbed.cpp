// http_testbed [OPTION VALUE]...: the server with routes for tests of the transport: they echo, wait, stream, block and
// throw. Prints its address, serves until SIGTERM, then drains.
//
// --header-time --idle-time --stall-time --grace D; --connections N; --tls-cert F --tls-key F; --tokens yes (all are refused)
#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include "http/health.hpp"
#include "http/log_writer.hpp"
#include "http/probes.hpp"
#include "http/server.hpp"

#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <future>
#include <string>
#include <thread>

namespace {

using namespace hapax;
using namespace hapax::http;

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// Returns the parsed request, for tests to compare.
Response echo(Call& call) {
  const std::string& body = call.body();
  std::string headers;
  for (const Header& header : call.request().headers) {
    headers += (headers.empty() ? "" : ",") + quoted(std::string(header.name) + "=" + std::string(header.value));
  }
  return {.body = R"({"method":)" + quoted(call.request().method) + R"(,"bytes":)" + std::to_string(body.size()) +
                  R"(,"namespace":)" + quoted(call.principal().namespace_name) + R"(,"traceparent":)" +
                  quoted(call.traceparent()) + R"(,"body":)" + (body.empty() ? "null" : body) + R"(,"headers":[)" +
                  headers + "]}"};
}

// Answers each line with a line, as soon as it arrives.
Response lines(Call& call) {
  call.begin_stream({.content_type = "application/x-ndjson"});
  std::string line;
  std::size_t count = 0;
  while (true) {
    const LineRead read = call.next_line(line);
    if (read == LineRead::none_left) { break; }
    ++count;
    const std::string told = read == LineRead::too_long ? "\"too long\"" : std::to_string(line.size());
    if (!call.write("{\"bytes\":" + told + "}\n")) { return {}; }
  }
  (void)call.write("{\"lines\":" + std::to_string(count) + "}\n");
  return {};
}

Response wait(Call& call) {
  const Duration at_most = parse_duration(call.request().parameter("for").value_or("10s"), "for");
  Signal signal;
  switch (call.wait_on(signal, at_most)) {
    case Woke::time_over: return {.body = R"({"woke":"time_over"})"};
    case Woke::draining: return {.body = R"({"woke":"draining"})"};
    case Woke::client_gone: return {.body = R"({"woke":"client_gone"})"};
    case Woke::raised: return {.body = R"({"woke":"raised"})"};
  }
  return {};
}

// Another thread raises the signal while the call waits, 100 times.
Response signalled(Call& call) {
  const auto signal = std::make_shared<Signal>();
  int raised = 0;
  for (int i = 0; i < 100; ++i) {
    std::thread([signal] { signal->raise(); }).detach();
    if (call.wait_on(*signal, std::chrono::seconds(10)) == Woke::raised) { ++raised; }
  }
  return {.body = R"({"raised":)" + std::to_string(raised) + "}"};
}

Response events(Call& call) {
  call.begin_stream({.content_type = "text/event-stream", .body = ": hello\n\n"});
  for (int i = 0; call.pause(std::chrono::milliseconds(100)) == Woke::time_over; ++i) {
    if (!call.write("data: " + std::to_string(i) + "\n\n")) { break; }
  }
  (void)call.write("event: bye\ndata: {}\n\n");
  return {};
}

Response large(Call& call) {
  const std::string parameter = call.request().parameter("bytes").value_or("1000");
  std::size_t bytes = 0;
  const auto [end, error] = std::from_chars(parameter.data(), parameter.data() + parameter.size(), bytes);
  if (error != std::errc() || end != parameter.data() + parameter.size() || bytes > 100'000'000) {
    throw InvalidArgument("bytes", "expected a number up to 100000000");
  }
  return {.content_type = "text/plain", .body = std::string(bytes, 'x')};
}

Response blocking(Call& call) {
  const Duration time = parse_duration(call.request().parameter("for").value_or("100ms"), "for");
  const int answer = call.blocking([&] {
    std::this_thread::sleep_for(time);
    return 42;
  });
  return {.body = std::to_string(answer)};
}

Response asynchronous(Call& call) {
  const auto answer =
      call.await<std::string>([](auto done) { std::thread([done] { done("\"later\"", nullptr); }).detach(); });
  return {.body = answer};
}

// Two calls at once are suspended inside their catch blocks; each must rethrow its own exception.
Response caught(Call& call) {
  const std::string& name = call.parameter("name");
  try {
    throw InvalidArgument(name, "thrown");
  } catch (const InvalidArgument&) {
    (void)call.pause(std::chrono::milliseconds(50));
    try {
      throw;
    } catch (const InvalidArgument& again) { return {.body = R"({"field":)" + quoted(again.field()) + "}"}; }
  }
}

Response thrown(Call& call) {
  const std::string& what = call.parameter("what");
  if (what == "defect") { throw std::runtime_error("canary-7261 is not for clients"); }
  if (what == "number") { throw 42; }
  if (what == "stale") { throw StaleLease("the lease is over"); }
  if (what == "busy") {
    call.blocking([]() -> int { throw StoreBusy("the store is busy"); });
  }
  if (what == "stream") {
    call.begin_stream({.content_type = "text/plain", .body = "begun"});
    throw StoreBusy("the store is busy");
  }
  throw NotFound("no such thing");
}

struct Refusing : Authenticator {
  [[nodiscard]] std::optional<Principal> recall(const Request&) override { return std::nullopt; }
  [[nodiscard]] Principal authenticate(const Request&) override { throw Unauthorized("a token is needed"); }
  [[nodiscard]] bool has_tokens() const override { return true; }
};

void add_routes(Router& router) {
  const auto add = [&](std::string method, std::string pattern, BodyRule body, Handler handler) {
    router.add({.method = std::move(method),
                .pattern = std::move(pattern),
                .scope = Scope::enqueue,
                .body = body,
                .handler = std::move(handler)});
  };
  add("POST", "/echo", BodyRule::json, echo);
  add("GET", "/echo", BodyRule::none, echo);
  add("PUT", "/echo/{name}", BodyRule::json, echo);
  add("POST", "/any", BodyRule::any, echo);
  add("POST", "/unread", BodyRule::json, [](Call&) { return Response{.body = "{}"}; });
  add("POST", "/act", BodyRule::none, [](Call&) { return Response{.status = 204}; });
  add("POST", "/lines", BodyRule::ndjson, lines);
  add("GET", "/wait", BodyRule::none, wait);
  add("GET", "/signalled", BodyRule::none, signalled);
  add("GET", "/events", BodyRule::none, events);
  add("GET", "/large", BodyRule::none, large);
  add("GET", "/blocking", BodyRule::none, blocking);
  add("GET", "/async", BodyRule::none, asynchronous);
  add("GET", "/caught/{name}", BodyRule::none, caught);
  add("GET", "/throw/{what}", BodyRule::none, thrown);
  add("GET", "/static/{file}", BodyRule::none, [](Call& call) {
    if (call.parameter("file") != "index.html") { throw NotFound("no such file"); }
    return Response{.content_type = "text/html", .body = "<p>index</p>"};
  });
  add("GET", "/inject", BodyRule::none, [](Call& call) {
    Response response{.body = "{}"};
    response.headers.emplace_back("X-Echo", call.request().parameter("value").value_or(""));
    return response;
  });
}

}  // namespace

int main(int argc, char** argv) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  LogWriter log(STDERR_FILENO);
  ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.log = [&log](std::string_view line) { log.add(line); };
  Duration grace = std::chrono::seconds(5);
  bool tokens = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const std::string value = argv[i + 1];
    if (name == "--header-time") { options.header_time = parse_duration(value); }
    if (name == "--idle-time") { options.idle_time = parse_duration(value); }
    if (name == "--stall-time") { options.stall_time = parse_duration(value); }
    if (name == "--grace") { grace = parse_duration(value); }
    if (name == "--connections") { options.connections = std::stoul(value); }
    if (name == "--threads") { options.threads = std::stoi(value); }
    if (name == "--tls-cert") { options.tls_certificate = value; }
    if (name == "--tls-key") { options.tls_key = value; }
    if (name == "--tokens") { tokens = true; }
    if (name == "--log" && value == "off") { options.log = nullptr; }
  }
  Metrics metrics;
  Readiness readiness;
  readiness.add("always", [] { return std::string(); });
  Router router;
  add_probes(router, readiness, metrics);
  add_routes(router);
  std::shared_ptr<Authenticator> authenticator = std::make_shared<AnonymousAuthenticator>();
  if (tokens) { authenticator = std::make_shared<Refusing>(); }
  Server server(options, std::move(router), authenticator, metrics);
  server.start();
  std::printf("listening on http://%s\n", server.addresses().front().c_str());
  std::fflush(stdout);
  int signal = 0;
  while (sigwait(&stop, &signal) == 0 && signal != SIGTERM) {
    try {
      server.reload_tls();
    } catch (const Error& error) { std::fprintf(stderr, "%s\n", error.what()); }
  }
  return server.stop(grace) ? 0 : 1;
}
