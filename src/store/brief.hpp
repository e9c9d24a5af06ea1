// Reads of executions without their payloads, for callers that need only the other fields: an input or a result may be
// mebibytes.
#pragma once

#include "base/limits.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace hapax::store {

// The executions of the namespace among `ids`, newest first within each 1,000 ids. Cost: 1 list call per 1,000 ids.
[[nodiscard]] inline std::vector<Execution> list_briefly(Store& store, const std::string& namespace_name,
                                                         std::span<const Uuid> ids) {
  std::vector<Execution> found;
  for (std::size_t at = 0; at < ids.size(); at += limits::list_page) {
    const std::span<const Uuid> some = ids.subspan(at, std::min<std::size_t>(limits::list_page, ids.size() - at));
    ListQuery query;
    query.namespace_name = namespace_name;
    query.payloads = false;
    query.limit = limits::list_page;
    query.ids.assign(some.begin(), some.end());
    for (Execution& execution : store.list(query)) { found.push_back(std::move(execution)); }
  }
  return found;
}

// The execution without payloads; nothing if it does not exist or belongs to another namespace.
[[nodiscard]] inline std::optional<Execution> get_briefly(Store& store, const std::string& namespace_name,
                                                          const Uuid& id) {
  std::vector<Execution> found = list_briefly(store, namespace_name, {&id, 1});
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

// The ids among `ids` that are the namespace's, in the order of `ids`.
[[nodiscard]] inline std::vector<Uuid> own_ids(Store& store, const std::string& namespace_name,
                                               std::span<const Uuid> ids) {
  std::vector<Uuid> own;
  for (const Execution& execution : list_briefly(store, namespace_name, ids)) { own.push_back(execution.id); }
  std::ranges::sort(own);
  std::vector<Uuid> in_order;
  for (const Uuid& id : ids) {
    if (std::ranges::binary_search(own, id)) { in_order.push_back(id); }
  }
  return in_order;
}

}  // namespace hapax::store
