#include "base/json.hpp"

#include "base/json_number.hpp"
#include "base/json_text.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hapax::base {

namespace {

// Compares by UTF-16 code units. UTF-8 bytes give the same order except for characters above U+FFFF: UTF-16 writes
// these as surrogates, which come before U+E000 to U+FFFF.
bool before_in_utf16(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() || in_b == b.end()) { return a.size() < b.size(); }
  const auto byte_a = static_cast<std::uint8_t>(*in_a);
  const auto byte_b = static_cast<std::uint8_t>(*in_b);
  const bool high_a = byte_a >= 0xF0;
  const bool high_b = byte_b >= 0xF0;
  if (high_a != high_b && byte_a >= 0xEE && byte_b >= 0xEE) { return high_a; }
  return byte_a < byte_b;
}

struct Member {
  std::string name;
  std::string value;
};

void append_value(std::string& out, JsonCursor& cursor);

void append_object(std::string& out, JsonCursor& cursor) {
  std::vector<Member> members;
  cursor.step();
  while (cursor.peek() != '}') {
    if (cursor.peek() == ',') { cursor.step(); }
    Member& member = members.emplace_back();
    append_json_unescaped(member.name, cursor.string());
    cursor.step();
    append_value(member.value, cursor);
  }
  cursor.step();
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return before_in_utf16(a.name, b.name); });
  out.push_back('{');
  for (std::size_t index = 0; index < members.size(); ++index) {
    if (index > 0) { out.push_back(','); }
    append_json_quoted(out, members[index].name);
    out.push_back(':');
    out += members[index].value;
  }
  out.push_back('}');
}

void append_array(std::string& out, JsonCursor& cursor) {
  out.push_back('[');
  cursor.step();
  while (cursor.peek() != ']') {
    if (cursor.peek() == ',') {
      out.push_back(',');
      cursor.step();
    }
    append_value(out, cursor);
  }
  out.push_back(']');
  cursor.step();
}

void append_number(std::string& out, std::string_view number) {
  if (number.find_first_of(".eE") == std::string_view::npos) {
    out += number == "-0" ? "0" : number;
    return;
  }
  append_ecmascript_number(out, read_json_number(number).value());
}

// Recursion is bounded: check_json has refused text nested deeper than limits::json_depth.
void append_value(std::string& out, JsonCursor& cursor) {
  switch (cursor.peek()) {
    case '{': append_object(out, cursor); break;
    case '[': append_array(out, cursor); break;
    case '"': {
      std::string text;
      append_json_unescaped(text, cursor.string());
      append_json_quoted(out, text);
      break;
    }
    case 't':
    case 'f':
    case 'n': out += cursor.scalar(); break;
    default: append_number(out, cursor.scalar());
  }
}

}  // namespace

std::string canonical_json(std::string_view text, std::string_view field) {
  check_json(text, field);
  std::string out;
  out.reserve(text.size());
  JsonCursor cursor(text);
  append_value(out, cursor);
  return out;
}

}  // namespace hapax::base
