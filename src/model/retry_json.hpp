// A retry policy as JSON says it, in requests and in the catalogue's entries.
#pragma once

#include <hapax/policy.hpp>

#include <string>
#include <string_view>

namespace hapax::model {

// {"base", "cap", "multiplier", "jitter"}, each with its default; a cap that is not named is at least the base. Throws
// InvalidArgument naming the part, as "retry.base".
[[nodiscard]] RetryPolicy decode_retry(std::string_view json, const std::string& field);

}  // namespace hapax::model
