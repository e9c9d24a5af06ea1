// The JSON form of a retry policy, in requests and in catalogue entries.
#pragma once

#include <hapax/policy.hpp>

#include <string>
#include <string_view>

namespace hapax::model {

// {"base", "cap", "multiplier", "jitter"}, each with its default; an omitted cap is at least the base. Throws
// InvalidArgument naming the member, such as "retry.base".
[[nodiscard]] RetryPolicy decode_retry(std::string_view json, const std::string& field);

}  // namespace hapax::model
