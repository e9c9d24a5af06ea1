#include "schedule/event_router.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "base/limits.hpp"
#include "base/uuid7.hpp"
#include "model/refusal.hpp"
#include "schedule/tick.hpp"

#include <algorithm>
#include <utility>

namespace hapax::schedule {

namespace {

constexpr std::chrono::seconds fresh_for{1};
constexpr std::chrono::seconds counted_every{1};
constexpr std::size_t batch_bytes = 32 << 20;  // of inputs in one transaction

}  // namespace

// Collects the executions of events, and admits them a transaction at a time. The executions of one run are never parted.
class EventRouter::Batch {
 public:
  Batch(EventRouter& router, std::vector<Routed>& answers) : router_(router), answers_(answers) {}

  void add(std::size_t event, const Activity& activity, RunRequests run) {
    if (requests_.size() + run.requests.size() > static_cast<std::size_t>(limits::bulk_batch) || bytes_ > batch_bytes) {
      admit();
    }
    std::vector<Routed::Run>& runs = answers_[event].runs;
    targets_.push_back({.event = event, .run = runs.size(), .request = requests_.size()});
    runs.push_back(
        {.activity = activity.id, .run_id = std::move(run.run_id), .execution = {}, .created = false, .error = {}});
    for (model::NewExecution& request : run.requests) {
      bytes_ += request.input.size();
      requests_.push_back(std::move(request));
    }
  }

  void refuse(std::size_t event, const Activity& activity, const std::string& trouble) {
    answers_[event].runs.push_back(
        {.activity = activity.id, .run_id = {}, .execution = {}, .created = false, .error = trouble});
    Counted& counted = counted_[activity.id];
    ++counted.counts.refused;
    counted.trouble = trouble;
  }

  void drop(std::size_t event, const Activity& activity) {
    answers_[event].paused.push_back(activity.id);
    ++counted_[activity.id].counts.missed;
  }

  void admit() {
    if (requests_.empty()) { return; }
    base::fault_point("router.admit.before");
    const std::vector<model::Admission> admissions = router_.engine_.admit_bulk(requests_);
    base::fault_point("router.admit.after");
    for (const Place& place : targets_) { settle(place, admissions[place.request]); }
    requests_.clear();
    targets_.clear();
    bytes_ = 0;
  }

  [[nodiscard]] const std::map<std::string, Counted>& counted() const { return counted_; }

 private:
  // Where a run's answer goes, and which of the requests is its target.
  struct Place {
    std::size_t event = 0;
    std::size_t run = 0;
    std::size_t request = 0;
  };

  void settle(const Place& place, const model::Admission& admission) {
    Routed::Run& run = answers_[place.event].runs[place.run];
    const model::ActivityTally tally =
        model::tally(requests_[place.request].parent.value_or(Uuid{}), {&requests_[place.request], 1}, {&admission, 1});
    run.execution = admission.id;
    run.created = admission.created();
    run.error = tally.trouble;
    Counted& counted = counted_[run.activity];
    counted.counts += tally.counts;
    if (!tally.trouble.empty()) { counted.trouble = tally.trouble; }
  }

  EventRouter& router_;
  std::vector<Routed>& answers_;
  std::vector<model::NewExecution> requests_;
  std::vector<Place> targets_;
  std::size_t bytes_ = 0;
  std::map<std::string, Counted> counted_;
};

EventRouter::EventRouter(engine::Engine& engine, std::string ns)
    : engine_(engine), ns_(std::move(ns)), catalogue_(engine.store(), ns_) {}

EventRouter::~EventRouter() {
  try {
    flush();
  } catch (const std::exception&) {
    // The counts are lost; the runs are not.
  }
}

std::shared_ptr<const EventRouter::Subscribed> EventRouter::subscribed() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (subscribed_ && now - looked_at_ < fresh_for) { return subscribed_; }
  // Read before the activities: what changes meanwhile is seen by the next look.
  const std::int64_t generation = engine_.store().activity_generation(ns_);
  if (!subscribed_ || generation != generation_) {
    subscribed_ = read();
    generation_ = generation;
  }
  looked_at_ = now;
  return subscribed_;
}

std::shared_ptr<const EventRouter::Subscribed> EventRouter::read() {
  auto all = std::make_shared<Subscribed>();
  model::ActivityQuery query;
  query.ns = ns_;
  query.kind = model::ActivityKind::event;
  query.limit = limits::list_page;
  while (true) {
    const std::vector<model::ActivityState> page = engine_.store().activities(query);
    if (page.empty()) { break; }
    query.after = page.back().id;
    for (const model::ActivityState& state : page) {
      try {
        Activity activity = parse_activity(state.definition);
        if (activity.event() == nullptr) { continue; }
        all->activities.push_back(std::move(activity));
        all->uuids.push_back(state.uuid);
        all->paused.push_back(state.paused);
      } catch (const Error& error) {
        uncounted_[state.id].trouble = "this build cannot read the definition: " + trouble_of(error);
      }
    }
  }
  std::vector<const EventTrigger*> triggers;
  triggers.reserve(all->activities.size());
  for (const Activity& activity : all->activities) { triggers.push_back(activity.event()); }
  all->index = Subscriptions(triggers);
  return all;
}

std::vector<Routed> EventRouter::route(std::span<const Event> events) {
  const std::shared_ptr<const Subscribed> all = subscribed();
  const std::shared_ptr<const model::Catalogue> tasks = catalogue_.all();
  const FiringContext context{.ns = ns_, .catalogue = tasks.get(), .last_result = {}};
  std::vector<Routed> answers(events.size());
  Batch batch(*this, answers);
  for (std::size_t i = 0; i < events.size(); ++i) {
    for (const std::size_t match : all->index.matching(events[i])) {
      const Activity& activity = all->activities[match];
      if (all->paused[match]) {
        batch.drop(i, activity);
        continue;
      }
      try {
        batch.add(i, activity, run_requests(activity, EventReason{events[i]}, context, base::new_uuid7));
      } catch (const InvalidArgument& error) { batch.refuse(i, activity, trouble_of(error)); }
    }
  }
  batch.admit();
  count(batch.counted());
  return answers;
}

void EventRouter::count(const std::map<std::string, Counted>& counted) {
  bool due = false;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [activity, more] : counted) {
      Counted& kept = uncounted_[activity];
      kept.counts += more.counts;
      if (!more.trouble.empty()) { kept.trouble = more.trouble; }
    }
    due = std::chrono::steady_clock::now() - counted_at_ > counted_every;
  }
  if (!due) { return; }
  try {
    flush();
  } catch (const StoreUnavailable&) {
    // What was asked for is done; the counts are written with the next ones.
  }
}

void EventRouter::flush() {
  std::map<std::string, Counted> counted;
  {
    const std::lock_guard lock(mutex_);
    counted.swap(uncounted_);
    counted_at_ = std::chrono::steady_clock::now();
  }
  std::vector<model::ActivityChange> changes;
  for (const auto& [activity, more] : counted) {
    if (more.counts == model::ActivityCounts{} && more.trouble.empty()) { continue; }
    model::ActivityChange& change = changes.emplace_back();
    change.ns = ns_;
    change.id = activity;
    change.add = more.counts;
    change.trouble = more.trouble;
  }
  if (changes.empty()) { return; }
  try {
    static_cast<void>(engine_.store().change_activities(changes));
  } catch (...) {
    const std::lock_guard lock(mutex_);
    for (const auto& [activity, more] : counted) { uncounted_[activity].counts += more.counts; }
    throw;
  }
}

}  // namespace hapax::schedule
