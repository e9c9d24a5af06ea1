// Tests for text of printable ASCII, the usual case, eight bytes a step.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace hapax::base {

namespace ascii {

inline constexpr std::uint64_t ones = 0x0101010101010101;
inline constexpr std::uint64_t highs = 0x80 * ones;

// Whether one of eight bytes is a control character or not ASCII.
constexpr bool has_unprintable(std::uint64_t bytes) {
  return ((bytes | (bytes + ones) | ~((bytes | highs) - 0x20 * ones)) & highs) != 0;
}

constexpr bool has(std::uint64_t bytes, char wanted) {
  const std::uint64_t zero_where_equal = bytes ^ (ones * static_cast<std::uint8_t>(wanted));
  return ((zero_where_equal - ones) & ~zero_where_equal & highs) != 0;
}

// Whether `is_bad` is false for every eight bytes of the text. Blanks fill up the last eight.
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

// Whether the text has only U+0020 to U+007E.
inline bool is_printable_ascii(std::string_view text) {
  return ascii::none(text, [](std::uint64_t bytes) { return ascii::has_unprintable(bytes); });
}

// Whether the text is printable ASCII without quotes and backslashes: JSON writes such text unescaped.
inline bool is_plain_ascii(std::string_view text) {
  return ascii::none(text, [](std::uint64_t bytes) {
    return ascii::has_unprintable(bytes) || ascii::has(bytes, '"') || ascii::has(bytes, '\\');
  });
}

}  // namespace hapax::base
