// Whether a page of a list is its last one.
#pragma once

#include "base/limits.hpp"
#include "model/execution.hpp"

#include <vector>

namespace hapax::model {

[[nodiscard]] inline std::size_t payload_bytes(const Execution& execution) {
  return execution.input.size() + (execution.result ? execution.result->size() : 0);
}

// A page that is not full is the last one, unless its payloads may have ended it. The store counts them as they are
// stored, and an encrypted one is stored larger than it is told: half of the bound is certain. A page that is taken for
// one that goes on, and does not, is followed by an empty one.
[[nodiscard]] inline bool is_last_page(const ListQuery& query, const std::vector<Execution>& page) {
  if (page.empty()) { return true; }
  if (page.size() >= static_cast<std::size_t>(query.limit)) { return false; }
  if (!query.payloads) { return true; }
  std::size_t bytes = 0;
  for (const Execution& execution : page) { bytes += payload_bytes(execution); }
  return bytes < limits::list_bytes / 2;
}

}  // namespace hapax::model
