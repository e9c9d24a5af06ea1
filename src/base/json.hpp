// JSON at the door: checked once as bytes, then kept as bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hapax::base {

// Throws InvalidJson naming `field` and the byte offset unless `text` is one JSON value that hapax takes: RFC 8259, depth
// at most limits::json_depth, valid UTF-8, no lone surrogate escapes, no duplicate keys in an object, numbers finite in
// a double, integers within 64 bits. One pass, no tree. `around`: levels of an envelope, which do not count; what is in it
// is checked by itself.
void check_json(std::string_view text, std::string_view field, std::size_t around = 0);

// RFC 8785 canonical form of a value check_json takes, with integers up to 64 bits as exact digits (DESIGN.md).
[[nodiscard]] std::string canonical_json(std::string_view text, std::string_view field = "input");

// `text` as a JSON string literal, quotes included.
[[nodiscard]] std::string json_quote(std::string_view text);

}  // namespace hapax::base
