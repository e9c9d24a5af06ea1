// The environment of the programs that `hapax work --exec` starts: the variables of the protocol (SPEC L1) over the
// worker's own environment, without what is hapax's own (docs/decisions/0051).
#pragma once

#include "model/execution.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

// A value made once for a worker; any thread may ask it.
class ChildEnvironment {
 public:
  // `entries` are NAME=value, as in environ. Kept are those that are not hapax's own, and those that `passed` names.
  ChildEnvironment(const char* const* entries, const std::vector<std::string>& passed);

  // NAME=value for one claim, each name once.
  [[nodiscard]] std::vector<std::string> of(const model::Claim& claim) const;

 private:
  std::vector<std::string> kept_;
};

// Throws InvalidArgument for a name that --pass-env cannot take: none, or one that the protocol sets.
void check_passed_name(const std::string& name);

}  // namespace hapax::cli
