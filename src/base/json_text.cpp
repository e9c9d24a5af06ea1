#include "base/json_text.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"

#include <nlohmann/json.hpp>

namespace hapax::base {

namespace {

constexpr char hex_digits[] = "0123456789abcdef";

void append_escaped_control(std::string& out, char control) {
  switch (control) {
    case '\b': out += "\\b"; return;
    case '\t': out += "\\t"; return;
    case '\n': out += "\\n"; return;
    case '\f': out += "\\f"; return;
    case '\r': out += "\\r"; return;
    default:
      out += "\\u00";
      out.push_back(hex_digits[control >> 4]);
      out.push_back(hex_digits[control & 15]);
  }
}

// ASCII characters that need no escape inside quotes.
bool is_plain(char c) {
  const auto byte = static_cast<std::uint8_t>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

std::uint32_t four_hex_digits(std::string_view text) {
  std::uint32_t value = 0;
  for (const char digit : text.substr(0, 4)) {
    const int add = digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10;
    value = value * 16 + static_cast<std::uint32_t>(add);
  }
  return value;
}

void require(bool holds, std::string_view field, std::string_view expected) {
  if (!holds) { throw InvalidJson(std::string(field), "expected " + std::string(expected), 0); }
}

[[noreturn]] void wrong_type(const JsonMember& member, const std::string& expected) {
  throw InvalidArgument(member.name, "expected " + expected + "; came " + echo(member.value));
}

}  // namespace

void append_json_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* plain = at;
    while (plain != end && is_plain(*plain)) { ++plain; }
    out.append(at, plain);
    at = plain;
    if (at == end) { break; }
    const auto byte = static_cast<std::uint8_t>(*at);
    if (byte == '"' || byte == '\\') {
      out.push_back('\\');
      out.push_back(*at++);
    } else if (byte < 0x20) {
      append_escaped_control(out, *at++);
    } else if (const std::size_t length = utf8_sequence_length(at, end); length > 0) {
      out.append(at, length);
      at += length;
    } else {
      out += "\\\\x";
      out.push_back(hex_digits[byte >> 4]);
      out.push_back(hex_digits[byte & 15]);
      ++at;
    }
  }
  out.push_back('"');
}

std::string json_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  append_json_quoted(out, text);
  return out;
}

void append_json_unescaped(std::string& out, std::string_view inside) {
  while (!inside.empty()) {
    const std::size_t plain = inside.find('\\');
    out.append(inside.substr(0, plain));
    if (plain == std::string_view::npos) { return; }
    const char kind = inside[plain + 1];
    inside.remove_prefix(plain + 2);
    switch (kind) {
      case 'b': out.push_back('\b'); break;
      case 't': out.push_back('\t'); break;
      case 'n': out.push_back('\n'); break;
      case 'f': out.push_back('\f'); break;
      case 'r': out.push_back('\r'); break;
      case 'u': {
        std::uint32_t code_point = four_hex_digits(inside);
        inside.remove_prefix(4);
        if (code_point >= 0xD800 && code_point < 0xDC00) {
          code_point = 0x10000 + ((code_point - 0xD800) << 10) + (four_hex_digits(inside.substr(2)) - 0xDC00);
          inside.remove_prefix(6);
        }
        append_utf8(out, code_point);
        break;
      }
      default: out.push_back(kind);
    }
  }
}

void JsonCursor::skip_space() {
  const std::size_t first = rest_.find_first_not_of(" \t\r\n");
  rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
}

void JsonCursor::step() {
  rest_.remove_prefix(1);
  skip_space();
}

std::string_view JsonCursor::string() {
  std::size_t end = 1;
  while (rest_[end] != '"') { end += rest_[end] == '\\' ? 2 : 1; }
  const std::string_view inside = rest_.substr(1, end - 1);
  rest_.remove_prefix(end);
  step();
  return inside;
}

std::string_view JsonCursor::scalar() {
  const std::string_view found = rest_.substr(0, rest_.find_first_of(" \t\r\n,]}"));
  rest_.remove_prefix(found.size());
  skip_space();
  return found;
}

std::string_view JsonCursor::value() {
  const char* const begin = rest_.data();
  const char* end = begin;
  std::size_t depth = 0;
  do {
    if (rest_.front() == '"') {
      const std::string_view inside = string();
      end = inside.data() + inside.size() + 1;
    } else if (const char first = rest_.front(); first == '{' || first == '[') {
      ++depth;
      step();
    } else if (first == '}' || first == ']') {
      --depth;
      end = rest_.data() + 1;
      step();
    } else if (first == ',' || first == ':') {
      step();
    } else {
      const std::string_view found = scalar();
      end = found.data() + found.size();
    }
  } while (depth > 0);
  return {begin, static_cast<std::size_t>(end - begin)};
}

std::string JsonMember::text() const {
  if (!value.starts_with('"')) { wrong_type(*this, "a string"); }
  std::string out;
  append_json_unescaped(out, value.substr(1, value.size() - 2));
  return out;
}

std::int64_t JsonMember::integer() const {
  const auto number = nlohmann::json::parse(value);
  if (!number.is_number_integer() || (number.is_number_unsigned() && number.get<std::uint64_t>() > INT64_MAX)) {
    wrong_type(*this, "an integer");
  }
  return number.get<std::int64_t>();
}

bool JsonMember::boolean() const {
  if (value != "true" && value != "false") { wrong_type(*this, "true or false"); }
  return value == "true";
}

std::vector<std::string> JsonMember::texts() const {
  const auto list = nlohmann::json::parse(value);
  if (!list.is_array()) { wrong_type(*this, "an array of strings"); }
  std::vector<std::string> all;
  for (const auto& item : list) {
    if (!item.is_string()) { wrong_type(*this, "an array of strings"); }
    all.push_back(item.get<std::string>());
  }
  return all;
}

std::vector<JsonMember> json_members(std::string_view text, std::string_view field) {
  check_json(text, field);
  require(JsonCursor(text).peek() == '{', field, "an object");
  return checked_members(text, field);
}

std::vector<JsonMember> checked_members(std::string_view object, std::string_view field) {
  JsonCursor cursor(object);
  if (cursor.done() || cursor.peek() != '{') {
    throw InvalidArgument(std::string(field), field == "line"
                                                  ? "expected a JSON object such as {\"task\":\"greet\",\"input\":{}}"
                                                  : "expected a JSON object");
  }
  std::vector<JsonMember> members;
  members.reserve(8);
  cursor.step();
  while (cursor.peek() != '}') {
    if (cursor.peek() == ',') { cursor.step(); }
    JsonMember& member = members.emplace_back();
    append_json_unescaped(member.name, cursor.string());
    cursor.step();
    member.value = cursor.value();
  }
  return members;
}

std::vector<std::string_view> json_items(std::string_view text, std::string_view field) {
  check_json(text, field);
  JsonCursor cursor(text);
  require(cursor.peek() == '[', field, "an array");
  std::vector<std::string_view> items;
  cursor.step();
  while (cursor.peek() != ']') {
    if (cursor.peek() == ',') { cursor.step(); }
    items.push_back(cursor.value());
  }
  return items;
}

std::string json_string(std::string_view text, std::string_view field) {
  check_json(text, field);
  JsonCursor cursor(text);
  require(cursor.peek() == '"', field, "a string");
  std::string out;
  append_json_unescaped(out, cursor.string());
  return out;
}

}  // namespace hapax::base
