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
  const Time now = store.now();
  while (true) {
    const std::vector<model::Execution> page = store.list(query);
    for (const model::Execution& one : page) {
      const bool closes = model::closes_with_parent(one.labels, one.deadline, now);
      if (!closes) {
        std::erase(children, one.id);
      } else if (std::ranges::find(children, one.id) == children.end()) {
        children.push_back(one.id);
      }
    }
    if (std::ssize(page) < query.limit) { break; }
    query.after = page.back().id;
  }
  static_cast<void>(store.cancel(children, model::parent_ended));
}

}  // namespace hapax::workflow
