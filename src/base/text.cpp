#include "base/text.hpp"

#include "base/ascii.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace hapax::base {

namespace {

void append_hex_escape(std::string& out, char byte) {
  static constexpr char digits[] = "0123456789abcdef";
  const auto value = static_cast<std::uint8_t>(byte);
  out += "\\x";
  out.push_back(digits[value >> 4]);
  out.push_back(digits[value & 15]);
}

bool is_c0_or_delete(char byte) { return static_cast<std::uint8_t>(byte) < 0x20 || byte == 0x7F; }

// U+0080 to U+009F, written in two bytes.
bool is_c1(const char* at, std::size_t length) {
  return length == 2 && static_cast<std::uint8_t>(at[0]) == 0xC2 && static_cast<std::uint8_t>(at[1]) < 0xA0;
}

// Appends one character in printable form; returns where the next one begins.
const char* append_printable(std::string& out, const char* at, const char* end, bool allow_newline) {
  const std::size_t length = utf8_sequence_length(at, end);
  const bool allowed = allow_newline && (*at == '\n' || *at == '\t');
  if (length == 0 || (is_c0_or_delete(*at) && !allowed)) {
    append_hex_escape(out, *at);
    return at + 1;
  }
  if (is_c1(at, length)) {
    append_hex_escape(out, at[1]);
  } else {
    out.append(at, length);
  }
  return at + length;
}

struct Echo {
  std::string head;
  std::string length;  // " (1048576 bytes)" when the text was cut
};

Echo echo_of(std::string_view text) {
  Echo shown;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const std::size_t before = shown.head.size();
    at = append_printable(shown.head, at, end, false);
    if (shown.head.size() <= limits::echo_bytes) { continue; }
    shown.head.resize(before);
    shown.head += "…";
    shown.length = " (" + std::to_string(text.size()) + " bytes)";
    break;
  }
  return shown;
}

bool is_continuation(char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) == 0x80; }

// A cut moves by at most this many continuation bytes, the most that one character has: the text may not be UTF-8.
constexpr std::size_t continuation_bytes_max = 3;

}  // namespace

bool is_valid_utf8(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const std::size_t length = utf8_sequence_length(at, end);
    if (length == 0) { return false; }
    at += length;
  }
  return true;
}

bool has_control_characters(std::string_view text) {
  if (is_printable_ascii(text)) { return false; }
  for (std::size_t index = 0; index < text.size(); ++index) {
    if (is_c0_or_delete(text[index])) { return true; }
    if (index + 1 < text.size() && is_continuation(text[index + 1]) && is_c1(text.data() + index, 2)) { return true; }
  }
  return false;
}

std::string escape_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const std::size_t length = utf8_sequence_length(at, end);
    if (length == 0 || *at == '\0') {
      append_hex_escape(out, *at++);
    } else {
      out.append(at, length);
      at += length;
    }
  }
  return out;
}

std::string keep_head(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) { return std::string(text); }
  std::size_t cut = bytes;
  for (std::size_t step = 0; step < continuation_bytes_max && cut > 0 && is_continuation(text[cut]); ++step) { --cut; }
  return std::string(text.substr(0, is_continuation(text[cut]) ? bytes : cut));
}

std::string keep_tail(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) { return std::string(text); }
  const std::size_t first = text.size() - bytes;
  std::size_t cut = first;
  for (std::size_t step = 0; step < continuation_bytes_max && cut < text.size() && is_continuation(text[cut]); ++step) {
    ++cut;
  }
  const bool inside = cut < text.size() && is_continuation(text[cut]);
  return std::string(text.substr(inside ? first : cut));
}

std::string printable(std::string_view text, bool allow_newline) {
  std::string out;
  out.reserve(text.size());
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) { at = append_printable(out, at, end, allow_newline); }
  return out;
}

std::string echo(std::string_view text) {
  const Echo shown = echo_of(text);
  return shown.head + shown.length;
}

std::string quoted(std::string_view text, char quote) {
  const Echo shown = echo_of(text);
  return quote + shown.head + quote + shown.length;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table. A row has the distances of a prefix of `a` to all prefixes of `b`: of the current prefix,
  // of the one before it and of the one before that.
  std::vector<std::size_t> row(b.size() + 1), before(b.size() + 1), second_before(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t in_a = 1; in_a <= a.size(); ++in_a) {
    std::swap(before, second_before);
    std::swap(row, before);
    row[0] = in_a;
    for (std::size_t in_b = 1; in_b <= b.size(); ++in_b) {
      const bool same = a[in_a - 1] == b[in_b - 1];
      row[in_b] = std::min({before[in_b - 1] + (same ? 0 : 1), before[in_b] + 1, row[in_b - 1] + 1});
      if (in_a > 1 && in_b > 1 && a[in_a - 1] == b[in_b - 2] && a[in_a - 2] == b[in_b - 1]) {
        row[in_b] = std::min(row[in_b], second_before[in_b - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string lower(std::string_view text) {
  std::string made(text);
  for (char& letter : made) { letter = lower(letter); }
  return made;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) { text.remove_prefix(1); }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) { text.remove_suffix(1); }
  return text;
}

}  // namespace hapax::base
