#include "wire/json_members.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <nlohmann/json.hpp>

namespace hapax::wire {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Walks over text that is known to be JSON, so it needs no checks of its own.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  char peek() {
    while (at_ < text_.size() && is_space(text_[at_])) { ++at_; }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void skip() { ++at_; }

  std::string_view value() {
    peek();
    const std::size_t begin = at_;
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else {
        depth += c == '{' || c == '[' ? 1 : 0;
        depth -= c == '}' || c == ']' ? 1 : 0;
        ++at_;
        if (depth == 0 && c != '}' && c != ']') { skip_scalar(); }
      }
    } while (depth > 0 && at_ < text_.size());
    return text_.substr(begin, at_ - begin);
  }

 private:
  void skip_string() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') { at_ += text_[at_] == '\\' ? 2 : 1; }
    ++at_;
  }
  void skip_scalar() {
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ']') {
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// What stands between the quotes of a JSON string; most have no escapes and are read without a parser.
std::string unquoted(std::string_view json) {
  if (json.find('\\') == std::string_view::npos) { return std::string(json.substr(1, json.size() - 2)); }
  return nlohmann::json::parse(json).get<std::string>();
}

[[noreturn]] void wrong_type(const JsonMember& member, const std::string& expected) {
  throw InvalidArgument(member.name, "expected " + expected + "; came " + base::echo(member.json));
}

}  // namespace

std::string JsonMember::text() const {
  if (!json.starts_with('"')) { wrong_type(*this, "a string"); }
  return unquoted(json);
}

std::int64_t JsonMember::integer() const {
  const auto value = nlohmann::json::parse(json);
  if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
    wrong_type(*this, "an integer");
  }
  return value.get<std::int64_t>();
}

bool JsonMember::boolean() const {
  if (json != "true" && json != "false") { wrong_type(*this, "true or false"); }
  return json == "true";
}

std::vector<std::string> JsonMember::texts() const {
  const auto value = nlohmann::json::parse(json);
  if (!value.is_array()) { wrong_type(*this, "an array of strings"); }
  std::vector<std::string> all;
  for (const auto& item : value) {
    if (!item.is_string()) { wrong_type(*this, "an array of strings"); }
    all.push_back(item.get<std::string>());
  }
  return all;
}

std::vector<JsonMember> json_members(std::string_view object, std::string_view field) {
  Scanner scanner(object);
  if (scanner.peek() != '{') {
    throw InvalidArgument(std::string(field), field == "line"
                                                  ? "expected a JSON object such as {\"task\":\"greet\",\"input\":{}}"
                                                  : "expected a JSON object");
  }
  scanner.skip();
  std::vector<JsonMember> found;
  found.reserve(8);
  while (scanner.peek() == '"') {
    const std::string_view name = scanner.value();
    scanner.peek();
    scanner.skip();  // the colon
    found.push_back({unquoted(name), scanner.value()});
    if (scanner.peek() == ',') { scanner.skip(); }
  }
  return found;
}

}  // namespace hapax::wire
