// Reads JSON numbers and writes ECMAScript numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hapax::base {

// The double nearest to a JSON number; none when that is infinite. A number too small for a double is zero.
[[nodiscard]] std::optional<double> read_json_number(std::string_view number);

// Whether a JSON number without fraction and exponent fits a signed or an unsigned 64-bit integer.
[[nodiscard]] bool fits_64_bits(std::string_view integer);

// Appends a finite double as ECMAScript's Number.prototype.toString writes it, the form RFC 8785 asks for.
void append_ecmascript_number(std::string& out, double number);

}  // namespace hapax::base
