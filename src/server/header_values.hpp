// What some headers' values mean. Pure functions.
#pragma once

#include <string_view>

namespace hapax::server {

// application/json, or a type that ends in +json; in UTF-8 if it says a charset.
[[nodiscard]] bool is_json(std::string_view content_type);
// application/x-ndjson, application/ndjson or application/jsonl.
[[nodiscard]] bool is_ndjson(std::string_view content_type);
// The type without its parameters, as it came: "application/json".
[[nodiscard]] std::string_view media_type(std::string_view content_type);

// localhost, 127.0.0.0/8 or [::1]; in lower case, without a port.
[[nodiscard]] bool is_loopback_host(std::string_view host);
// Whether an Origin names the host that the request went to, with its port.
[[nodiscard]] bool is_same_origin(std::string_view origin, std::string_view host);

}  // namespace hapax::server
