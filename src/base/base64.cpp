#include "base/base64.hpp"

#include <array>
#include <cstdint>

namespace hapax::base {

namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 64;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_digit);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> values = make_values();

std::uint32_t byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::uint32_t group = byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at + 2);
    text.push_back(digits[group >> 18]);
    text.push_back(digits[group >> 12 & 63U]);
    text.push_back(at + 1 < bytes.size() ? digits[group >> 6 & 63U] : '=');
    text.push_back(at + 2 < bytes.size() ? digits[group & 63U] : '=');
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) { return std::nullopt; }
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  const std::size_t count = text.size() - padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  for (std::size_t at = 0; at < count; ++at) {
    const std::uint8_t value = values[static_cast<unsigned char>(text[at])];
    if (value == no_digit) { return std::nullopt; }
    group = group << 6 | value;
    if (at % 4 == 3) {
      for (const int shift : {16, 8, 0}) { bytes.push_back(static_cast<char>(group >> shift & 255U)); }
      group = 0;
    }
  }
  // The unused bits of the last group must be zero, so that each text has one encoding.
  if (padding == 2) {
    if ((group & 15U) != 0) { return std::nullopt; }
    bytes.push_back(static_cast<char>(group >> 4 & 255U));
  } else if (padding == 1) {
    if ((group & 3U) != 0) { return std::nullopt; }
    bytes.push_back(static_cast<char>(group >> 10 & 255U));
    bytes.push_back(static_cast<char>(group >> 2 & 255U));
  }
  return bytes;
}

}  // namespace hapax::base
