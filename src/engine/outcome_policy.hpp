// OutcomePolicy: decides how the outcomes of a worker's workflows are grouped into calls. An OutcomePolicy has no
// threads and no clock.
//
// The plain policy: all outcomes that were decided go in the next call, at once. Two rules make many short workflows
// faster, and each can be switched off (base/plain_path.hpp):
//
// - Company: the outcomes of a few workflows wait for more, at most 1 ms, while most workflows are under way and many
//   ended together within the last 10 ms. Sent at once, the few would stay a group of their own, a little before or
//   behind the others, and cost as many calls again. One or several such delays merge them into the large group. Not on
//   a remote store: there two groups are better than one.
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
    bool company = true;
    bool halving = true;
  };
  // Returns all rules except the ones that HAPAX_PLAIN_PATHS names.
  [[nodiscard]] static Rules usual_rules();

  // `remote`: Capabilities::remote of the store.
  explicit OutcomePolicy(bool remote, Rules rules = usual_rules()) : remote_(remote), rules_(rules) {}

  // Returns until when the pending outcomes wait for more; `now` or earlier: send them now. `under_way`: how many
  // workflows have no outcome yet.
  [[nodiscard]] Time wait_until(std::span<const Settled> pending, int under_way, Time now);
  // Returns how many of the pending outcomes go in the next call. Ask once for each call. `tasks`: the tasks that the
  // worker holds.
  [[nodiscard]] std::size_t share(std::span<const Settled> pending, int under_way, int tasks);
  // A call that began at `now` took the outcomes; `under_way`: the count after the call.
  void sent(std::span<const Settled> outcomes, int under_way, Time now, Duration took);

 private:
  const bool remote_;
  const Rules rules_;
  Time crowd_at_{};             // when the outcomes of most workflows were last sent together
  Duration company_wait_{0};    // how long that call took, at most 1 ms
  Time company_until_{};        // until then a few outcomes wait for more; Time{}: no wait has begun
  std::size_t population_ = 0;  // recent maximum of workflows held at once
};

}  // namespace hapax::engine
