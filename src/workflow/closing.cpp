#include "workflow/closing.hpp"

#include "base/limits.hpp"
#include "model/parent_close.hpp"

#include <algorithm>

namespace hapax::workflow {

void cancel_children(store::Store& store, const model::Claim& parent, std::vector<Uuid> children) {
  model::ListQuery query;
  query.ns = parent.queue.ns;
  query.statuses = {Status::pending, Status::running};
  query.parent = parent.id;
  query.kind = model::Kind::workflow;
  query.payloads = false;
  query.limit = limits::list_page;
  while (true) {
    const std::vector<model::Execution> page = store.list(query);
    for (const model::Execution& one : page) {
      if (!model::outlives_parent(one.labels) && std::ranges::find(children, one.id) == children.end()) {
        children.push_back(one.id);
      }
    }
    if (std::ssize(page) < query.limit) { break; }
    query.after = page.back().id;
  }
  static_cast<void>(store.cancel(children, model::parent_ended));
}

}  // namespace hapax::workflow
