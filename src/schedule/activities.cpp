#include "schedule/activities.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "model/identity.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <array>

namespace hapax::schedule {

namespace {

constexpr int tries = 100;  // attempts to change an activity that other processes change each time

std::optional<Time> first_look(const Activity& activity, Time cursor) {
  return activity.cron() != nullptr ? next_due(*activity.cron(), activity.id, cursor) : std::nullopt;
}

// Whether both triggers have their ticks at the same instants.
bool same_timetable(const CronTrigger& a, const CronTrigger& b) {
  const nlohmann::json one = encode_cron_trigger(a);
  const nlohmann::json other = encode_cron_trigger(b);
  return std::ranges::all_of(std::array{"cron", "time_zone", "start"}, [&](const char* member) {
    return one.value(member, nlohmann::json()) == other.value(member, nlohmann::json());
  });
}

// The cursor after a change of the definition: kept if the timetable is the same, otherwise now. It is also now if the
// old definition's end has passed, because later ticks were never due, or if the cursor lies in the future, because the
// clock was set back.
Time next_cursor(const model::ActivityState* state, const Activity& activity, Time now) {
  if (state == nullptr || activity.cron() == nullptr) { return now; }
  try {
    const Activity before = parse_stored_activity(state->definition);
    const CronTrigger* const cron = before.cron();
    const bool had_ended = cron != nullptr && cron->end && *cron->end < now;
    if (cron != nullptr && !had_ended && same_timetable(*cron, *activity.cron())) {
      return std::min(state->cursor, now);
    }
  } catch (const InvalidArgument&) {
    // A definition that this build cannot read counts as another timetable.
  }
  return now;
}

model::ActivityKind kind_of(const Activity& activity) {
  return activity.cron() != nullptr ? model::ActivityKind::cron : model::ActivityKind::event;
}

}  // namespace

Activities::Activities(engine::Engine& engine, std::string namespace_name)
    : engine_(engine), namespace_name_(std::move(namespace_name)), catalogue_(engine.catalogue(namespace_name_)) {}

NotFound Activities::not_found(std::string_view id) const {
  return NotFound("activity " + base::quoted(id) + " is not there");
}

std::optional<model::ActivityState> Activities::find(std::string_view id) {
  model::ActivityQuery query;
  query.namespace_name = namespace_name_;
  query.id = std::string(id);
  query.limit = 1;
  std::vector<model::ActivityState> found = engine_.store().activities(query);
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

model::ActivityState Activities::get(std::string_view id) {
  std::optional<model::ActivityState> state = find(id);
  if (!state) { throw not_found(id); }
  return *std::move(state);
}

std::vector<model::ActivityState> Activities::list(const model::ActivityQuery& query) {
  model::ActivityQuery own = query;
  own.namespace_name = namespace_name_;
  return engine_.store().activities(own);
}

std::vector<model::ActivityVersion> Activities::versions(std::string_view id) {
  return engine_.store().activity_versions(namespace_name_, id);
}

Activities::Changed Activities::change(std::string_view id, const MakeChange& make) {
  for (int i = 0; i < tries; ++i) {
    const std::optional<model::ActivityState> state = find(id);
    Changed changed{.change = make(state ? &*state : nullptr), .reply = {}};
    if (!changed.change) { return changed; }
    changed.reply = engine_.change_activities({&*changed.change, 1}).at(0);
    if (changed.reply.applied) {
      tell(*changed.change);
      return changed;
    }
  }
  throw StoreBusy("activity '" + std::string(id) + "' is changed by other processes all the time; try again");
}

model::ActivityChange Activities::change_of(std::string_view id, const model::ActivityState* state,
                                            std::string_view actor, std::string action) const {
  model::ActivityChange change;
  change.namespace_name = namespace_name_;
  change.id = std::string(id);
  change.revision = state != nullptr ? state->revision : 0;
  change.actor = actor;
  change.action = std::move(action);
  return change;
}

void Activities::tell(const model::ActivityChange& change) {
  if (change.schedule || change.pause) { engine_.wake_background("ticker"); }
  if (change.definition || change.pause || change.remove) { engine_.activities_changed(); }
}

std::optional<std::string> Activities::last_result(const Uuid& activity) {
  model::ListQuery query;
  query.namespace_name = namespace_name_;
  query.parent = activity;
  query.statuses = {Status::completed};
  query.payloads = false;
  query.limit = 10;
  for (const model::Execution& run : engine_.store().list(query)) {
    if (run.continued_as) { continue; }
    const std::optional<model::Execution> whole = engine_.store().get(run.id);
    if (whole && whole->result) { return whole->result; }
  }
  return std::nullopt;
}

Activities::Applied Activities::apply(const Activity& activity, std::string_view actor) {
  const std::string definition = encode_activity(activity);
  Applied applied;
  change(activity.id, [&](const model::ActivityState* state) -> std::optional<model::ActivityChange> {
    applied.created = state == nullptr;
    // An older build may have encoded the same definition differently (1w instead of 7d).
    applied.changed = state == nullptr || (state->definition != definition &&
                                           encode_activity(parse_stored_activity(state->definition)) != definition);
    if (!applied.changed) { return std::nullopt; }
    const Time now = engine_.store().now();
    model::ActivityChange made = change_of(activity.id, state, actor, "activity.apply");
    made.definition = {.json = definition, .kind = kind_of(activity)};
    made.detail = definition;
    const Time cursor = next_cursor(state, activity, now);
    made.schedule = {.cursor = cursor, .next_due = first_look(activity, cursor)};
    return made;
  });
  applied.state = get(activity.id);
  return applied;
}

model::ActivityState Activities::pause(std::string_view id, std::string_view note, std::string_view actor) {
  if (note.size() > limits::note_bytes) { throw PayloadTooLarge("note", note.size(), limits::note_bytes); }
  change(id, [&](const model::ActivityState* state) -> std::optional<model::ActivityChange> {
    if (state == nullptr) { throw not_found(id); }
    if (state->paused && state->note == note) { return std::nullopt; }
    model::ActivityChange made = change_of(id, state, actor, "activity.pause");
    made.pause = {.paused = true, .note = std::string(note)};
    made.detail = note;
    return made;
  });
  return get(id);
}

model::ActivityState Activities::resume(std::string_view id, std::string_view actor) {
  change(id, [&](const model::ActivityState* state) -> std::optional<model::ActivityChange> {
    if (state == nullptr) { throw not_found(id); }
    if (!state->paused) { return std::nullopt; }
    model::ActivityChange made = change_of(id, state, actor, "activity.resume");
    made.pause = {.paused = false, .note = {}};
    const Time cursor = std::min(state->cursor, engine_.store().now());
    made.schedule = {.cursor = cursor, .next_due = first_look(parse_stored_activity(state->definition), cursor)};
    return made;
  });
  return get(id);
}

void Activities::remove(std::string_view id, std::string_view actor) {
  change(id, [&](const model::ActivityState* state) -> std::optional<model::ActivityChange> {
    if (state == nullptr) { throw not_found(id); }
    model::ActivityChange made = change_of(id, state, actor, "activity.remove");
    made.remove = true;
    return made;
  });
}

Activities::Started Activities::trigger(std::string_view id, const Manual& manual, std::string_view actor) {
  Started started;
  const std::string key = manual.key.value_or(base::new_uuid7().to_string());
  const Changed changed = change(id, [&](const model::ActivityState* state) -> std::optional<model::ActivityChange> {
    if (state == nullptr) { throw not_found(id); }
    const Activity activity = parse_stored_activity(state->definition);
    const std::shared_ptr<const model::Catalogue> tasks = catalogue_->all();
    FiringContext context{.namespace_name = namespace_name_,
                          .catalogue = tasks.get(),
                          .last_result = {},
                          .parent = {},
                          .actor = std::string(actor)};
    if (activity.cron() != nullptr) { context.last_result = last_result(state->uuid); }
    RunRequests run = run_requests(
        activity,
        ManualReason{.key = key, .at = engine_.store().now(), .event = manual.event ? &*manual.event : nullptr},
        context, base::new_uuid7);
    started.run_id = std::move(run.run_id);
    model::ActivityChange made = change_of(id, state, actor, "activity.trigger");
    made.admit = std::move(run.requests);
    made.detail = started.run_id;
    return made;
  });
  started.admission = changed.reply.admissions.at(0);
  return started;
}

Activities::Backfill Activities::backfill(std::string_view id, const TickRange& range, std::string_view actor,
                                          const BackfillProgress& progress) {
  check_backfill(range, engine_.store().now());
  Backfill report;
  std::optional<Time> from = range.from;
  while (from) {
    TickPage page;
    Backfill step;
    const Changed changed = change(id, [&](const model::ActivityState* state) -> std::optional<model::ActivityChange> {
      if (state == nullptr) { throw not_found(id); }
      const Activity activity = parse_stored_activity(state->definition);
      if (activity.cron() == nullptr) {
        throw InvalidArgument("activity", "'" + activity.id + "' has an event trigger, and so no ticks to run again");
      }
      const std::optional<std::string> result = last_result(state->uuid);
      page = ticks_in(*activity.cron(), {.from = *from, .to = range.to}, most_runs(activity, result));
      step = {};
      if (page.ticks.empty()) { return std::nullopt; }
      model::ActivityChange made = change_of(id, state, actor, "activity.backfill");
      const std::shared_ptr<const model::Catalogue> tasks = catalogue_->all();
      const FiringContext context{.namespace_name = namespace_name_,
                                  .catalogue = tasks.get(),
                                  .last_result = result,
                                  .parent = {},
                                  .actor = std::string(actor)};
      for (const Time tick : page.ticks) {
        try {
          RunRequests run = run_requests(
              activity, TickReason{.tick = {.scheduled_for = tick, .missed = false, .window = {}}, .backfill = true},
              context, base::new_uuid7);
          std::ranges::move(run.requests, std::back_inserter(made.admit));
        } catch (const Error& error) {
          ++step.refused;
          step.trouble = trouble_of(error);
        }
      }
      made.add.refused = step.refused;
      made.trouble = step.trouble;
      made.detail = format_time(page.ticks.front()) + " to " + format_time(page.ticks.back());
      return made;
    });
    if (changed.change) {
      const model::ActivityTally tally =
          model::tally(model::activity_uuid(namespace_name_, id), changed.change->admit, changed.reply.admissions);
      report.started += tally.counts.started;
      report.existing += tally.counts.duplicates;
      report.refused += step.refused + tally.counts.refused;
      if (!step.trouble.empty()) { report.trouble = step.trouble; }
      if (!tally.trouble.empty()) { report.trouble = tally.trouble; }
    }
    report.ticks += static_cast<std::int64_t>(page.ticks.size());
    from = page.next_from;
    if (progress && !progress(report, page.left)) {
      report.next_from = from;
      break;
    }
  }
  return report;
}

std::vector<model::Execution> Activities::runs(std::string_view id, model::ListQuery query) {
  query.namespace_name = namespace_name_;
  query.parent = model::activity_uuid(namespace_name_, id);
  return engine_.store().list(query);
}

}  // namespace hapax::schedule
