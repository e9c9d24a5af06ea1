// JSON Pointers (RFC 6901) into checked JSON text.
#pragma once

#include <optional>
#include <string_view>

namespace hapax::base {

// Throws InvalidArgument naming `field` unless `pointer` is a JSON Pointer: empty, or parts that each follow a slash,
// with ~0 and ~1 for tilde and slash.
void check_json_pointer(std::string_view pointer, std::string_view field);

// The bytes of the value that a checked pointer names in text that check_json has accepted; none when there is no such
// value. Array indexes are plain numbers.
[[nodiscard]] std::optional<std::string_view> find_json_pointer(std::string_view checked, std::string_view pointer);

}  // namespace hapax::base
