#include "cli/backend.hpp"

#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/api_path.hpp"
#include "cli/problem.hpp"
#include "http/client.hpp"
#include "http/problem_json.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace hapax::cli {
namespace {

using Steady = std::chrono::steady_clock;

// The poll is shorter than the time after which proxies close a silent connection.
constexpr Duration one_poll = std::chrono::seconds(25);
constexpr Duration outage_pause = std::chrono::milliseconds(200);

std::string ids_json(std::span<const Uuid> ids) {
  std::vector<std::string> texts;
  for (const Uuid& id : ids) { texts.push_back(id.to_string()); }
  return json_text_array(texts);
}

std::string path_of(const RequestFields& fields, std::string_view rest) {
  const bool workflow = fields.kind == model::Kind::workflow;
  model::check_name(fields.task, workflow ? "workflow" : "task");
  return path({workflow ? "workflows" : "tasks", fields.task, rest});
}

// Whether the same request, sent again, returns the execution that the first one made.
bool is_repeatable(const RequestFields& fields) {
  const EnqueueOptions& options = fields.options;
  return options.task_id &&
         (options.on_conflict == OnConflict::return_existing || options.on_conflict == OnConflict::wait);
}

// On the command line the field idempotency_key of the API is called task_id.
[[noreturn]] void rename_and_throw(const http::RemoteProblem& problem) {
  constexpr std::string_view api_name = "idempotency_key: ";
  const std::string message = problem.what();
  if (!message.starts_with(api_name)) { throw http::RemoteProblem(problem); }
  const std::string renamed = "task_id: " + message.substr(api_name.size());
  throw http::RemoteProblem(
      problem.name(), renamed, problem.status,
      problem_json({problem.name(), renamed, problem.status, JsonObject().text("field", "task_id").tail()}));
}

}  // namespace

std::string path(std::initializer_list<std::string_view> parts) {
  std::string made = "/v1";
  for (const std::string_view part : parts) { made += "/" + http::percent_encoded(part); }
  return made;
}

QueryText& QueryText::add(std::string_view name, std::string_view value) {
  text_ += (text_.empty() ? "?" : "&") + std::string(name) + "=" + http::percent_encoded(value);
  return *this;
}

std::string Backend::get(std::string target, Duration waits) {
  return transport_->ask({.method = "GET", .target = std::move(target), .repeatable = true, .waits = waits});
}

std::string Backend::post(std::string target, std::string body, bool repeatable) {
  return transport_->ask(
      {.method = "POST", .target = std::move(target), .body = std::move(body), .repeatable = repeatable});
}

std::string Backend::put(std::string target, std::string body) {
  return transport_->ask({.method = "PUT", .target = std::move(target), .body = std::move(body), .repeatable = true});
}

Uuid Backend::find(const ExecutionName& name) {
  QueryText query;
  if (name.run) {
    query.add("run", *name.run);
  } else if (name.task) {
    query.add("task", name.task->first).add("task_id", name.task->second);
  } else {
    query.add("workflow", name.workflow->first).add("workflow_id", name.workflow->second);
  }
  if (name.queue) { query.add("queue", *name.queue); }
  const std::optional<Uuid> id = JsonView(get(path({"executions", "find"}) + query.text())).uuid("id");
  if (!id) { throw BadAnswer("the answer has no id"); }
  return *id;
}

void Backend::check(const Uuid& id) { (void)get(path({"executions", id.to_string(), "attempts"})); }

std::string Backend::show(const Uuid& id) { return get(path({"executions", id.to_string()})); }

std::vector<std::string> Backend::list(const Listing& listing) {
  const model::ListQuery& asked = listing.query;
  QueryText query;
  std::string statuses;
  for (const Status status : asked.statuses) {
    statuses += (statuses.empty() ? "" : ",") + std::string(to_string(status));
  }
  if (!statuses.empty()) { query.add("status", statuses); }
  if (asked.queue) { query.add("queue", *asked.queue); }
  if (asked.task) { query.add("task", *asked.task); }
  if (asked.tag) { query.add("tag", *asked.tag); }
  for (const model::MetadataMatch& match : asked.metadata) { query.add("metadata", match.key + "=" + match.value); }
  if (asked.parent) { query.add("parent", asked.parent->to_string()); }
  if (listing.activity) { query.add("activity", *listing.activity); }
  if (asked.dead_only) { query.add("dead", "true"); }
  if (asked.payloads) { query.add("payloads", "true"); }
  std::optional<Uuid> after = asked.after;
  std::vector<std::string> documents;
  const int page = asked.payloads ? transport_->page_with_payloads() : limits::list_page;
  while (std::ssize(documents) < asked.limit) {
    QueryText paged = query;
    const std::int64_t wanted = std::min<std::int64_t>(page, asked.limit - std::ssize(documents));
    paged.add("limit", std::to_string(wanted));
    if (after) { paged.add("after", after->to_string()); }
    const std::string answer = get(path({"executions"}) + paged.text());
    const std::vector<std::string_view> items = JsonView(answer).items("executions");
    documents.insert(documents.end(), items.begin(), items.end());
    if (items.empty() || (std::ssize(items) < wanted && !asked.payloads)) { break; }
    after = JsonView(documents.back()).uuid("id");
  }
  return documents;
}

