// The stored form of labels: one JSON object {"tags":[…],"metadata":{…},"traceparent":"…","tracestate":"…","actor":"…",
// "forked_from":"…"}, absent when all labels are empty.
#pragma once

#include "model/execution.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::model {

[[nodiscard]] std::optional<std::string> encode_labels(const Labels& labels);
[[nodiscard]] Labels decode_labels(std::string_view text);

// The stored form of ErrorInfo: {"type":…,"message":…,"detail":…}. Invalid bytes are escaped and long texts cut, so
// that encoding never fails.
[[nodiscard]] std::string encode_error(const ErrorInfo& error);
[[nodiscard]] ErrorInfo decode_error(std::string_view text);

// Whether the metadata has all of these members.
[[nodiscard]] bool has_metadata(const Labels& labels, const std::vector<MetadataMatch>& wanted);

// Parses KEY=VALUE. Throws InvalidArgument.
[[nodiscard]] MetadataMatch parse_metadata_match(std::string_view text);
// Throws InvalidArgument for more than limits::tags conditions, and for text that is no UTF-8, too long or has a NUL.
void check_metadata_matches(const std::vector<MetadataMatch>& wanted);

}  // namespace hapax::model
