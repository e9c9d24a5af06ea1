#include "http/probes.hpp"

#include "base/json_text.hpp"

#include <memory>

namespace hapax::http {

namespace {

Response ready(Call& call, const Readiness& readiness) {
  // A server that is stopping is not ready, whatever its store reports.
  const bool stopping = call.draining();
  const auto done = std::make_shared<Signal>();
  if (!readiness.ask(done)) { (void)call.wait_on(*done, Readiness::patience); }
  const std::vector<Readiness::Verdict> verdicts = readiness.verdicts();
  bool well = !stopping;
  std::string checks;
  for (const Readiness::Verdict& verdict : verdicts) {
    well = well && (verdict.trouble.empty() || !verdict.counts);
    checks += checks.empty() ? "" : ",";
    base::append_json_quoted(checks, verdict.name);
    checks += ':';
    base::append_json_quoted(checks, verdict.trouble.empty() ? "ok" : verdict.trouble);
  }
  Response response{.status = well ? 200 : 503};
  response.body = std::string(R"({"status":")") +
                  (well       ? "ready"
                   : stopping ? "stopping"
                              : "not ready") +
                  R"(","checks":{)" + checks + "}}";
  if (!well) { response.headers.emplace_back("Retry-After", "1"); }
  return response;
}

}  // namespace

void add_probes(Router& router, const Readiness& readiness, const Metrics& metrics) {
  router.add({.method = "GET", .pattern = "/healthz", .handler = [](Call&) {
                return Response{.body = R"({"status":"up"})"};
              }});
  router.add(
      {.method = "GET", .pattern = "/readyz", .handler = [&readiness](Call& call) { return ready(call, readiness); }});
  router.add({.method = "GET", .pattern = "/metrics", .scope = Scope::read, .handler = [&metrics](Call& call) {
                Response response{.content_type = "text/plain; version=0.0.4; charset=utf-8"};
                response.body = call.blocking([&] { return metrics.text(call.principal()); });
                return response;
              }});
}

}  // namespace hapax::http
