// The version of hapax that a program is compiled with.
#pragma once

#include <string_view>

#define HAPAX_VERSION_MAJOR 0
#define HAPAX_VERSION_MINOR 1
#define HAPAX_VERSION_PATCH 0
// For comparisons in #if: 0.1.0 is 100, 1.2.3 is 10203.
#define HAPAX_VERSION_NUMBER (HAPAX_VERSION_MAJOR * 10000 + HAPAX_VERSION_MINOR * 100 + HAPAX_VERSION_PATCH)
#define HAPAX_VERSION "0.1.0"

namespace hapax {

inline constexpr std::string_view version = HAPAX_VERSION;

}  // namespace hapax
