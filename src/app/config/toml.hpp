// TOML text as a plain tree in which each value has its line. Only toml.cpp includes the parser, which is slow to
// compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::config {

// One value of the tree, which owns its children.
struct Node {
  enum class Kind : std::uint8_t { table, array, text, integer, real, boolean, date };

  std::string name{};  // the value's key, inside a table
  int line = 0;        // of the key, or of the value in an array
  int column = 0;
  Kind kind = Kind::table;
  std::string text{};  // the value of a text; for other kinds their spelling, for messages
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<Node> children{};  // of a table, in the file's order, or of an array

  // The value for messages: "30d" in quotes, 5, true, a table, a list.
  [[nodiscard]] std::string shown() const;
  // The child of this name, or null.
  [[nodiscard]] const Node* find(std::string_view child) const;
};

struct SyntaxProblem {
  int line = 1;
  std::string message;
};

struct TomlText {
  Node root{};
  std::optional<SyntaxProblem> problem{};  // the first syntax error; the parser stops there
};

[[nodiscard]] TomlText parse_toml(std::string_view text);

}  // namespace hapax::config
