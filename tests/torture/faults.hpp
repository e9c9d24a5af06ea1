// The crash points that children are started with: HAPAX_FAULT texts (src/base/fault.hpp), chosen at random.
#pragma once

#include "base/random.hpp"

#include <string>

namespace hapax::torture {

// `store` is "sqlite" or "postgres". Some child roles pass other points than others.
[[nodiscard]] std::string random_fault(base::Random& random, const std::string& store, const std::string& role);

// Replies of committed exchanges are lost, again and again.
[[nodiscard]] std::string lost_replies(const std::string& store);

}  // namespace hapax::torture
