// Which calls of effects may have been made again because their record was lost with the process that made them.
#pragma once

#include "workflow/ledger.hpp"

#include <map>
#include <set>
#include <vector>

namespace hapax::torture {

struct Fates {
  // By process: when it lost what it had in hand, by a kill (its last sign of life) or an injected fault.
  std::multimap<int, Time> losses;
  std::set<int> troubled;  // had other trouble with their store or their lease
};

using Calls = std::map<generated::EffectKey, std::vector<generated::Call>>;

// How many of each effect, in a program's calls. An actor does one thing after the other: of what a process did for it
// before a loss only the last call is among them, and only if all later calls came after the loss. Of a process in
// trouble all are. The very last call of an effect has nobody after it: it is among them when all others are.
[[nodiscard]] std::map<generated::EffectKey, int> lost_calls(const Calls& calls, const Fates& fates);

// Throws if the function above believes a lie.
void check_lost_calls();

}  // namespace hapax::torture
