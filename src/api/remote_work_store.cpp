#include "api/remote_work_store.hpp"

#include "api/execution_read.hpp"
#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "base/limits.hpp"

#include <algorithm>
#include <chrono>

namespace hapax::api {
namespace {

using namespace store;
using base::JsonObject;
using base::JsonView;

// The most claims one request may ask for (POST /v1/claims).
constexpr int claims_most = 100;
// The most bytes of outcomes in one request; the server takes 16 MiB including the rest of the body.
constexpr std::size_t finish_bytes = 15 << 20;
// How long an idle worker's claim waits at the server. Short, because a worker that stops waits for the answer.
constexpr Duration idle_poll = std::chrono::seconds(1);

// Runs `ask`. A refusal other than 400 and 413 is the server's trouble and becomes StoreUnavailable, after which the
// worker tries again.
template <class Ask>
auto bided(Ask ask) {
  try {
    return ask();
  } catch (const http::RemoteProblem& problem) {
    if (problem.status == 400 || problem.status == 413) { throw; }
    throw StoreUnavailable(problem.name() + ": " + problem.what());
  } catch (const base::BadAnswer& answer) { throw StoreUnavailable(answer.what()); }
}

std::string held_json(const Held& held) {
  return JsonObject().text("id", held.id.to_string()).number("fence", held.fence).str();
}

std::string error_json(const ErrorInfo& error) {
  return JsonObject().text("type", error.type).text("message", error.message).text("detail", error.detail).str();
}

// Writes only the outcome of the attempt: the server decides by the execution's own policy whether and when to retry.
std::string outcome_json(const Finish& finish) {
  JsonObject object;
  object.text("id", finish.id.to_string()).number("fence", finish.fence);
  switch (finish.kind) {
    case FinishKind::completed: return object.text("status", "completed").raw("result", finish.result).str();
    case FinishKind::snoozed: return object.text("status", "snoozed").duration("retry_after", finish.delay).str();
    case FinishKind::released: return object.text("status", "released").str();
    case FinishKind::cancelled: object.text("status", "cancelled"); break;
    default: object.text("status", "failed").boolean("permanent", finish.kind == FinishKind::failed); break;
  }
  if (finish.error) { object.raw("error", error_json(*finish.error)); }
  return object.str();
}

Claim read_claim(std::string_view document, Time now) {
  const JsonView view(document);
  Claim claim;
  claim.id = view.uuid("id").value_or(Uuid{});
  claim.queue = {.namespace_name = view.text("namespace"), .name = view.text("queue")};
  claim.task = view.text("task");
  claim.input = view.raw("input");
  claim.attempt = view.small("attempt", 1);
  claim.max_attempts = view.small("max_attempts", 1);
  claim.lost = view.small("lost");
  claim.max_lost = view.small("max_lost", claim.max_lost);
  claim.fence = view.integer("fence");
  claim.run = view.small("run", 1);
  claim.created_at = view.time("created_at").value_or(now);
  claim.claimed_at = now;
  claim.deadline = view.time("deadline");
  claim.deadline_in = view.duration("deadline_in");
  claim.attempt_timeout = view.duration("timeout");
  claim.effect_key = view.text("effect_key");
  claim.labels.tags = view.texts("tags");
  if (view.has("metadata")) { claim.labels.metadata = view.raw("metadata"); }
  claim.labels.traceparent = view.text("traceparent");
  claim.labels.tracestate = view.text("tracestate");
  return claim;
}

std::vector<Uuid> read_ids(const JsonView& view, std::string_view name) {
  std::vector<Uuid> ids;
  for (const std::string& text : view.texts(name)) {
    if (const std::optional<Uuid> id = Uuid::parse(text)) { ids.push_back(*id); }
  }
  return ids;
}

}  // namespace

StoreInfo RemoteWorkStore::info() {
  return {.backend = "server", .version = {}, .location = api_->url(), .schema_version = 0, .capabilities = {}};
}

std::string RemoteWorkStore::server_session(const Uuid& session) {
  const std::lock_guard lock(mutex_);
  if (session != session_ || server_session_.empty()) {
    throw StaleLease("session " + session.to_string() + " is not there");
  }
  return server_session_;
}

void RemoteWorkStore::open_session(const NewSession& session) {
  std::vector<std::string> names;
  for (const QueueRef& queue : session.queues) { names.push_back(queue.name); }
  JsonObject body;
  body.raw("queues", base::json_text_array(names)).raw("tasks", base::json_text_array(session.tasks));
  body.duration("lease", session.lease).text("worker", session.worker);
  const std::string answer = api_->post("/v1/claims/open", body.str(), true);
  const std::lock_guard lock(mutex_);
  session_ = session.id;
  server_session_ = JsonView(answer).text("session");
  lease_ = session.lease;
  worker_ = session.worker;
}

std::vector<FinishVerdict> RemoteWorkStore::finish_all(std::span<const Finish> finishes) {
  // The server keeps deadlines: it ends an execution that passed its deadline as timed_out, whatever the worker
  // reports.
  std::vector<FinishVerdict> verdicts(finishes.size(), FinishVerdict::accepted);
  std::vector<std::string> items;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    if (finishes[i].kind == FinishKind::timed_out) { continue; }
    items.push_back(outcome_json(finishes[i]));
    places.push_back(i);
  }
  // Splits the outcomes into requests of at most finish_bytes, which is room for a few of the largest results.
  std::size_t next = 0;
  while (next < items.size()) {
    std::vector<std::string> some;
    std::size_t bytes = 0;
    while (next + some.size() < items.size() &&
           (some.empty() || bytes + items[next + some.size()].size() <= finish_bytes)) {
      some.push_back(std::move(items[next + some.size()]));
      bytes += some.back().size() + 1;
    }
    for (const FinishVerdict verdict : finish_some(some)) { verdicts[places[next++]] = verdict; }
  }
  return verdicts;
}

