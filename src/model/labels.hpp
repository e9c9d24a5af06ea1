// Labels as they are stored: one JSON object {"tags":[…],"metadata":{…},"traceparent":"…","actor":"…",
// "forked_from":"…"}, absent when all is empty.
#pragma once

#include "model/execution.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::model {

[[nodiscard]] std::optional<std::string> encode_labels(const Labels& labels);
[[nodiscard]] Labels decode_labels(std::string_view text);

// ErrorInfo as it is stored: {"type":…,"message":…,"detail":…}. Any bytes are made valid first and long ones cut, so
// that encoding never fails (SPEC P9).
[[nodiscard]] std::string encode_error(const ErrorInfo& error);
[[nodiscard]] ErrorInfo decode_error(std::string_view text);

// Whether the metadata has all of these members.
[[nodiscard]] bool has_metadata(const Labels& labels, const std::vector<MetadataMatch>& wanted);

// KEY=VALUE, as people give it. Throws InvalidArgument.
[[nodiscard]] MetadataMatch parse_metadata_match(std::string_view text);
// Throws InvalidArgument unless there are few of them, and text that any store can look for.
void check_metadata_matches(const std::vector<MetadataMatch>& wanted);

}  // namespace hapax::model
