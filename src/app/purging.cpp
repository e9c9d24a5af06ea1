#include "app/purging.hpp"

#include "base/limits.hpp"

#include <vector>

namespace hapax::app {

Purged purge_queue(store::Store& store, const model::QueueRef& queue, const model::Actor& by) {
  Purged purged;
  while (const int some = store.purge(queue, limits::sweep_batch, by)) { purged.cancelled += some; }
  // Store::purge() skips workflows that have begun. Here these are cancelled like any other workflow, so that all
  // unwind alike.
  model::ListQuery query;
  query.ns = queue.ns;
  query.queue = queue.name;
  query.kind = model::Kind::workflow;
  query.statuses = {Status::pending};
  query.payloads = false;
  query.limit = limits::list_page;
  while (true) {
    const std::vector<model::Execution> page = store.list(query);
    std::vector<Uuid> begun;
    for (const model::Execution& workflow : page) {
      if (workflow.fence > 0 && !workflow.cancel_requested) { begun.push_back(workflow.id); }
    }
    if (!begun.empty()) {
      for (const model::CancelResult& result : store.cancel(begun, "purged", by)) {
        purged.requested += result.verdict == model::CancelVerdict::requested ? 1 : 0;
      }
    }
    if (std::ssize(page) < query.limit) { return purged; }
    query.after = page.back().id;
  }
}

}  // namespace hapax::app