std::vector<FinishVerdict> RemoteWorkStore::finish_some(const std::vector<std::string>& items) {
  const std::string body = JsonObject().raw("outcomes", base::json_array(items)).str();
  std::string answer;
  try {
    // The request is repeatable because outcomes are fenced: a repeated outcome counts once.
    answer = api_->post("/v1/claims/finish", body, true);
  } catch (const http::RemoteProblem& problem) {
    if (problem.name() != "StaleLease") { throw; }
    answer = problem.document;
  }
  const JsonView view(answer);
  const std::vector<std::string_view> reported = view.items("verdicts");
  if (reported.size() != items.size()) { throw base::BadAnswer("the server's answer lacks the verdict of an outcome"); }
  std::vector<FinishVerdict> verdicts;
  for (const std::string_view one : reported) {
    const bool accepted = JsonView(one).text("verdict") == "accepted";
    verdicts.push_back(accepted ? FinishVerdict::accepted : FinishVerdict::stale);
  }
  return verdicts;
}

ClaimReply RemoteWorkStore::claim_some(const ClaimRequest& request, bool may_wait) {
  JsonObject body;
  body.text("session", server_session(request.session));
  std::vector<std::string> names;
  for (const QueueRef& queue : request.queues) { names.push_back(queue.name); }
  body.raw("queues", base::json_text_array(names)).raw("tasks", base::json_text_array(request.tasks));
  body.number("limit", std::int64_t{std::min(request.limit, claims_most)});
  {
    const std::lock_guard lock(mutex_);
    body.duration("lease", lease_).text("worker", worker_);
  }
  const Duration wait = may_wait ? idle_poll : Duration::zero();
  body.duration("wait", wait);
  // The request is not repeatable: if its answer is lost, the next beat releases the claims that this worker does not
  // hold.
  const std::string answer =
      api_->ask({.method = "POST", .target = "/v1/claims", .body = body.str(), .repeatable = false, .waits = wait});
  const Time now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  ClaimReply reply;
  for (const std::string_view item : JsonView(answer).items("claims")) {
    reply.claims.push_back(read_claim(item, now));
  }
  return reply;
}

Exchange RemoteWorkStore::exchange(std::span<const Finish> finishes, const ClaimRequest* claim) {
  return bided([&] {
    Exchange reply;
    if (!finishes.empty()) { reply.verdicts = finish_all(finishes); }
    // A worker that runs executions must not wait here, because their outcomes would wait too.
    if (claim != nullptr) { reply.claim = claim_some(*claim, claim->alone && finishes.empty()); }
    return reply;
  });
}

BeatReply RemoteWorkStore::beat(const Beat& beat) {
  return bided([&] {
    std::vector<std::string> held;
    for (const Held& each : beat.held) { held.push_back(held_json(each)); }
    std::vector<std::string> progress;
    for (const Progress& each : beat.progress) {
      JsonObject item;
      item.text("id", each.id.to_string()).number("fence", each.fence);
      progress.push_back(item.number("fraction", each.fraction).text("message", each.message).str());
    }
    BeatReply reply;
    JsonObject body;
    try {
      body.text("session", server_session(beat.session));
    } catch (const StaleLease&) {
      reply.session_lost = true;
      return reply;
    }
    if (beat.lease > Duration::zero()) { body.duration("lease", beat.lease); }
    body.raw("held", base::json_array(held)).raw("progress", base::json_array(progress));
    std::string answer;
    try {
      answer = api_->post("/v1/claims/extend", body.str(), true);
    } catch (const http::RemoteProblem& problem) {
      if (problem.name() != "StaleLease") { throw; }
      answer = problem.document;
    }
    const JsonView view(answer);
    // A server that does not know the session does not list lost executions either.
    reply.session_lost = view.flag("session_lost") || !view.has("lost");
    reply.cancel = read_ids(view, "cancel");
    reply.lost = read_ids(view, "lost");
    return reply;
  });
}

std::vector<Uuid> RemoteWorkStore::cancel_requests(const Uuid& session) {
  const std::string body = JsonObject().text("session", server_session(session)).str();
  const std::string answer = bided([&] { return api_->post("/v1/claims/extend", body, true); });
  return read_ids(JsonView(answer), "cancel");
}

void RemoteWorkStore::close_session(const Uuid& session) {
  const std::string body = JsonObject().text("session", server_session(session)).str();
  (void)bided([&] { return api_->post("/v1/claims/close", body, true); });
}

std::vector<QueueInfo> RemoteWorkStore::queues(std::string_view namespace_name) {
  const std::string answer = bided([&] { return api_->get("/v1/queues"); });
  std::vector<QueueInfo> queues;
  for (const std::string_view item : JsonView(answer).items("queues")) {
    queues.push_back(api::read_queue(item));
    // The server answers for the token's namespace, whose name the worker need not know.
    queues.back().queue.namespace_name = namespace_name;
  }
  return queues;
}

}  // namespace hapax::api
