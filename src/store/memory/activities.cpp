#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/identity.hpp"
#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

StoredActivity* find(State& state, const ActivityName& name) {
  const auto found = state.activities.find(name);
  return found == state.activities.end() || found->second.removed ? nullptr : &found->second;
}

void set_next_due(State& state, ActivityState& activity, std::optional<Time> next_due) {
  const ActivityName name(activity.namespace_name, activity.id);
  if (activity.next_due) { state.due.erase({*activity.next_due, name}); }
  const bool ticks = activity.kind == ActivityKind::cron && !activity.paused;
  activity.next_due = ticks ? next_due : std::nullopt;
  if (activity.next_due) { state.due.emplace(*activity.next_due, name); }
}

void define(StoredActivity& stored, const ActivityChange& change, Time now) {
  ActivityState& activity = stored.state;
  activity.kind = change.definition->kind;
  if (!stored.removed && activity.definition == change.definition->json) { return; }
  activity.version = stored.versions.empty() ? 1 : stored.versions.back().version + 1;
  activity.definition = change.definition->json;
  activity.trouble.clear();
  activity.updated_at = now;
  stored.versions.push_back(
      {.version = activity.version, .definition = activity.definition, .actor = change.actor, .at = now});
}

StoredActivity& make(State& state, const ActivityChange& change, Time now) {
  const auto [at, is_new] = state.activities.try_emplace(ActivityName(change.namespace_name, change.id));
  StoredActivity& stored = at->second;
  if (is_new) {
    stored.state.namespace_name = change.namespace_name;
    stored.state.id = change.id;
    stored.state.uuid = activity_uuid(change.namespace_name, change.id);
    stored.state.revision = 0;
  }
  stored.state.created_at = now;
  stored.state.paused = false;
  stored.state.note.clear();
  stored.state.trouble.clear();
  return stored;
}

std::string storable_text(std::string_view text) {
  return base::keep_head(base::escape_invalid(text), limits::note_bytes);
}

void count(ActivityState& activity, const ActivityCounts& counts, std::string_view trouble, Time now) {
  activity.counts += counts;
  if (counts.started > 0) { activity.last_started = now; }
  if (!trouble.empty()) { activity.trouble = storable_text(trouble); }
}

std::vector<Admission> admit_runs(State& state, const ActivityChange& change, Time now) {
  std::vector<const NewExecution*> items;
  for (const NewExecution& item : change.admit) { items.push_back(&item); }
  const std::vector<std::optional<std::size_t>> of = dependants(items);
  std::vector<Admission> admissions;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool belongs_to_another = of[i] && !admissions[*of[i]].created();
    admissions.push_back(belongs_to_another ? admissions[*of[i]] : admit(state, *items[i], now));
  }
  return admissions;
}

std::vector<Admission> start_runs(State& state, ActivityState& activity, const ActivityChange& change, Time now) {
  std::vector<Admission> admissions = admit_runs(state, change, now);
  const ActivityTally tally = model::tally(activity.uuid, change.admit, admissions);
  count(activity, tally.counts, tally.trouble, now);
  if (tally.counts.started == 0 || !change.revision) { return admissions; }
  const Actor itself;
  for (const Uuid& id : change.cancel) {
    static_cast<void>(cancel(state, id, {.reason = newer_run, .by = itself}, now));
  }
  for (const Uuid& id : change.terminate) {
    Record* const record = state.find(id, now);
    if (record != nullptr && !is_terminal(record->execution.status)) {
      state.end(*record, {.status = Status::cancelled, .error = cancelled_error(newer_run)}, now);
      close_children(state, record->execution, now);
    }
  }
  return admissions;
}

}  // namespace

ActivityReply change_activity(State& state, const ActivityChange& change, Time now) {
  const ActivityName name(change.namespace_name, change.id);
  StoredActivity* stored = find(state, name);
  const std::int64_t present = stored == nullptr ? 0 : stored->state.revision;
  if (!change.revision) {
    ActivityReply reply{.applied = stored != nullptr, .revision = present, .admissions = {}};
    if (stored != nullptr) {
      reply.admissions = start_runs(state, stored->state, change, now);
      count(stored->state, change.add, change.trouble, now);
    }
    return reply;
  }
  if (*change.revision != present || (present == 0 && !change.definition)) {
    return {.applied = false, .revision = present, .admissions = {}};
  }
  if (stored == nullptr) { stored = &make(state, change, now); }
  ActivityState& activity = stored->state;
  if (change.definition) { define(*stored, change, now); }
  stored->removed = change.remove;
  if (change.pause) {
    activity.paused = change.pause->paused;
    activity.note = storable_text(change.pause->note);
  }
  if (change.schedule) { activity.cursor = change.schedule->cursor; }
  set_next_due(state, activity,
               change.remove     ? std::nullopt
               : change.schedule ? change.schedule->next_due
                                 : activity.next_due);
  if (change.definition || change.pause || change.remove) { ++state.generations[change.namespace_name]; }
  ++activity.revision;
  ActivityReply reply{.applied = true, .revision = change.remove ? 0 : activity.revision, .admissions = {}};
  reply.admissions = start_runs(state, activity, change, now);
  count(activity, change.add, change.trouble, now);
  if (!change.action.empty()) {
    state.write_audit(change.namespace_name, change.actor, change.action, change.id, change.detail, now);
  }
  return reply;
}

std::vector<ActivityState> activities(const State& state, const ActivityQuery& query) {
  std::vector<ActivityState> page;
  const auto limit = static_cast<std::size_t>(std::clamp(query.limit, 0, limits::list_page));
  auto next = query.after ? state.activities.upper_bound({query.namespace_name, *query.after})
                          : state.activities.lower_bound({query.namespace_name, query.id.value_or("")});
  for (; next != state.activities.end() && next->first.first == query.namespace_name && page.size() < limit; ++next) {
    const StoredActivity& stored = next->second;
    if (!stored.removed && (!query.id || stored.state.id == *query.id) &&
        (!query.kind || stored.state.kind == *query.kind)) {
      page.push_back(stored.state);
    }
  }
  return page;
}

std::vector<ActivityVersion> activity_versions(const State& state, std::string_view namespace_name,
                                               std::string_view id) {
  const auto found = state.activities.find({std::string(namespace_name), std::string(id)});
  if (found == state.activities.end()) { return {}; }
  return {found->second.versions.rbegin(), found->second.versions.rend()};
}

DueActivities due_activities(State& state, int limit, Time now) {
  DueActivities report{.now = now, .due = {}, .next = {}};
  for (const auto& [at, name] : state.due) {
    if (at > now || std::ssize(report.due) == limit) {
      report.next = at;
      break;
    }
    DueActivity& due = report.due.emplace_back();
    due.state = state.activities.at(name).state;
    const auto first = state.children.lower_bound({due.state.uuid, Uuid{}});
    for (auto child = first; child != state.children.end() && child->first == due.state.uuid; ++child) {
      const Record* const record = state.find(child->second, now);
      if (record == nullptr) { continue; }
      const Execution& run = record->execution;
      if (!is_terminal(run.status) && std::ssize(due.live) < live_runs_max) { due.live.push_back(run.id); }
      if (run.status == Status::completed && !run.continued_as && run.result) { due.last_result = run.result; }
    }
  }
  return report;
}

}  // namespace hapax::store::memory
