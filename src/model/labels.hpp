// Labels as they are stored: one JSON object {"tags":[…],"metadata":{…},"traceparent":"…","actor":"…"}, absent when all is
// empty.
#pragma once

#include "model/execution.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::model {

[[nodiscard]] std::optional<std::string> encode_labels(const Labels& labels);
[[nodiscard]] Labels decode_labels(std::string_view text);

// ErrorInfo as it is stored: {"type":…,"message":…,"detail":…}. Any bytes are made valid first and long ones cut, so
// that encoding never fails (SPEC P9).
[[nodiscard]] std::string encode_error(const ErrorInfo& error);
[[nodiscard]] ErrorInfo decode_error(std::string_view text);

}  // namespace hapax::model
