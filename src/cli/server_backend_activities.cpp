// ServerBackend: activities and events.
#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "base/limits.hpp"
#include "cli/server_backend.hpp"
#include "cli/server_path.hpp"

#include <charconv>

namespace hapax::cli {
namespace {

std::string activity_path(const std::string& id, std::string_view act = {}) {
  if (id.empty()) { throw InvalidArgument("activity", "is empty; expected an activity's id"); }
  return act.empty() ? path({"activities", id}) : path({"activities", id, act});
}

// Removes the place from a message such as "events[3].type: …" and returns it: the index of the event in its batch.
std::optional<std::size_t> place_in(std::string& message) {
  constexpr std::string_view mark = "events[";
  if (!message.starts_with(mark)) { return std::nullopt; }
  std::size_t index = 0;
  const char* const begin = message.data() + mark.size();
  const auto [end, error] = std::from_chars(begin, message.data() + message.size(), index);
  if (error != std::errc{} || *end != ']') { return std::nullopt; }
  const std::size_t rest = static_cast<std::size_t>(end - message.data()) + 1;
  message.erase(0, message[rest] == '.' ? rest + 1 : rest);
  return index;
}

class ServerEvents : public EventDoor {
 public:
  explicit ServerEvents(std::shared_ptr<http::ApiClient> api) : api_(std::move(api)) {}

  // The server has its own rule for events without an ID, and gets the envelopes unchanged.
  [[nodiscard]] schedule::MissingId missing_id() override { return schedule::MissingId::hash; }
  [[nodiscard]] std::size_t batch_most() const override { return limits::events_per_batch; }

  [[nodiscard]] std::vector<std::string> send(std::span<const Outgoing> events) override {
    // A single event is sent as a batch too: a batch's answer reports every run, a single event's answer only the worst
    // one.
    std::vector<std::string> envelopes;
    for (const Outgoing& one : events) { envelopes.push_back(one.envelope); }
    std::string answer;
    try {
      answer = post(json_array(envelopes), "application/cloudevents-batch+json");
    } catch (const http::RemoteProblem& problem) {
      std::string message = problem.what();
      const std::optional<std::size_t> place = place_in(message);
      if (!place || problem.status != 400) { throw; }
      throw BadLine(*place, problem.name(), message);
    }
    const std::vector<std::string_view> items = JsonView(answer).items("events");
    if (items.size() != events.size()) { throw BadAnswer("the server did not tell of each event"); }
    return {items.begin(), items.end()};
  }

  void flush() override {}

 private:
  // The request is repeatable: an event that is sent again starts no second run.
  [[nodiscard]] std::string post(std::string body, std::string_view type) {
    return api_->ask({.method = "POST",
                      .target = path({"events"}),
                      .body = std::move(body),
                      .content_type = type,
                      .repeatable = true});
  }

  const std::shared_ptr<http::ApiClient> api_;
};

}  // namespace

std::string ServerBackend::overview() { return api_->get(path({"overview"})); }

KnownNames ServerBackend::known_names() {
  KnownNames known;
  const std::string tasks = api_->get(path({"tasks"}));
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
  return known;
}

std::vector<std::string> ServerBackend::activities(int limit, const std::optional<std::string>& after) {
  QueryText query;
  query.add("limit", std::to_string(limit));
  if (after) { query.add("cursor", *after); }
  const std::string answer = api_->get(path({"activities"}) + query.text());
  const std::vector<std::string_view> items = JsonView(answer).items("activities");
  return {items.begin(), items.end()};
}

std::string ServerBackend::activity(const std::string& id, bool versions) {
  return api_->get(activity_path(id) + (versions ? "?versions=true" : ""));
}

std::optional<std::string> ServerBackend::find_activity(const std::string& id) {
  try {
    return activity(id, false);
  } catch (const http::RemoteProblem& problem) {
    if (problem.name() == "NotFound") { return std::nullopt; }
    throw;
  }
}

void ServerBackend::check_activity(const std::string& id) {
  (void)api_->get(activity_path(id, "runs") + QueryText().add("limit", "1").text());
}

std::string ServerBackend::apply_activity(const schedule::Activity& activity) {
  return api_->put(activity_path(activity.id), schedule::encode_activity(activity));
}

void ServerBackend::remove_activity(const std::string& id) { (void)api_->remove(activity_path(id)); }

std::string ServerBackend::pause_activity(const std::string& id, const std::string& note) {
  return api_->post(activity_path(id, "pause"), JsonObject().text("note", note).str(), true);
}

std::string ServerBackend::resume_activity(const std::string& id) {
  return api_->post(activity_path(id, "resume"), "{}", true);
}

std::string ServerBackend::trigger_activity(const std::string& id, const schedule::Activities::Manual& manual) {
  JsonObject body;
  if (manual.key) { body.text("key", *manual.key); }
  if (manual.event) { body.raw("event", schedule::encode_event(*manual.event)); }
  return api_->post(activity_path(id, "trigger"), body.str(), manual.key.has_value());
}

std::string ServerBackend::backfill_activity(const std::string& id, const BackfillRange& range,
                                             const BackfillProgress&) {
  schedule::Activities::Backfill all;
  std::string from = range.from;
  std::string first;
  // A server runs a bounded number of ticks per call; `next_from` is the tick to continue from.
  while (true) {
    JsonObject body;
    body.text("from", from).text("to", range.to);
    // The request is repeatable: ticks that ran do not run again.
    const std::string answer = api_->post(activity_path(id, "backfill"), body.str(), true);
    const JsonView report(answer);
    if (first.empty()) { first = report.text("from"); }
    all.ticks += report.integer("ticks");
    all.started += report.integer("started");
    all.existing += report.integer("existing");
    all.refused += report.integer("refused");
    if (const std::string trouble = report.text("trouble"); !trouble.empty()) { all.trouble = trouble; }
    const std::string next = report.text("next_from");
    if (next.empty() || next == from) {
      JsonObject object;
      object.text("from", first).text("to", report.text("to"));
      object.number("ticks", all.ticks).number("started", all.started).number("existing", all.existing);
      return object.number("refused", all.refused).text_or_null("trouble", all.trouble).str();
    }
    from = next;
  }
}

std::unique_ptr<EventDoor> ServerBackend::events() { return std::make_unique<ServerEvents>(api_); }

}  // namespace hapax::cli
