// Checks for JSON from outside: text is checked once, then kept as bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hapax::base {

// Throws InvalidJson naming `field` and the byte offset unless `text` is one JSON value that hapax accepts: RFC 8259,
// depth at most limits::json_depth, valid UTF-8, no lone surrogate escapes, no duplicate keys in an object, numbers
// finite in a double, integers within 64 bits. One pass, no tree. `outer_levels`: levels of an envelope around the
// value, which do not count towards the depth, because the value inside is checked by itself.
void check_json(std::string_view text, std::string_view field, std::size_t outer_levels = 0);

// The RFC 8785 canonical form of a value that check_json accepts, except that integers up to 64 bits keep their exact
// digits. Throws like check_json.
[[nodiscard]] std::string canonical_json(std::string_view text, std::string_view field = "input");

// `text` as a JSON string literal, quotes included.
[[nodiscard]] std::string json_quote(std::string_view text);

}  // namespace hapax::base
