#include "schedule/ticker.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "base/limits.hpp"
#include "base/uuid7.hpp"

#include <algorithm>
#include <utility>

namespace hapax::schedule {

namespace {

constexpr std::size_t kept_definitions = 20'000;
constexpr int activities_at_once = 64;                // the most due activities that one look handles
constexpr std::size_t ticker_batch_bytes = 32 << 20;  // of inputs in one transaction

// The size of a transaction.
struct Weight {
  std::size_t executions = 0;
  std::size_t bytes = 0;
};

Weight weight_of(const model::ActivityChange& change) {
  Weight weight{.executions = change.admit.size(), .bytes = 0};
  for (const model::NewExecution& request : change.admit) { weight.bytes += request.input.size(); }
  return weight;
}

bool fits(const Weight& weight, const Weight& more) {
  return weight.executions + more.executions <= static_cast<std::size_t>(limits::bulk_batch) &&
         weight.bytes + more.bytes <= ticker_batch_bytes;
}

// Whether the store is unavailable, not merely blocked by another transaction's lock.
bool is_away(const Error& error) {
  return dynamic_cast<const StoreUnavailable*>(&error) != nullptr && dynamic_cast<const StoreBusy*>(&error) == nullptr;
}

}  // namespace

Ticker::Ticker(engine::Engine& engine, Options options) : engine_(engine), options_(std::move(options)) {}

void Ticker::say(const std::string& text) const {
  try {
    if (options_.on_trouble) { options_.on_trouble(text); }
  } catch (...) {  // NOLINT: an exception of the listener must not stop the schedules
  }
}

Time Ticker::step(Time now) {
  try {
    const Look done = look();
    backoff_.reset();
    if (options_.on_looked) { options_.on_looked(); }
    Duration wait = options_.look;
    if (done.next) { wait = std::min(wait, std::max(Duration::zero(), *done.next - done.now)); }
    const double part = engine_.random().fraction();
    return now + wait + Duration(static_cast<Duration::rep>(static_cast<double>(options_.spread.count()) * part));
  } catch (const std::exception& error) {
    if (!backoff_.active()) { say("schedules wait: " + trouble_of(error)); }
    return now + std::max(options_.look, backoff_.next());
  }
}

Ticker::Look Ticker::look() {
  const model::DueActivities report = engine_.store().due_activities(activities_at_once);
  Look look{.due = static_cast<int>(report.due.size()), .now = report.now, .next = report.next};
  const std::span<const model::DueActivity> due(report.due);
  std::vector<model::ActivityChange> changes;
  std::size_t first = 0;
  Weight weight;
  const auto flush = [&] {
    apply(changes, due.subspan(first, changes.size()), look);
    first += changes.size();
    changes.clear();
    weight = {};
  };
  for (const model::DueActivity& one : due) {
    model::ActivityChange change = change_of(one, report.now);
    const Weight more = weight_of(change);
    if (!changes.empty() && !fits(weight, more)) { flush(); }
    weight = {.executions = weight.executions + more.executions, .bytes = weight.bytes + more.bytes};
    changes.push_back(std::move(change));
  }
  if (!changes.empty()) { flush(); }
  // One of these activities may be due again at once.
  if (!due.empty()) { look.next = report.now; }
  return look;
}

const Ticker::Read& Ticker::read(const model::ActivityState& state) {
  if (read_.size() > kept_definitions) { read_.clear(); }
  Read& read = read_[state.uuid];
  if (read.definition == state.definition && (read.activity || !read.trouble.empty())) { return read; }
  read = {.definition = state.definition, .activity = nullptr, .trouble = {}};
  try {
    read.activity = std::make_shared<const Activity>(parse_stored_activity(state.definition));
  } catch (const Error& error) { read.trouble = "this build cannot read the definition: " + trouble_of(error); }
  return read;
}

engine::CatalogueCache& Ticker::catalogue(const std::string& namespace_name) {
  std::shared_ptr<engine::CatalogueCache>& cache = catalogues_[namespace_name];
  if (!cache) { cache = engine_.catalogue(namespace_name); }
  return *cache;
}

model::ActivityChange Ticker::change_of(const model::DueActivity& due, Time now) {
  const Read& activity = read(due.state);
  if (!activity.activity) { return postpone(due, now, activity.trouble); }
  try {
    const std::shared_ptr<const model::Catalogue> tasks = catalogue(due.state.namespace_name).all();
    model::ActivityChange change = tick_change(
        due, *activity.activity, {.now = now, .catalogue = tasks.get(), .new_id = [] { return base::new_uuid7(); }});
    if (change.trouble.empty()) { change.trouble = due.trouble; }
    return change;
  } catch (const StoreUnavailable&) { throw; } catch (const std::exception& error) {
    return postpone(due, now, trouble_of(error));
  }
}

void Ticker::apply(std::span<const model::ActivityChange> changes, std::span<const model::DueActivity> due,
                   Look& look) {
  std::vector<model::ActivityReply> replies;
  try {
    base::fault_point("ticker.before");
    replies = engine_.change_activities(changes);
    base::fault_point("ticker.after");
  } catch (const Error& error) {
    if (is_away(error)) { throw; }
    // One change failed, or another open transaction has locked one of the identities: apply the changes one by one.
    for (std::size_t i = 0; i < changes.size(); ++i) { apply_alone(changes[i], due[i], look); }
    return;
  }
  for (std::size_t i = 0; i < changes.size(); ++i) { applied(changes[i], replies[i], look); }
}

void Ticker::apply_alone(const model::ActivityChange& change, const model::DueActivity& due, Look& look) {
  try {
    applied(change, engine_.change_activities({&change, 1}).at(0), look);
  } catch (const Error& error) {
    if (is_away(error)) { throw; }
    say("activity '" + change.id + "' waits: " + trouble_of(error));
    store_postponed(due, look.now, trouble_of(error));
  }
}

// If another transaction has locked the activity, postponing is not needed: that transaction changes the activity.
void Ticker::store_postponed(const model::DueActivity& due, Time now, const std::string& trouble) {
  try {
    const model::ActivityChange later = postpone(due, now, trouble);
    static_cast<void>(engine_.change_activities({&later, 1}));
  } catch (const StoreBusy&) {}
}

void Ticker::applied(const model::ActivityChange& change, const model::ActivityReply& reply, Look& look) {
  if (!reply.applied) { return; }
  ++look.activities;
  if (!change.trouble.empty()) { say("activity '" + change.id + "': " + change.trouble); }
  for (std::size_t i = 0; i < change.admit.size(); ++i) {
    const model::NewExecution& request = change.admit[i];
    if (reply.admissions[i].created()) { continue; }
    if (reply.admissions[i].verdict == model::AdmissionVerdict::queue_draining) {
      say("activity '" + change.id + "': queue '" + request.queue.name + "' is draining, " + request.identity->key +
          " is not started");
    } else {
      say("activity '" + change.id + "': " + request.identity->key + " exists already and is not started again");
    }
  }
}

void start_ticker(engine::Engine& engine, Ticker::Options options) {
  engine.start_background("ticker", [&engine, &options]() -> engine::StepThread::Step {
    return [ticker = std::make_shared<Ticker>(engine, std::move(options))](Time now) { return ticker->step(now); };
  });
}

}  // namespace hapax::schedule
