// StoreBackend: activities and events.
#include "api/activity_json.hpp"
#include "api/instant.hpp"
#include "api/overview_json.hpp"
#include "app/find.hpp"
#include "cli/store_backend.hpp"
#include "schedule/event_router.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

class StoreEvents : public EventDoor {
 public:
  StoreEvents(engine::Engine& engine, const std::string& namespace_name) : router_(engine, namespace_name) {}

  [[nodiscard]] schedule::MissingId missing_id() override { return router_.missing_id(); }
  // Large, because the router writes one part of a batch while it builds the next.
  [[nodiscard]] std::size_t batch_most() const override { return 10'000; }

  [[nodiscard]] std::vector<std::string> send(std::span<const Outgoing> events) override {
    std::vector<schedule::Event> batch;
    for (const Outgoing& one : events) { batch.push_back(one.event); }
    const std::vector<schedule::Routed> routed = router_.route(batch);
    std::vector<std::string> documents;
    for (std::size_t i = 0; i < routed.size(); ++i) { documents.push_back(event_json(batch[i], routed[i], 0)); }
    return documents;
  }

  void flush() override { router_.flush(); }

 private:
  schedule::EventRouter router_;
};

}  // namespace

std::string StoreBackend::overview() { return overview_json(take_overview(store(), namespace_name_)); }

KnownNames StoreBackend::known_names() {
  KnownNames known;
  known.tasks = app::known_tasks(store(), namespace_name_);
  for (const model::QueueInfo& queue : store().queues(namespace_name_)) { known.queues.push_back(queue.queue.name); }
  return known;
}

std::vector<std::string> StoreBackend::activities(int limit, const std::optional<std::string>& after) {
  model::ActivityQuery query;
  query.limit = limit;
  query.after = after;
  std::vector<std::string> documents;
  for (const model::ActivityState& state : activities_.list(query)) { documents.push_back(activity_json(state).str()); }
  return documents;
}

std::string StoreBackend::activity(const std::string& id, bool with_versions) {
  const model::ActivityState state = app::find_activity(activities_, id);
  std::vector<model::ActivityVersion> versions;
  if (with_versions) { versions = activities_.versions(id); }
  return shown_activity_json(state, store().now(), with_versions ? &versions : nullptr);
}

std::optional<std::string> StoreBackend::find_activity(const std::string& id) {
  const std::optional<model::ActivityState> state = activities_.find(id);
  return state ? std::optional(activity_json(*state).str()) : std::nullopt;
}

void StoreBackend::check_activity(const std::string& id) {
  if (activities_.versions(id).empty()) { (void)app::find_activity(activities_, id); }
}

std::string StoreBackend::apply_activity(const schedule::Activity& activity) {
  const schedule::Activities::Applied applied = activities_.apply(activity, command_line_actor());
  return activity_json(applied.state)
      .text("result", applied.created   ? "created"
                      : applied.changed ? "changed"
                                        : "unchanged")
      .str();
}

void StoreBackend::remove_activity(const std::string& id) {
  (void)app::find_activity(activities_, id);
  activities_.remove(id, command_line_actor());
}

std::string StoreBackend::pause_activity(const std::string& id, const std::string& note) {
  (void)app::find_activity(activities_, id);
  return activity_json(activities_.pause(id, note, command_line_actor())).str();
}

std::string StoreBackend::resume_activity(const std::string& id) {
  (void)app::find_activity(activities_, id);
  return activity_json(activities_.resume(id, command_line_actor())).str();
}

std::string StoreBackend::trigger_activity(const std::string& id, const schedule::Activities::Manual& manual) {
  (void)app::find_activity(activities_, id);
  const schedule::Activities::Started started = activities_.trigger(id, manual, command_line_actor());
  if (started.admission.verdict == model::AdmissionVerdict::queue_draining) {
    throw QueueDraining("the queue of activity '" + id + "' is draining and takes nothing new");
  }
  return started_json(started, std::nullopt);
}

std::string StoreBackend::backfill_activity(const std::string& id, const BackfillRange& asked,
                                            const BackfillProgress& progress) {
  const std::optional<schedule::Activity> activity = readable(app::find_activity(activities_, id));
  InstantRules rules{.zone = {}, .now = store().now()};
  if (activity && activity->cron() != nullptr) { rules.zone = activity->cron()->timetable.zone(); }
  schedule::TickRange range{.from = parse_instant(asked.from, rules, "from"), .to = {}};
  rules.edge = DayEdge::end;
  range.to = parse_instant(asked.to, rules, "to");
  const auto told = [&progress](const schedule::Activities::Backfill& so_far, std::int64_t left) {
    progress(so_far, left);
    return true;
  };
  return backfill_json(activities_.backfill(id, range, command_line_actor(), told), range);
}

std::unique_ptr<EventDoor> StoreBackend::events() { return std::make_unique<StoreEvents>(engine_, namespace_name_); }

}  // namespace hapax::cli
