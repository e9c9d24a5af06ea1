// Linearizability of one key's history: is there an order of its operations, each at some instant between its beginning
// and its end, in which every answer is the one the state machine gives?
//
// The search of Wing and Gong, with the states that were seen before left out. An operation without an answer may be
// anywhere after its beginning, or nowhere.
#pragma once

#include "herd/model.hpp"

#include <cstdint>
#include <vector>

namespace hapax::herd {

enum class Verdict : std::uint8_t {
  linearizable,
  broken,
  undecided,  // more operations or states than the search takes on
};

[[nodiscard]] Verdict check_history(const std::vector<Operation>& operations);

// Throws when a history that is in order is refused, or a broken one believed.
void check_the_history_checker();

}  // namespace hapax::herd
