// Self-test of the checker: before each run it gets false logs, one for each rule, and must reject every one.
#pragma once

#include <string>

namespace hapax::torture {

// Uses a small SQLite store of its own below `folder`. Throws and names the rule if the checker accepts a false log.
void check_the_checker(const std::string& folder);

}  // namespace hapax::torture
