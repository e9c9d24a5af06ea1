// POST /v1/events: CloudEvents 1.0, structured, binary and in batches.
#include "schedule/event.hpp"

#include "api/activity_json.hpp"
#include "api/routes/answers.hpp"
#include "api/routes/api.hpp"
#include "base/json_out.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <exception>

namespace hapax::api {

namespace {

constexpr std::size_t most_bytes = 16 << 20;

// Without parameters and in lower case: "application/cloudevents+json".
std::string media_type(const http::Request& request) {
  std::string type(request.header("content-type").value_or(""));
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') { type.pop_back(); }
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return type;
}

bool is_binary(const http::Request& request) {
  return std::any_of(request.headers.begin(), request.headers.end(),
                     [](const http::Header& header) { return header.name.starts_with("ce-"); });
}

schedule::HttpMessage message_of(const http::Request& request, std::string_view body) {
  schedule::HttpMessage message{.headers = {}, .body = body};
  for (const http::Header& header : request.headers) {
    if (header.name.starts_with("ce-") || header.name == "content-type") {
      message.headers.emplace_back(header.name, header.value);
    }
  }
  return message;
}

struct Received {
  std::vector<schedule::Event> events;
  bool is_batch = false;
};

Received receive(const http::Request& request, const std::string& body, schedule::MissingId missing_id) {
  const std::string type = media_type(request);
  if (type == "application/cloudevents-batch+json") {
    return {.events = schedule::parse_event_batch(body, missing_id), .is_batch = true};
  }
  if (type == "application/cloudevents+json") { return {.events = {schedule::parse_event(body, missing_id)}}; }
  if (is_binary(request)) { return {.events = {schedule::parse_binary_event(message_of(request, body), missing_id)}}; }
  if (type != "application/json") {
    throw http::UnsupportedMediaType("Content-Type " + base::quoted(type) +
                                     " with no ce- headers; expected application/cloudevents+json, "
                                     "application/cloudevents-batch+json, or ce- headers beside the data");
  }
  // Plain JSON clients send one envelope, or an array of them.
  const std::size_t first = body.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && body[first] == '[') {
    return {.events = schedule::parse_event_batch(body, missing_id), .is_batch = true};
  }
  return {.events = {schedule::parse_event(body, missing_id)}};
}

http::Problem problem_of_refusal(const std::exception_ptr& refusal) {
  try {
    std::rethrow_exception(refusal);
  } catch (const std::exception& error) { return http::problem_of(error); }
}

// Whether the run may start if the event is sent again.
bool may_start_later(const http::Problem& problem) { return problem.name == "QueueDraining"; }

struct RefusedRun {
  std::string activity;
  http::Problem problem;
};

// A refusal that a retry may cure ranks as worse than a final one, because the sender must send the event again.
std::optional<RefusedRun> worst_run(const schedule::Routed& routed) {
  std::optional<RefusedRun> worst;
  for (const schedule::Routed::Run& run : routed.runs) {
    if (!run.refusal) { continue; }
    RefusedRun refused{.activity = run.activity, .problem = problem_of_refusal(run.refusal)};
    if (may_start_later(refused.problem)) { return refused; }
    if (!worst) { worst = std::move(refused); }
  }
  return worst;
}

// An acknowledged event has started all of its runs, so the event's answer is that of its worst run. Sending the event
// again is safe: runs that have started are found by their identity.
std::optional<http::Problem> refusal_of(const schedule::Routed& routed, const http::Principal& principal) {
  std::optional<RefusedRun> worst = worst_run(routed);
  if (!worst) { return std::nullopt; }
  http::Problem problem = std::move(worst->problem);
  const bool later = may_start_later(problem);
  if (principal.read) {
    problem.message = "activity '" + worst->activity + "': " + problem.message;
  } else {
    problem.facts.clear();
    problem.message = later ? "the queue of something that it starts is draining and takes nothing new"
                            : "something that it starts was refused";
  }
  if (later) { problem.message += "; send the event again later"; }
  return problem;
}

// A caller without the read scope learns that the event was accepted, but not which runs it started.
std::string event_answer(const schedule::Event& event, const schedule::Routed& routed,
                         const http::Principal& principal) {
  std::string json;
  if (principal.read) {
    json = api::event_json(event, routed, 0);
  } else {
    base::JsonObject object;
    json = object.text("id", event.id).text("source", event.source).text("type", event.type).str();
  }
  if (const auto refusal = refusal_of(routed, principal)) {
    base::JsonObject more;
    more.text("error", refusal->name)
        .number("status", std::int64_t{refusal->http_status})
        .text("detail", refusal->message);
    json.pop_back();
    json += more.tail() + "}";
  }
  return json;
}

http::Response post(Api& api, http::Call& call) {
  const std::shared_ptr<Tenant> tenant = api.tenant(call.principal().namespace_name);
  const std::string& body = call.body();
  const schedule::MissingId missing_id = call.blocking([&] { return tenant->router().missing_id(); });
  const Received received = receive(call.request(), body, missing_id);
  const schedule::EventRouter::Sender sender{
      .actor = actor_of(call.principal()), .traceparent = call.traceparent(), .tracestate = call.tracestate()};
  const std::vector<schedule::Routed> routed =
      call.blocking([&] { return tenant->router().route(received.events, sender); });
  if (!received.is_batch) {
    if (auto refusal = refusal_of(routed.front(), call.principal())) {
      if (call.principal().read) {
        refusal->facts += ",\"event\":" + api::event_json(received.events.front(), routed.front(), 0);
      }
      return problem_answer_of(*refusal);
    }
    return json_answer(event_answer(received.events.front(), routed.front(), call.principal()));
  }
  std::vector<std::string> items;
  for (std::size_t i = 0; i < routed.size(); ++i) {
    items.push_back(event_answer(received.events[i], routed[i], call.principal()));
  }
  return json_answer(base::JsonObject().raw("events", base::json_array(items)).str());
}

}  // namespace

void add_event_routes(http::Router& router, const std::shared_ptr<Api>& api) {
  router.add({.method = "POST",
              .pattern = "/v1/events",
              .scope = http::Scope::enqueue,
              .body = http::BodyRule::any,
              .handler = [api](http::Call& call) { return post(*api, call); },
              .body_limit = most_bytes});
}

}  // namespace hapax::api
