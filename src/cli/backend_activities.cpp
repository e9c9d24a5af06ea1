// Backend: activities, and the names that a namespace knows.
#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "cli/api_path.hpp"
#include "cli/backend.hpp"
#include "cli/problem.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

std::string activity_path(const std::string& id, std::string_view act = {}) {
  if (id.empty()) { throw InvalidArgument("activity", "is empty; expected an activity's id"); }
  return act.empty() ? path({"activities", id}) : path({"activities", id, act});
}

}  // namespace

std::string Backend::overview() { return get(path({"overview"})); }

KnownNames Backend::known_names() {
  KnownNames known;
  const std::string tasks = get(path({"tasks"}));
  for (const std::string_view item : JsonView(tasks).items("tasks")) {
    known.tasks.push_back(JsonView(item).text("task"));
  }
  const std::string told = overview();
  const JsonView view(told);
  for (const std::string_view item : view.items("sessions")) {
    for (std::string& task : JsonView(item).texts("tasks")) { known.tasks.push_back(std::move(task)); }
  }
  for (const std::string_view item : view.items("queues")) { known.queues.push_back(JsonView(item).text("queue")); }
  Listing newest;
  newest.query.payloads = false;
  newest.query.limit = limits::list_page;
  for (const std::string& document : list(newest)) { known.tasks.push_back(JsonView(document).text("task")); }
  std::ranges::sort(known.tasks);
  known.tasks.erase(std::unique(known.tasks.begin(), known.tasks.end()), known.tasks.end());
  return known;
}

std::vector<std::string> Backend::activities(int limit, const std::optional<std::string>& after) {
  QueryText query;
  query.add("limit", std::to_string(limit));
  if (after) { query.add("after", *after); }
  const std::string answer = get(path({"activities"}) + query.text());
  const std::vector<std::string_view> items = JsonView(answer).items("activities");
  return {items.begin(), items.end()};
}

std::string Backend::activity(const std::string& id, bool versions) {
  return get(activity_path(id) + (versions ? "?versions=true" : ""));
}

std::optional<std::string> Backend::find_activity(const std::string& id) {
  try {
    return activity(id, false);
  } catch (const Error& error) {
    if (error.name() == "NotFound") { return std::nullopt; }
    throw;
  }
}

void Backend::check_activity(const std::string& id) {
  (void)get(activity_path(id, "runs") + QueryText().add("limit", "1").text());
}

std::string Backend::apply_activity(const schedule::Activity& activity) {
  return put(activity_path(activity.id), schedule::encode_activity(activity));
}

void Backend::remove_activity(const std::string& id) {
  (void)transport_->ask({.method = "DELETE", .target = activity_path(id)});
}

std::string Backend::pause_activity(const std::string& id, const std::string& note) {
  return post(activity_path(id, "pause"), JsonObject().text("note", note).str(), true);
}

std::string Backend::resume_activity(const std::string& id) { return post(activity_path(id, "resume"), "{}", true); }

std::string Backend::trigger_activity(const std::string& id, const schedule::Activities::Manual& manual) {
  JsonObject body;
  if (manual.key) { body.text("key", *manual.key); }
  if (manual.event) { body.raw("event", schedule::encode_event(*manual.event)); }
  return post(activity_path(id, "trigger"), body.str(), manual.key.has_value());
}

std::string Backend::backfill_activity(const std::string& id, const BackfillRange& range,
                                       const BackfillProgress& progress) {
  schedule::Activities::Backfill all;
  BackfillRange left = range;
  std::optional<Time> first;
  // A call of the route runs a bounded number of ticks, and `next_from` says where to continue.
  while (true) {
    JsonObject body;
    body.text("from", left.from).text("to", left.to);
    // Repeatable: ticks that ran do not run again.
    const std::string answer = post(activity_path(id, "backfill"), body.str(), true);
    const JsonView report(answer);
    if (!first) { first = report.time("from"); }
    all.ticks += report.integer("ticks");
    all.started += report.integer("started");
    all.existing += report.integer("existing");
    all.refused += report.integer("refused");
    if (const std::string trouble = report.text("trouble"); !trouble.empty()) { all.trouble = trouble; }
    const std::optional<Time> next = report.time("next_from");
    const std::optional<Time> to = report.time("to");
    if (!next || !to || report.text("next_from") == left.from) {
      JsonObject object;
      object.time("from", first).time("to", to);
      object.number("ticks", all.ticks).number("started", all.started).number("existing", all.existing);
      return object.number("refused", all.refused).text_or_null("trouble", all.trouble).str();
    }
    const auto whole = static_cast<double>((*to - *first).count());
    progress(all, whole > 0 ? static_cast<double>((*next - *first).count()) / whole : 0);
    left = {.from = report.text("next_from"), .to = report.text("to")};
  }
}

}  // namespace hapax::cli
