// Oracle: computes, without hapax, what a program must have done.
//
// Input: the facts that depend on timing (which runs began, how each ended, where a cancellation struck, which patch
// was in force). Output: each effect with the value it was given, the least and most calls when no record is lost, and
// the effects that must come before it. The facts must fit the program too: a run that nobody cancels must end as the
// tree says.
#pragma once

#include "workflow/ledger.hpp"
#include "workflow/program.hpp"

#include <hapax/status.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hapax::generated {

struct ObservedRun {
  ActorLog log;
  std::optional<Status> status;  // none: not ended
  std::optional<std::uint32_t> result;
  bool continued = false;
};

struct Observed {
  std::map<std::string, ObservedRun> runs;  // by actor; runs that began
  std::map<EffectKey, std::vector<Call>> calls;
  std::map<EffectKey, int> lost;  // number of calls whose record a crash may have lost
  bool cancel_asked = false;
  // The test cancelled the root because nothing else could happen any more.
  bool cancelled_when_idle = false;
};

// Returns all violations; empty if there is none.
[[nodiscard]] std::vector<std::string> check(const Program& program, const std::string& chain,
                                             const Observed& observed);

}  // namespace hapax::generated
