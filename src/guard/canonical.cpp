// Writes arguments as RFC 8785 JSON, byte for byte as base::canonical_json does, but usually without a pass through
// text.
#include <hapax/detail/guard_call.hpp>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "base/json_number.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace hapax::detail {

namespace {

// Whether the order of UTF-8 bytes may differ from that of UTF-16 units, by which RFC 8785 sorts.
bool may_sort_otherwise(const std::string& name) {
  return std::ranges::any_of(name, [](char c) { return static_cast<std::uint8_t>(c) >= 0xEE; });
}

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  out.append(text);
  out.push_back('"');
}

void append_by_text(std::string& out, const nlohmann::json& value) {
  out += base::canonical_json(encode_strict(value, "arguments"), "arguments");
}

void append_value(std::string& out, const nlohmann::json& value, std::size_t depth);

void append_object(std::string& out, const nlohmann::json& value, std::size_t depth) {
  const auto& members = value.get_ref<const nlohmann::json::object_t&>();
  for (const auto& [name, member] : members) {
    if (may_sort_otherwise(name)) { return append_by_text(out, value); }
  }
  out.push_back('{');
  bool first = true;
  for (const auto& [name, member] : members) {
    if (!first) { out.push_back(','); }
    first = false;
    append_canonical_text(out, name);
    out.push_back(':');
    append_value(out, member, depth + 1);
  }
  out.push_back('}');
}

void append_array(std::string& out, const nlohmann::json& value, std::size_t depth) {
  out.push_back('[');
  for (std::size_t index = 0; index < value.size(); ++index) {
    if (index > 0) { out.push_back(','); }
    append_value(out, value[index], depth + 1);
  }
  out.push_back(']');
}

void append_value(std::string& out, const nlohmann::json& value, std::size_t depth) {
  using Type = nlohmann::json::value_t;
  if (depth > limits::json_depth) {
    refuse_argument("nested deeper than " + std::to_string(limits::json_depth) + " levels");
  }
  switch (value.type()) {
    case Type::null: out += "null"; break;
    case Type::boolean: out += value.get<bool>() ? "true" : "false"; break;
    case Type::number_integer: append_canonical_integer(out, value.get<std::int64_t>()); break;
    case Type::number_unsigned: append_canonical_integer(out, value.get<std::uint64_t>()); break;
    case Type::number_float: append_canonical_number(out, value.get<double>()); break;
    case Type::string: append_canonical_text(out, value.get_ref<const std::string&>()); break;
    case Type::array: append_array(out, value, depth); break;
    case Type::object: append_object(out, value, depth); break;
    case Type::binary:
    case Type::discarded: append_by_text(out, value); break;
  }
}

// Writes the same bytes as dump(). False: the value needs dump(), which writes or refuses it.
bool append_plainly(std::string& out, const nlohmann::json& value, std::size_t depth) {
  using Type = nlohmann::json::value_t;
  if (depth > limits::json_depth) { return false; }
  const auto quoted = [&out](const std::string& text) {
    if (!base::is_plain_ascii(text)) { return false; }
    append_quoted(out, text);
    return true;
  };
  switch (value.type()) {
    case Type::null: out += "null"; return true;
    case Type::boolean: out += value.get<bool>() ? "true" : "false"; return true;
    case Type::number_integer: append_canonical_integer(out, value.get<std::int64_t>()); return true;
    case Type::number_unsigned: append_canonical_integer(out, value.get<std::uint64_t>()); return true;
    case Type::string: return quoted(value.get_ref<const std::string&>());
    case Type::array: {
      const auto& items = value.get_ref<const nlohmann::json::array_t&>();
      out.push_back('[');
      for (const nlohmann::json& item : items) {
        if (!append_plainly(out, item, depth + 1)) { return false; }
        out.push_back(',');
      }
      if (!items.empty()) { out.pop_back(); }
      out.push_back(']');
      return true;
    }
    case Type::object: {
      const auto& members = value.get_ref<const nlohmann::json::object_t&>();
      out.push_back('{');
      for (const auto& [name, member] : members) {
        if (!quoted(name)) { return false; }
        out.push_back(':');
        if (!append_plainly(out, member, depth + 1)) { return false; }
        out.push_back(',');
      }
      if (!members.empty()) { out.pop_back(); }
      out.push_back('}');
      return true;
    }
    case Type::number_float:
    case Type::binary:
    case Type::discarded: break;
  }
  return false;
}

}  // namespace

std::string write_result(const nlohmann::json& result) {
  std::string text;
  if (append_plainly(text, result, 1)) { return text; }
  return encode_strict(result, "result");
}

void refuse_argument(const std::string& reason) {
  throw InvalidArgument("arguments", "cannot be written as JSON: " + reason);
}

void append_canonical_text(std::string& out, std::string_view text) {
  if (base::is_plain_ascii(text)) { return append_quoted(out, text); }
  if (!base::is_valid_utf8(text)) {
    refuse_argument("it has text that is not UTF-8; expected UTF-8, and other bytes as base64");
  }
  base::append_json_quoted(out, text);
}

void append_canonical_integer(std::string& out, std::int64_t number) {
  std::array<char, 24> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void append_canonical_integer(std::string& out, std::uint64_t number) {
  std::array<char, 24> digits;
  out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void append_canonical_number(std::string& out, double number) {
  if (!std::isfinite(number)) { refuse_argument("it has a number that is not finite; expected a finite one, or null"); }
  base::append_ecmascript_number(out, number);
}

// `value` is one argument; the array of all arguments is the first level.
void append_canonical_json(std::string& out, const nlohmann::json& value) {
  constexpr std::size_t usual_size = 120;
  if (value.is_structured()) { out.reserve(out.size() + usual_size); }
  append_value(out, value, 2);
}

std::string number_text(std::int64_t number) { return std::to_string(number); }

std::optional<std::int64_t> read_number(std::string_view text) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) { return std::nullopt; }
  return number;
}

}  // namespace hapax::detail
