// The environment of the programs that `hapax work --exec` starts: the variables of the protocol, and the worker's own
// environment without hapax's own variables (docs/decisions/0051).
#pragma once

#include "model/execution.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

// Made once per worker and never changed; any thread may call of().
class ChildEnvironment {
 public:
  // `entries` are NAME=value, as in environ. Keeps all entries that are not hapax's own, and the variables that
  // `passed` names.
  ChildEnvironment(const char* const* entries, const std::vector<std::string>& passed);

  // NAME=value for one claim, each name once.
  [[nodiscard]] std::vector<std::string> of(const model::Claim& claim) const;

 private:
  std::vector<std::string> kept_;
};

// Throws InvalidArgument for a name that --pass-env refuses: an invalid name, or a variable that the protocol sets.
void check_passed_name(const std::string& name);

}  // namespace hapax::cli
