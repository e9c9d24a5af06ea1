// Oracle: says without hapax what a program must have done.
//
// It is told what depends on the moment (which runs ever began, how each ended, where a cancellation struck, which patch
// was in force) and answers with every effect: what it was given, how often it is called at least and at most when no
// record is lost, and which effects come before it. What it is told must fit: a run that nobody cancels must end as the
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
  std::map<std::string, ObservedRun> runs;  // by actor; those that began
  std::map<EffectKey, std::vector<Call>> calls;
  std::map<EffectKey, int> lost;  // calls whose record a crash may have taken
  bool cancel_asked = false;
  // The root was cancelled because nothing else could happen any more.
  bool cancelled_when_idle = false;
};

// What is wrong; empty: nothing.
[[nodiscard]] std::vector<std::string> check(const Program& program, const std::string& chain,
                                             const Observed& observed);

}  // namespace hapax::generated
