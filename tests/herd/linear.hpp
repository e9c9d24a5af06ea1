// Linearizability of one key's history: is there an order of its operations, each at some instant between its beginning
// and its end, in which every answer is the one the state machine gives?
//
// The search of Wing and Gong, skipping states already visited. An operation without an answer may happen at any time
// after its beginning, or never.
#pragma once

#include "herd/model.hpp"

#include <cstdint>
#include <vector>

namespace hapax::herd {

enum class Verdict : std::uint8_t {
  linearizable,
  broken,
  undecided,  // more operations or states than the search allows
};

[[nodiscard]] Verdict check_history(const std::vector<Operation>& operations);

// Self-test: throws if a correct history is refused or a broken one is accepted.
void check_the_history_checker();

}  // namespace hapax::herd
