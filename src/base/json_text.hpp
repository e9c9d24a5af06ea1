// Pieces of JSON text: string literals, and members of values that check_json has taken.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hapax::base {

// Appends `text` as a literal with RFC 8785's escapes and no others; bytes that are not UTF-8 are written as \xNN.
void append_json_quoted(std::string& out, std::string_view text);

// Appends what a checked literal stands for. `inside` is without its quotes.
void append_json_unescaped(std::string& out, std::string_view inside);

// Walks over one checked value: every function leaves it behind what it has read. Holds a view of the text only.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view checked) : rest_(checked) { skip_space(); }

  // The first byte of the value, member or end that comes next, white space left out.
  [[nodiscard]] char peek() const { return rest_.front(); }
  [[nodiscard]] bool done() const { return rest_.empty(); }
  // Steps over one bracket, comma or colon.
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

struct JsonMember {
  std::string name;        // unescaped
  std::string_view value;  // bytes of the text
};

// The members of an object in their order, the items of an array, what a string says. Each checks `text` first and
// throws InvalidJson naming `field` if it is anything else.
[[nodiscard]] std::vector<JsonMember> json_members(std::string_view text, std::string_view field);
[[nodiscard]] std::vector<std::string_view> json_items(std::string_view text, std::string_view field);
[[nodiscard]] std::string json_string(std::string_view text, std::string_view field);

}  // namespace hapax::base
