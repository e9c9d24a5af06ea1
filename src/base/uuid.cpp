#include <hapax/uuid.hpp>

namespace hapax {

namespace {

constexpr bool hyphen_before(std::size_t byte) { return byte == 4 || byte == 6 || byte == 8 || byte == 10; }

constexpr int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') { return digit - '0'; }
  if (digit >= 'a' && digit <= 'f') { return digit - 'a' + 10; }
  if (digit >= 'A' && digit <= 'F') { return digit - 'A' + 10; }
  return -1;
}

}  // namespace

std::string Uuid::to_string() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(36, '-');
  std::size_t at = 0;
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    if (hyphen_before(index)) { ++at; }
    text[at++] = digits[bytes[index] >> 4];
    text[at++] = digits[bytes[index] & 15];
  }
  return text;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) { return std::nullopt; }
  Uuid id;
  std::size_t at = 0;
  for (std::size_t index = 0; index < id.bytes.size(); ++index) {
    if (hyphen_before(index) && text[at++] != '-') { return std::nullopt; }
    const int high = hex_value(text[at++]);
    const int low = hex_value(text[at++]);
    if (high < 0 || low < 0) { return std::nullopt; }
    id.bytes[index] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return id;
}

}  // namespace hapax
