#include "app/explain_facts.hpp"

#include "base/limits.hpp"

namespace hapax::app {

namespace {

// Reads one page only. If there are more sessions, the counts are too low, and explain() leaves them out.
std::map<Uuid, int> running_by_session(store::Store& store, const model::QueueRef& queue) {
  model::ListQuery query;
  query.namespace_name = queue.namespace_name;
  query.queue = queue.name;
  query.statuses = {Status::running};
  query.payloads = false;
  query.limit = limits::list_page;
  std::map<Uuid, int> counts;
  for (const model::Execution& execution : store.list(query)) {
    if (execution.session) { ++counts[*execution.session]; }
  }
  return counts;
}

// How many executions of a queue are searched for others of the same key.
constexpr int search_max = 10 * limits::list_page;

std::optional<model::ExplainFacts::OthersOfKey> others_of_key(store::Store& store, const model::Execution& execution) {
  model::ListQuery query;
  query.namespace_name = execution.queue.namespace_name;
  query.queue = execution.queue.name;
  query.statuses = {Status::pending, Status::running};
  query.payloads = false;
  query.limit = limits::list_page;
  model::ExplainFacts::OthersOfKey others;
  for (int looked_at = 0; looked_at < search_max; looked_at += query.limit) {
    const std::vector<model::Execution> page = store.list(query);
    for (const model::Execution& other : page) {
      if (other.id == execution.id || other.limit_key != execution.limit_key) { continue; }
      const bool runs = other.status == Status::running;
      others.running += runs ? 1 : 0;
      others.earlier = others.earlier || runs || other.id < execution.id;
    }
    if (std::ssize(page) < query.limit) { return others; }
    query.after = page.back().id;
  }
  return std::nullopt;
}

std::optional<model::ErrorInfo> last_error(store::Store& store, const Uuid& id) {
  std::optional<model::ErrorInfo> last;
  for (const model::Attempt& attempt : store.attempts(id)) {
    if (attempt.error) { last = attempt.error; }
  }
  return last;
}

void read_waits(store::Store& store, model::ExplainFacts& facts) {
  const model::HistoryRequest request{.execution = facts.execution.id};
  const model::History history = std::move(store.histories({&request, 1}).front());
  facts.journal_trouble = history.unreadable;
  if (history.unreadable.empty()) { facts.waits = model::waits_of(history, facts.now); }
}

}  // namespace

model::ExplainFacts gather_facts(store::Store& store, const model::Execution& execution) {
  model::ExplainFacts facts{.execution = execution, .now = store.now(), .sessions = store.sessions()};
  for (model::QueueInfo& queue : store.queues(execution.queue.namespace_name)) {
    if (queue.queue == execution.queue) { facts.queue = std::move(queue); }
  }
  if (facts.queue && facts.queue->settings.limits.worker_concurrency && execution.status == Status::pending) {
    facts.running_here = running_by_session(store, execution.queue);
  }
  const bool later = execution.status == Status::pending && execution.run_at > facts.now;
  if (later && execution.kind == model::Kind::workflow && execution.fence > 0) { read_waits(store, facts); }
  if (later && (execution.attempt > 0 || execution.kind == model::Kind::workflow)) {
    facts.last_error = last_error(store, execution.id);
  }
  if (execution.parked && execution.limit_key) { facts.others_of_key = others_of_key(store, execution); }
  if (execution.identity) {
    const model::Catalogue catalogue = model::decode_catalogue(store.catalogue(execution.queue.namespace_name));
    if (const model::TaskDefinition* const entry = catalogue.find(execution.task)) { facts.task = *entry; }
    facts.default_strategy = catalogue.default_strategy;
    facts.holding = store.holding(*execution.identity);
  }
  return facts;
}

}  // namespace hapax::app
