// Interpretation of some header values. Pure functions.
#pragma once

#include <string_view>

namespace hapax::http {

// application/json, or a type that ends in +json; with charset utf-8 if it has a charset.
[[nodiscard]] bool is_json(std::string_view content_type);
// application/x-ndjson, application/ndjson or application/jsonl.
[[nodiscard]] bool is_ndjson(std::string_view content_type);
// The type without its parameters, in its original case: "application/json".
[[nodiscard]] std::string_view media_type(std::string_view content_type);

// localhost, 127.0.0.0/8 or [::1]; `host` is in lower case, without a port.
[[nodiscard]] bool is_loopback_host(std::string_view host);
// Whether an Origin header names the host and port of the request.
[[nodiscard]] bool is_same_origin(std::string_view origin, std::string_view host);

}  // namespace hapax::http
