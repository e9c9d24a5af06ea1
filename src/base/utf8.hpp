// One UTF-8 sequence at a time; used by the checks of text and of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace hapax::base {

// The length of the well-formed sequence at `at`, or 0 when there is none (overlong forms, surrogates and code points
// above U+10FFFF are not well-formed). `at` must be before `end`.
[[nodiscard]] inline std::size_t utf8_sequence_length(const char* at, const char* end) {
  const auto byte = [at](std::size_t index) { return static_cast<std::uint8_t>(at[index]); };
  const auto continues = [byte](std::size_t index) { return (byte(index) & 0xC0) == 0x80; };
  const auto left = static_cast<std::size_t>(end - at);
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) { return 1; }
  if (lead < 0xC2) { return 0; }
  if (lead < 0xE0) { return left >= 2 && continues(1) ? 2 : 0; }
  if (lead < 0xF0) {
    if (left < 3 || !continues(1) || !continues(2)) { return 0; }
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead > 0xF4 || left < 4 || !continues(1) || !continues(2) || !continues(3)) { return 0; }
  const bool overlong = lead == 0xF0 && byte(1) < 0x90;
  const bool too_high = lead == 0xF4 && byte(1) >= 0x90;
  return overlong || too_high ? 0 : 4;
}

// `code_point` must be a Unicode scalar value.
inline void append_utf8(std::string& out, std::uint32_t code_point) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(static_cast<std::uint8_t>(byte))); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

}  // namespace hapax::base
