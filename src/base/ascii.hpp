// Texts of printable ASCII, as most are, told from others eight bytes a step.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace hapax::base {

namespace ascii {

inline constexpr std::uint64_t ones = 0x0101010101010101;
inline constexpr std::uint64_t highs = 0x80 * ones;

// Is one of eight bytes a control character, or beyond ASCII?
constexpr bool has_unprintable(std::uint64_t bytes) {
  return ((bytes | (bytes + ones) | ~((bytes | highs) - 0x20 * ones)) & highs) != 0;
}

constexpr bool has(std::uint64_t bytes, char wanted) {
  const std::uint64_t zero_where_equal = bytes ^ (ones * static_cast<std::uint8_t>(wanted));
  return ((zero_where_equal - ones) & ~zero_where_equal & highs) != 0;
}

// `is_bad(eight bytes)` of none of the text, which is filled up with blanks.
template <class IsBad>
bool none(std::string_view text, IsBad is_bad) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t bytes = 0;
  for (; left >= sizeof bytes; left -= sizeof bytes, at += sizeof bytes) {
    std::memcpy(&bytes, at, sizeof bytes);
    if (is_bad(bytes)) { return false; }
  }
  bytes = 0x20 * ones;
  if (left > 0) { std::memcpy(&bytes, at, left); }
  return !is_bad(bytes);
}

}  // namespace ascii

// U+0020 to U+007E only.
inline bool is_printable_ascii(std::string_view text) {
  return ascii::none(text, [](std::uint64_t bytes) { return ascii::has_unprintable(bytes); });
}

// And neither quotes nor backslashes: in JSON it is written as it is.
inline bool is_plain_ascii(std::string_view text) {
  return ascii::none(text, [](std::uint64_t bytes) {
    return ascii::has_unprintable(bytes) || ascii::has(bytes, '"') || ascii::has(bytes, '\\');
  });
}

}  // namespace hapax::base
