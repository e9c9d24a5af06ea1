// The crash points for child processes: HAPAX_FAULT values (src/base/fault.hpp), chosen at random.
#pragma once

#include "base/random.hpp"

#include <string>

namespace hapax::torture {

// `store` is "sqlite" or "postgres". Child roles differ in the points they pass.
[[nodiscard]] std::string random_fault(base::Random& random, const std::string& store, const std::string& role);

// A fault that loses the replies of committed exchanges, again and again.
[[nodiscard]] std::string lost_replies(const std::string& store);

}  // namespace hapax::torture
