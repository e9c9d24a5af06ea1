// The load: its tasks, what their handlers do, and how each may end. Producers, workers and the checker share this file
// so that they cannot disagree.
#pragma once

#include "base/random.hpp"
#include "model/execution.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::torture {

// Lost leases allowed for tasks that are not poison: more than any run causes, so losses never end such an execution.
inline constexpr int innocent_max_lost = 500;
inline constexpr int poison_max_lost = 3;
inline constexpr int doomed_max_attempts = 2;

[[nodiscard]] std::vector<std::string> chaos_queues();

// A uniform random number in [0, bound).
[[nodiscard]] int below(base::Random& random, int bound);
[[nodiscard]] inline bool one_in(base::Random& random, int bound) { return below(random, bound) == 0; }

// A request for a random task of the load, without a key.
[[nodiscard]] model::NewExecution random_request(base::Random& random);
[[nodiscard]] model::NewExecution request(std::string_view task, std::string_view queue);
// Requests with the same key are identical. Producers share a small set of keys that changes with time.
[[nodiscard]] model::NewExecution keyed_request(const std::string& key);

enum class Act : std::uint8_t {
  complete,
  complete_in_transaction,  // also writes its own row in that transaction
  complete_once,            // completes after a recorded sub-step
  retry,
  fail,
  snooze,
  die,  // kills the process
};

struct Behaviour {
  Act act = Act::complete;
  Duration work{0};   // duration of the handler
  Duration delay{0};  // delay of a retry or snooze
};

// Depends on ID and fence alone, so that every worker behaves alike and a seed reproduces the load.
[[nodiscard]] Behaviour behaviour(std::string_view task, const Uuid& id, std::int64_t fence);

// The result names the claim that made it, without spaces: {"child":17,"fence":3,"value":"…"}.
[[nodiscard]] std::string result_text(int child, std::int64_t fence, std::string_view value = {});

// Says why this ending is wrong for the execution's task; nothing if it is right.
[[nodiscard]] std::optional<std::string> wrong_ending(const model::Execution& execution);

}  // namespace hapax::torture
