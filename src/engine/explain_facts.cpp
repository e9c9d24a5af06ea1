#include "engine/explain_facts.hpp"

#include "base/limits.hpp"

namespace hapax::engine {

namespace {

// Beyond a page the counts are too low, and then nothing is said.
std::map<Uuid, int> running_by_session(store::Store& store, const model::QueueRef& queue) {
  model::ListQuery query;
  query.ns = queue.ns;
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

}  // namespace

model::ExplainFacts gather_facts(store::Store& store, const model::Execution& execution) {
  model::ExplainFacts facts{.execution = execution, .now = store.now(), .sessions = store.sessions()};
  for (model::QueueInfo& queue : store.queues(execution.queue.ns)) {
    if (queue.queue == execution.queue) { facts.queue = std::move(queue); }
  }
  if (facts.queue && facts.queue->settings.limits.worker_concurrency && execution.status == Status::pending) {
    facts.running_here = running_by_session(store, execution.queue);
  }
  if (execution.identity) {
    const model::Catalogue catalogue = model::decode_catalogue(store.catalogue(execution.queue.ns));
    if (const model::TaskDefinition* const entry = catalogue.find(execution.task)) { facts.task = *entry; }
    facts.usual = catalogue.usual;
    facts.holding = store.holding(*execution.identity);
  }
  return facts;
}

}  // namespace hapax::engine
