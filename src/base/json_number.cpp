#include "base/json_number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace hapax::base {

namespace {

// Whether a number that a double cannot hold is too large, rather than too close to zero. The power of ten of its first
// non-zero digit decides, because only numbers above 1e308 and below 1e-323 get here.
bool is_too_large(std::string_view number) {
  const std::size_t mark = number.find_first_of("eE");
  const std::string_view mantissa = number.substr(0, mark);
  const std::size_t first = mantissa.find_first_not_of("-0.");
  if (first == std::string_view::npos) { return false; }
  std::int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view digits = number.substr(mark + 1);
    if (digits.front() == '+') { digits.remove_prefix(1); }
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec == std::errc::result_out_of_range) {
      return digits.front() != '-';
    }
  }
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::int64_t power =
      first < point ? static_cast<std::int64_t>(point - first) - 1 : -static_cast<std::int64_t>(first - point);
  // The power of the mantissa is bounded by the text's length; a saturated sum keeps its sign.
  constexpr std::int64_t far = std::int64_t{1} << 60;
  return std::min(std::max(exponent, -far), far) + power > 0;
}

}  // namespace

std::optional<double> read_json_number(std::string_view number) {
  double value = 0;
  const std::errc problem = std::from_chars(number.data(), number.data() + number.size(), value).ec;
  if (problem == std::errc::result_out_of_range) { return is_too_large(number) ? std::nullopt : std::optional(0.0); }
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool fits_64_bits(std::string_view integer) {
  // 18 digits always fit.
  if (integer.size() <= 18) { return true; }
  const char* const end = integer.data() + integer.size();
  if (integer.front() == '-') {
    std::int64_t value = 0;
    return std::from_chars(integer.data(), end, value).ec == std::errc();
  }
  std::uint64_t value = 0;
  return std::from_chars(integer.data(), end, value).ec == std::errc();
}

void append_ecmascript_number(std::string& out, double number) {
  if (number == 0) {
    out.push_back('0');
    return;
  }
  if (number < 0) {
    out.push_back('-');
    number = -number;
  }
  // The shortest digits that read back as this double, in the form d.ddde±xx.
  std::array<char, 32> text;
  const char* const end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific).ptr;
  const std::string_view scientific(text.data(), static_cast<std::size_t>(end - text.data()));
  const std::size_t mark = scientific.find('e');
  std::string digits(scientific.substr(0, 1));
  if (mark > 1) { digits += scientific.substr(2, mark - 2); }
  int exponent = 0;
  const std::size_t sign = scientific[mark + 1] == '+' ? 2 : 1;
  std::from_chars(text.data() + mark + sign, end, exponent);

  // `point`: the position of the decimal point, counted from the first digit (n in ECMA-262, 6.1.6.1.20).
  const int point = exponent + 1;
  const int count = static_cast<int>(digits.size());
  if (count <= point && point <= 21) {
    out += digits;
    out.append(static_cast<std::size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    out.append(digits, 0, static_cast<std::size_t>(point));
    out.push_back('.');
    out.append(digits, static_cast<std::size_t>(point));
  } else if (-6 < point && point <= 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-point), '0');
    out += digits;
  } else {
    out.push_back(digits.front());
    if (count > 1) {
      out.push_back('.');
      out.append(digits, 1);
    }
    out.push_back('e');
    out.push_back(exponent < 0 ? '-' : '+');
    out += std::to_string(std::abs(exponent));
  }
}

}  // namespace hapax::base
