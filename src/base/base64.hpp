// Base64 with padding (RFC 4648, section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hapax::base {

[[nodiscard]] std::string to_base64(std::string_view bytes);

// Returns nothing for text that to_base64 would not write.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace hapax::base
