#include "base/limits.hpp"
#include "model/labels.hpp"
#include "model/list_page.hpp"
#include "store/memory/verbs.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace hapax::store::memory {

namespace {

template <class Range, class Value>
bool contains(const Range& range, const Value& value) {
  return std::find(range.begin(), range.end(), value) != range.end();
}

bool matches(const Execution& execution, const ListQuery& query, Time now) {
  if (execution.queue.namespace_name != query.namespace_name ||
      (execution.expires_at && *execution.expires_at <= now)) {
    return false;
  }
  return (query.statuses.empty() || contains(query.statuses, execution.status)) &&
         (!query.queue || execution.queue.name == *query.queue) && (!query.task || execution.task == *query.task) &&
         (!query.tag || contains(execution.labels.tags, *query.tag)) &&
         has_metadata(execution.labels, query.metadata) && (!query.identity || execution.identity == query.identity) &&
         (!query.parent || execution.parent == query.parent) && (!query.kind || execution.kind == *query.kind) &&
         !(excludes_guards(query) && execution.kind == Kind::guard) &&
         (!query.created_from || execution.created_at >= *query.created_from) &&
         (!query.created_before || execution.created_at < *query.created_before) &&
         (!query.dead_only || execution.dead);
}

// A page of a list. It has payloads only if the query asks for them, and is full at the query's limit or at
// limits::list_bytes.
class Page {
 public:
  explicit Page(const ListQuery& query) : query_(query) {}

  [[nodiscard]] bool is_full() const {
    return std::ssize(page_) >= std::clamp(query_.limit, 0, limits::list_page) || bytes_ >= limits::list_bytes;
  }
  void add(const Execution& execution) {
    page_.push_back(execution);
    if (query_.payloads) {
      bytes_ += payload_bytes(execution);
    } else {
      page_.back().input = std::string();  // clear() would keep its memory
      page_.back().result.reset();
    }
  }
  [[nodiscard]] std::vector<Execution> take() { return std::move(page_); }

 private:
  const ListQuery& query_;
  std::vector<Execution> page_;
  std::size_t bytes_ = 0;
};

}  // namespace

bool has_expired(const State& state, std::string_view namespace_name, const Uuid& id, Time now) {
  if (const auto found = state.records.find(id); found != state.records.end()) {
    const Execution& execution = found->second.execution;
    return execution.queue.namespace_name == namespace_name && execution.expires_at && *execution.expires_at <= now;
  }
  return std::ranges::any_of(state.identities, [&](const auto& held) {
    const auto buried = state.tombstone_namespaces.find(held.first);
    return held.second.execution == id && held.second.hold_until && *held.second.hold_until > now &&
           buried != state.tombstone_namespaces.end() && buried->second == namespace_name;
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
  Page page(query);
  if (!query.ids.empty()) {
    for (const Uuid& id : std::set<Uuid, std::greater<>>(query.ids.begin(), query.ids.end())) {
      const auto found = state.records.find(id);
      const bool is_wanted = found != state.records.end() && (!query.after || id < *query.after);
      if (is_wanted && matches(found->second.execution, query, now) && !page.is_full()) {
        page.add(found->second.execution);
      }
    }
    return page.take();
  }
  auto next = query.after ? state.records.lower_bound(*query.after) : state.records.end();
  while (next != state.records.begin() && !page.is_full()) {
    --next;
    if (matches(next->second.execution, query, now)) { page.add(next->second.execution); }
  }
  return page.take();
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
