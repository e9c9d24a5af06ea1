#include "wire/json_out.hpp"
#include "cli/render.hpp"
#include "cli/top.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr int failures_shown = 20;

std::string session_json(const model::SessionInfo& session) {
  std::vector<std::string> queues;
  for (const model::QueueRef& queue : session.queues) { queues.push_back(queue.name); }
  return JsonObject()
      .text("id", session.id.to_string())
      .text("worker", session.worker)
      .text("host", session.host)
      .number("pid", session.pid)
      .text_or_null("build", session.build)
      .raw("queues", json_text_array(queues))
      .raw("tasks", json_text_array(session.tasks))
      .number("running", std::int64_t{session.running})
      .time("started_at", session.started_at)
      .time("expires_at", session.expires_at)
      .str();
}

std::string failure_json(const model::Execution& execution) {
  return JsonObject()
      .text("id", execution.id.to_string())
      .text("task", execution.task)
      .text("queue", execution.queue.name)
      .text("status", to_string(execution.status))
      .number("attempt", std::int64_t{execution.attempt})
      .time("finished_at", execution.finished_at)
      .raw("error", error_json(execution.error))
      .str();
}

}  // namespace

TopSnapshot take_snapshot(store::Store& store, const std::string& ns) {
  TopSnapshot snapshot{.at = store.now(), .ns = ns, .location = store.info().location, .queues = store.queues(ns)};
  std::ranges::sort(snapshot.queues, {}, [](const model::QueueInfo& q) { return q.queue.name; });
  for (model::SessionInfo& session : store.sessions()) {
    std::erase_if(session.queues, [&ns](const model::QueueRef& queue) { return queue.ns != ns; });
    if (!session.queues.empty() && session.expires_at > snapshot.at) {
      snapshot.sessions.push_back(std::move(session));
    }
  }
  std::ranges::sort(snapshot.sessions, {}, &model::SessionInfo::worker);
  model::ListQuery query;
  query.ns = ns;
  query.statuses = {Status::failed, Status::timed_out};
  query.payloads = false;
  query.limit = failures_shown;
  snapshot.failures = store.list(query);
  return snapshot;
}

std::string snapshot_json(const TopSnapshot& snapshot) {
  std::vector<std::string> queues;
  std::vector<std::string> sessions;
  std::vector<std::string> failures;
  for (const model::QueueInfo& queue : snapshot.queues) { queues.push_back(queue_json(queue)); }
  for (const model::SessionInfo& session : snapshot.sessions) { sessions.push_back(session_json(session)); }
  for (const model::Execution& failure : snapshot.failures) { failures.push_back(failure_json(failure)); }
  return JsonObject()
      .time("at", snapshot.at)
      .text("namespace", snapshot.ns)
      .raw("queues", json_array(queues))
      .raw("sessions", json_array(sessions))
      .raw("failures", json_array(failures))
      .str();
}

}  // namespace hapax::cli
