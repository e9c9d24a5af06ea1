#include "base/json_pointer.hpp"

#include <hapax/error.hpp>

#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"

#include <string>

namespace hapax::base {

namespace {

[[noreturn]] void refuse(std::string_view pointer, std::string_view field, const std::string& problem) {
  throw InvalidArgument(std::string(field),
                        base::quoted(pointer) + " " + problem + "; expected a JSON Pointer such as \"/customer_id\"");
}

std::string unescaped(std::string_view part) {
  std::string text;
  for (std::size_t at = 0; at < part.size(); ++at) {
    if (part[at] == '~') {
      text.push_back(part[++at] == '0' ? '~' : '/');
    } else {
      text.push_back(part[at]);
    }
  }
  return text;
}

// The value of the member `name` of an object.
std::optional<std::string_view> member_of(std::string_view object, const std::string& name) {
  JsonCursor cursor(object);
  cursor.step();
  while (cursor.peek() != '}') {
    if (cursor.peek() == ',') { cursor.step(); }
    std::string found;
    append_json_unescaped(found, cursor.string());
    cursor.step();
    const std::string_view value = cursor.value();
    if (found == name) { return value; }
  }
  return std::nullopt;
}

// The array item of an index: 0, or digits without a leading zero.
std::optional<std::string_view> item_of(std::string_view array, std::string_view number) {
  const bool plain = !number.empty() && number.size() <= 9 && (number == "0" || number.front() != '0') &&
                     number.find_first_not_of("0123456789") == std::string_view::npos;
  if (!plain) { return std::nullopt; }
  std::size_t left = std::stoul(std::string(number));
  JsonCursor cursor(array);
  cursor.step();
  while (cursor.peek() != ']') {
    if (cursor.peek() == ',') { cursor.step(); }
    const std::string_view value = cursor.value();
    if (left-- == 0) { return value; }
  }
  return std::nullopt;
}

}  // namespace

void check_json_pointer(std::string_view pointer, std::string_view field) {
  if (!is_valid_utf8(pointer)) { refuse(pointer, field, "is not UTF-8"); }
  if (pointer.size() > limits::name_bytes) {
    refuse(pointer, field, "is longer than " + std::to_string(limits::name_bytes) + " bytes");
  }
  if (!pointer.empty() && pointer.front() != '/') { refuse(pointer, field, "does not begin with a slash"); }
  for (std::size_t at = 0; at < pointer.size(); ++at) {
    if (pointer[at] == '~' && (at + 1 == pointer.size() || (pointer[at + 1] != '0' && pointer[at + 1] != '1'))) {
      refuse(pointer, field, "has a ~ that is neither ~0 nor ~1");
    }
  }
}

std::optional<std::string_view> find_json_pointer(std::string_view checked, std::string_view pointer) {
  JsonCursor cursor(checked);
  std::optional<std::string_view> value = cursor.value();
  while (value && !pointer.empty()) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const std::string_view part = pointer.substr(1, end - 1);
    pointer.remove_prefix(end);
    switch (value->front()) {
      case '{': value = member_of(*value, unescaped(part)); break;
      case '[': value = item_of(*value, part); break;
      default: value = std::nullopt;
    }
  }
  return value;
}

}  // namespace hapax::base
