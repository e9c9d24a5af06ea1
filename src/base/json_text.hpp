// Pieces of JSON text: string literals, and members of values that check_json has accepted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::base {

// Appends `text` as a string literal with RFC 8785's escapes and no others; bytes that are not UTF-8 are written as
// \xNN.
void append_json_quoted(std::string& out, std::string_view text);

// Appends the text of a checked string literal. `inside` is the literal without its quotes.
void append_json_unescaped(std::string& out, std::string_view inside);

// Reads one checked value from front to back; every function moves the cursor past what it reads. Holds a view of the
// text, which must outlive it. One thread.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view checked) : rest_(checked) { skip_space(); }

  // The first byte of the next value, member or closing bracket, without white space.
  [[nodiscard]] char peek() const { return rest_.front(); }
  [[nodiscard]] bool done() const { return rest_.empty(); }
  // Moves past one bracket, comma or colon.
  void step();
  // The inside of a string literal, still escaped.
  [[nodiscard]] std::string_view string();
  // The bytes of a number, true, false or null.
  [[nodiscard]] std::string_view scalar();
  // The bytes of any value.
  [[nodiscard]] std::string_view value();

 private:
  void skip_space();

  std::string_view rest_;
};

// A member of an object. The readers throw InvalidArgument naming the member when its value is of another type.
struct JsonMember {
  std::string name;        // unescaped
  std::string_view value;  // bytes of the text

  [[nodiscard]] bool is_null() const { return value == "null"; }
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::vector<std::string> texts() const;
};

// The members of an object in their order; the items of an array; the text of a string. Each checks `text` first and
// throws InvalidJson naming `field` if it is something else.
[[nodiscard]] std::vector<JsonMember> json_members(std::string_view text, std::string_view field);
[[nodiscard]] std::vector<std::string_view> json_items(std::string_view text, std::string_view field);
[[nodiscard]] std::string json_string(std::string_view text, std::string_view field);

// The members of text that check_json has taken. Throws InvalidArgument naming `field` when it is not an object.
[[nodiscard]] std::vector<JsonMember> checked_members(std::string_view object, std::string_view field = "line");

}  // namespace hapax::base
