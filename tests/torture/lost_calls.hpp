// Counts the calls of effects whose record may have been lost with their process, so that the effect may be called
// again.
#pragma once

#include "workflow/ledger.hpp"

#include <map>
#include <set>
#include <vector>

namespace hapax::torture {

struct Fates {
  // By process: the time of a kill (the process's last line) or of an injected fault, which lose the call in progress.
  std::multimap<int, Time> losses;
  std::set<int> troubled;  // had other trouble with the store or the lease
};

using Calls = std::map<generated::EffectKey, std::vector<generated::Call>>;

// Lost calls of each effect. An actor does one thing at a time, so of a process's calls for it before a loss only the
// last one may be lost, and only if all later calls of the effect came after the loss. All calls of a troubled process
// may be lost. The very last call of an effect has no successor: it counts as lost only if all others do.
[[nodiscard]] std::map<generated::EffectKey, int> lost_calls(const Calls& calls, const Fates& fates);

// Self-test: throws if lost_calls gives a wrong answer.
void check_lost_calls();

}  // namespace hapax::torture
