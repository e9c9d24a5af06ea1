#include "api/overview_json.hpp"

#include "api/execution_json.hpp"
#include "api/execution_read.hpp"
#include "base/json_out.hpp"
#include "base/json_view.hpp"

#include <algorithm>

namespace hapax::api {
namespace {

constexpr int failures_shown = 20;

std::string session_json(const model::SessionInfo& session) {
  std::vector<std::string> queues;
  for (const model::QueueRef& queue : session.queues) { queues.push_back(queue.name); }
  return base::JsonObject()
      .text("id", session.id.to_string())
      .text("worker", session.worker)
      .text("host", session.host)
      .number("pid", session.pid)
      .text_or_null("build", session.build)
      .raw("queues", base::json_text_array(queues))
      .raw("tasks", base::json_text_array(session.tasks))
      .number("running", std::int64_t{session.running})
      .time("started_at", session.started_at)
      .time("expires_at", session.expires_at)
      .str();
}

std::string failure_json(const model::Execution& execution) {
  return base::JsonObject()
      .text("id", execution.id.to_string())
      .text("task", execution.task)
      .text("queue", execution.queue.name)
      .text("status", to_string(execution.status))
      .number("attempt", std::int64_t{execution.attempt})
      .time("finished_at", execution.finished_at)
      .raw("error", error_json(execution.error))
      .str();
}

model::SessionInfo read_session(std::string_view document, const std::string& namespace_name) {
  const base::JsonView view(document);
  model::SessionInfo session;
  session.id = view.uuid("id").value_or(Uuid{});
  session.worker = view.text("worker");
  session.host = view.text("host");
  session.pid = view.integer("pid");
  session.build = view.text("build");
  for (const std::string& name : view.texts("queues")) {
    session.queues.push_back({.namespace_name = namespace_name, .name = name});
  }
  session.tasks = view.texts("tasks");
  session.running = view.small("running");
  session.started_at = view.time("started_at").value_or(Time{});
  session.expires_at = view.time("expires_at").value_or(Time{});
  return session;
}

}  // namespace

Overview take_overview(store::Store& store, const std::string& namespace_name) {
  Overview overview{.at = store.now(),
                    .namespace_name = namespace_name,
                    .queues = store.queues(namespace_name),
                    .sessions = {},
                    .failures = {}};
  std::ranges::sort(overview.queues, {}, [](const model::QueueInfo& q) { return q.queue.name; });
  for (model::SessionInfo& session : store.sessions()) {
    std::erase_if(session.queues,
                  [&namespace_name](const model::QueueRef& queue) { return queue.namespace_name != namespace_name; });
    if (!session.queues.empty() && session.expires_at > overview.at) {
      overview.sessions.push_back(std::move(session));
    }
  }
  std::ranges::sort(overview.sessions, {}, &model::SessionInfo::worker);
  model::ListQuery query;
  query.namespace_name = namespace_name;
  query.statuses = {Status::failed, Status::timed_out};
  query.payloads = false;
  query.limit = failures_shown;
  overview.failures = store.list(query);
  return overview;
}

std::string overview_json(const Overview& overview) {
  std::vector<std::string> queues;
  std::vector<std::string> sessions;
  std::vector<std::string> failures;
  for (const model::QueueInfo& queue : overview.queues) { queues.push_back(queue_json(queue)); }
  for (const model::SessionInfo& session : overview.sessions) { sessions.push_back(session_json(session)); }
  for (const model::Execution& failure : overview.failures) { failures.push_back(failure_json(failure)); }
  return base::JsonObject()
      .time("at", overview.at)
      .text("namespace", overview.namespace_name)
      .raw("queues", base::json_array(queues))
      .raw("sessions", base::json_array(sessions))
      .raw("failures", base::json_array(failures))
      .str();
}

Overview read_overview(std::string_view document) {
  const base::JsonView view(document);
  Overview overview{.at = view.time("at").value_or(Time{}),
                    .namespace_name = view.text("namespace"),
                    .queues = {},
                    .sessions = {},
                    .failures = {}};
  for (const std::string_view item : view.items("queues")) { overview.queues.push_back(read_queue(item)); }
  for (const std::string_view item : view.items("sessions")) {
    overview.sessions.push_back(read_session(item, overview.namespace_name));
  }
  for (const std::string_view item : view.items("failures")) { overview.failures.push_back(read_execution(item)); }
  return overview;
}

}  // namespace hapax::api
