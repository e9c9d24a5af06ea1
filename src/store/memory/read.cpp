#include "base/limits.hpp"
#include "model/labels.hpp"
#include "store/memory/verbs.hpp"

#include <algorithm>

namespace hapax::store::memory {

namespace {

template <class Range, class Value>
bool contains(const Range& range, const Value& value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

bool matches(const Execution& execution, const ListQuery& query, Time now) {
  if (execution.queue.ns != query.ns || (execution.expires_at && *execution.expires_at <= now)) { return false; }
  return (query.statuses.empty() || contains(query.statuses, execution.status)) &&
         (!query.queue || execution.queue.name == *query.queue) && (!query.task || execution.task == *query.task) &&
         (!query.tag || contains(execution.labels.tags, *query.tag)) &&
         has_metadata(execution.labels, query.metadata) && (!query.identity || execution.identity == query.identity) &&
         (!query.parent || execution.parent == query.parent) && (!query.kind || execution.kind == *query.kind) &&
         !(leaves_guards_out(query) && execution.kind == Kind::guard) &&
         (!query.created_from || execution.created_at >= *query.created_from) &&
         (!query.created_before || execution.created_at < *query.created_before) &&
         (!query.dead_only || execution.dead);
}

}  // namespace

bool has_expired(const State& state, std::string_view ns, const Uuid& id, Time now) {
  if (const auto found = state.records.find(id); found != state.records.end()) {
    const Execution& execution = found->second.execution;
    return execution.queue.ns == ns && execution.expires_at && *execution.expires_at <= now;
  }
  return std::ranges::any_of(state.identities, [&](const auto& held) {
    const auto buried = state.buried_in.find(held.first);
    return held.second.execution == id && held.second.hold_until && *held.second.hold_until > now &&
           buried != state.buried_in.end() && buried->second == ns;
  });
}

std::optional<Outcome> outcome(State& state, const Uuid& id, Time now) {
  const Record* const record = state.find(id, now);
  if (record == nullptr) { return std::nullopt; }
  const Execution& execution = record->execution;
  return Outcome{.id = id,
                 .status = execution.status,
                 .result = execution.result,
                 .error = execution.error,
                 .continued_as = execution.continued_as,
                 .overdue = !is_terminal(execution.status) && execution.deadline && *execution.deadline <= now};
}

std::vector<Execution> list(const State& state, const ListQuery& query, Time now) {
  std::vector<Execution> page;
  const auto limit = static_cast<std::size_t>(std::clamp(query.limit, 0, limits::list_page));
  auto next = query.after ? state.records.lower_bound(*query.after) : state.records.end();
  while (next != state.records.begin() && page.size() < limit) {
    --next;
    if (matches(next->second.execution, query, now)) {
      page.push_back(next->second.execution);
      if (!query.payloads) {
        page.back().input.clear();
        page.back().result.reset();
      }
    }
  }
  return page;
}

std::vector<Attempt> attempts(State& state, const Uuid& id, Time now) {
  const Record* const record = state.find(id, now);
  if (record == nullptr) { return {}; }
  std::vector<Attempt> all = record->attempts;
  const Execution& execution = record->execution;
  if (execution.session) {
    all.push_back({.number = execution.attempt,
                   .worker = execution.worker,
                   .started_at = execution.started_at,
                   .ended_at = execution.finished_at,
                   .outcome = std::string(to_string(execution.status)),
                   .error = execution.error});
  }
  return all;
}

}  // namespace hapax::store::memory
