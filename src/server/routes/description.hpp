// The API's own description: docs/reference/openapi.yaml, as JSON, in the program.
#pragma once

#include <string_view>

namespace hapax::server {

// Made by scripts/embed_openapi.py at build time.
[[nodiscard]] std::string_view openapi_json();

}  // namespace hapax::server
