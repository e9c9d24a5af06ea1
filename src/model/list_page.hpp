// Whether a page of a list is its last one.
#pragma once

#include "base/limits.hpp"
#include "model/execution.hpp"

#include <vector>

namespace hapax::model {

[[nodiscard]] inline std::size_t payload_bytes(const Execution& execution) {
  return execution.input.size() + (execution.result ? execution.result->size() : 0);
}

// A page that is not full is the last one, unless the byte limit may have ended it (limits::list_bytes). The store
// counts bytes as stored, and an encrypted payload is stored larger than it is returned, so half of the limit is the
// threshold. A wrong "not last" costs one empty page more.
[[nodiscard]] inline bool is_last_page(const ListQuery& query, const std::vector<Execution>& page) {
  if (page.empty()) { return true; }
  if (page.size() >= static_cast<std::size_t>(query.limit)) { return false; }
  if (!query.payloads) { return true; }
  std::size_t bytes = 0;
  for (const Execution& execution : page) { bytes += payload_bytes(execution); }
  return bytes < limits::list_bytes / 2;
}

}  // namespace hapax::model
