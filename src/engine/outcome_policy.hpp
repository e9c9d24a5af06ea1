// OutcomePolicy: decides how the outcomes of a worker's workflows are grouped into calls. It has no threads and no
// clock.
//
// The plain policy: all outcomes that were decided go in the next call. One rule makes many short workflows faster, and
// it can be switched off (base/plain_path.hpp):
//
// - Halving: when all workflows of the worker have ended at once, a remote store gets half of their outcomes first. The
//   group would stay together from call to call: the store idles while the workflows run, and they idle while the store
//   works. Callers that get the first half's results start their next workflows while the store takes the other half.
#pragma once

#include "engine/outcome.hpp"

#include <cstddef>
#include <span>

namespace hapax::engine {

class OutcomePolicy {
 public:
  struct Rules {
    bool halving = true;
  };
  // All rules but those that HAPAX_PLAIN_PATHS names.
  [[nodiscard]] static Rules usual_rules();

  // `remote`: Capabilities::remote of the store.
  explicit OutcomePolicy(bool remote, Rules rules = usual_rules()) : remote_(remote), rules_(rules) {}

  // How many of the pending outcomes go in the next call. Ask once for each call. `under_way`: how many workflows have
  // no outcome yet. `tasks`: the tasks that the worker holds.
  [[nodiscard]] std::size_t share(std::span<const Settled> pending, int under_way, int tasks);

 private:
  const bool remote_;
  const Rules rules_;
  std::size_t population_ = 0;  // recent maximum of workflows held at once
};

}  // namespace hapax::engine