std::string Backend::admit(const RequestFields& fields) {
  if (fields.options.task_id) { model::check_key(*fields.options.task_id); }
  RequestFields sent = fields;
  // Under `wait` the command itself then polls for the outcome, without a limit.
  if (sent.options.on_conflict == OnConflict::wait) { sent.options.wait_timeout = Duration::zero(); }
  try {
    return post(path_of(sent, "executions"), request_json(sent), is_repeatable(sent));
  } catch (const http::RemoteProblem& problem) { rename_and_throw(problem); }
}

std::string Backend::identity(const RequestFields& fields) {
  if (fields.options.task_id) { model::check_key(*fields.options.task_id); }
  try {
    return post(path_of(fields, "identity"), request_json(fields), true);
  } catch (const http::RemoteProblem& problem) { rename_and_throw(problem); }
}

std::string Backend::await(const Uuid& id, std::optional<Duration> at_most) {
  const Steady::time_point begun = Steady::now();
  while (true) {
    const auto passed = std::chrono::duration_cast<Duration>(Steady::now() - begun);
    const Duration left = at_most ? std::max(*at_most - passed, Duration::zero()) : one_poll;
    const Duration wait = std::chrono::ceil<std::chrono::milliseconds>(std::min(left, one_poll));
    const std::string query = QueryText().add("wait", format_duration(wait)).text();
    std::string outcome;
    try {
      outcome = get(path({"executions", id.to_string(), "result"}) + query, wait);
    } catch (const http::ServerUnavailable&) { throw; } catch (const StoreUnavailable&) {
      // A wait on a store goes on while the store cannot be reached.
      if (at_most && left <= wait) { throw; }
      std::this_thread::sleep_for(std::min(wait, outage_pause));
      continue;
    }
    const std::optional<Status> status = parse_status(JsonView(outcome).text("status"));
    if (!status) { throw BadAnswer("the answer has no status that this build knows"); }
    if (is_terminal(*status) || (at_most && left <= wait)) { return outcome; }
  }
}

std::string Backend::explain(const Uuid& id) { return get(path({"executions", id.to_string(), "explain"})); }

std::string Backend::cancel(std::span<const Uuid> ids, const std::string& reason) {
  app::Operations::check_reason(reason);
  JsonObject body;
  body.raw("ids", ids_json(ids)).text("reason", reason);
  return post(path({"executions", "cancel"}), body.str(), true);
}

std::string Backend::retry(std::span<const Uuid> ids, const Retrying& how) {
  JsonObject body;
  body.boolean("new_effect_key", how.options.new_effect_key);
  if (!how.named || ids.size() != 1) {
    // The request is not repeatable: a second request would answer already_retried.
    return post(path({"executions", "retry"}), body.raw("ids", ids_json(ids)).str(), false);
  }
  const std::string answer = post(path({"executions", ids.front().to_string(), "retry"}), body.str(), false);
  const JsonView made(answer);
  JsonObject item;
  item.text("id", ids.front().to_string()).text("verdict", "created").text("new_id", made.text("id"));
  item.number("run", made.integer("run"));
  JsonObject object;
  object.number("retried", std::int64_t{1}).number("refused", std::int64_t{0});
  return object.raw("executions", json_array({item.str()})).str();
}

std::int64_t Backend::discard(std::span<const Uuid> ids) {
  const std::string body = JsonObject().raw("ids", ids_json(ids)).str();
  return JsonView(post(path({"dead-letters", "discard"}), body, false)).integer("discarded");
}

std::int64_t Backend::annotate(std::span<const Uuid> ids, const std::string& note) {
  const std::string body = JsonObject().raw("ids", ids_json(ids)).text("note", note).str();
  return JsonView(post(path({"dead-letters", "annotate"}), body, true)).integer("annotated");
}

std::string Backend::signal(const model::Signal& signal) {
  model::check_name(signal.name, "signal");
  std::string target = path({"executions", signal.execution.to_string(), "signals", signal.name});
  if (signal.once) { target += QueryText().add("once", *signal.once).text(); }
  return post(std::move(target), signal.data, signal.once.has_value());
}

std::string Backend::export_journal(const Uuid& id) {
  return get(path({"executions", id.to_string(), "journal"}) + QueryText().add("format", "export").text());
}

std::string Backend::fork(const Uuid& id, int steps, const std::string& workflow_id) {
  JsonObject body;
  body.number("steps", std::int64_t{steps}).text("workflow_id", workflow_id);
  return post(path({"executions", id.to_string(), "fork"}), body.str(), true);
}

}  // namespace hapax::cli
