#include "engine/explain_facts.hpp"

namespace hapax::engine {

model::ExplainFacts gather_facts(store::Store& store, const model::Execution& execution) {
  model::ExplainFacts facts{.execution = execution, .now = store.now(), .sessions = store.sessions()};
  for (model::QueueInfo& queue : store.queues(execution.queue.ns)) {
    if (queue.queue == execution.queue) { facts.queue = std::move(queue); }
  }
  if (execution.identity) {
    const model::Catalogue catalogue = model::decode_catalogue(store.catalogue(execution.queue.ns));
    if (const model::TaskDefinition* const entry = catalogue.find(execution.task)) { facts.task = *entry; }
    facts.usual = catalogue.usual;
    facts.holder = store.holder(*execution.identity);
  }
  return facts;
}

}  // namespace hapax::engine
