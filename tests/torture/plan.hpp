// The load: which tasks there are, what their handlers do, and how each may end. Kept in one place, so that producers,
// workers and the checker cannot disagree.
#pragma once

#include "base/random.hpp"
#include "model/execution.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::torture {

// Lost leases an innocent execution may suffer: more than any run causes, so that being lost never ends it.
inline constexpr int innocent_max_lost = 500;
inline constexpr int poison_max_lost = 3;
inline constexpr int doomed_max_attempts = 2;

[[nodiscard]] std::vector<std::string> chaos_queues();

// A uniform draw in [0, bound).
[[nodiscard]] int below(base::Random& random, int bound);
[[nodiscard]] inline bool one_in(base::Random& random, int bound) { return below(random, bound) == 0; }

// A request for a random task of the load, never keyed.
[[nodiscard]] model::NewExecution random_request(base::Random& random);
[[nodiscard]] model::NewExecution request(std::string_view task, std::string_view queue);
// Two requests with the same key are the same; producers share a small, moving set of keys.
[[nodiscard]] model::NewExecution keyed_request(const std::string& key);

enum class Act : std::uint8_t {
  complete,
  complete_in_transaction,  // with a row of its own in the same transaction
  complete_once,            // after a recorded sub-step
  retry,
  fail,
  snooze,
  die,  // kills its own process
};

struct Behaviour {
  Act act = Act::complete;
  Duration work{0};   // how long the handler takes
  Duration delay{0};  // before a retry or after a snooze
};

// Chosen by id and fence alone, so that any worker behaves alike and a seed means something.
[[nodiscard]] Behaviour behaviour(std::string_view task, const Uuid& id, std::int64_t fence);

// A result names the claim that made it, without spaces: {"child":17,"fence":3,"value":"…"}.
[[nodiscard]] std::string result_text(int child, std::int64_t fence, std::string_view value = {});

// Why this ending is wrong for its task, or nothing.
[[nodiscard]] std::optional<std::string> wrong_ending(const model::Execution& execution);

}  // namespace hapax::torture
