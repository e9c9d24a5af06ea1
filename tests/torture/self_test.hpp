// A checker that cannot fail proves nothing: before each run it is told lies, one a rule, and must find every one.
#pragma once

#include <string>

namespace hapax::torture {

// Works on a small SQLite store of its own below `folder`. Throws, naming the rule, when a lie is believed.
void check_the_checker(const std::string& folder);

}  // namespace hapax::torture
