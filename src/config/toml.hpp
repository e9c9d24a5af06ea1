// TOML text as a plain tree in which each value knows its line. Only toml.cpp knows the parser, which is slow to compile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::config {

struct Node {
  enum class Kind : std::uint8_t { table, array, text, integer, real, boolean, date };

  std::string name{};  // its key, when it is in a table
  int line = 0;        // of the key, or of the value in an array
  int column = 0;
  Kind kind = Kind::table;
  std::string text{};  // of a text; of the other values their spelling, for messages
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<Node> children{};  // of a table, in the file's order, or of an array

  // "30d" in quotes, 5, true, a table, a list: what came, for messages.
  [[nodiscard]] std::string shown() const;
  // The child of that name, or null.
  [[nodiscard]] const Node* find(std::string_view child) const;
};

struct SyntaxProblem {
  int line = 1;
  std::string message;
};

struct TomlText {
  Node root{};
  std::optional<SyntaxProblem> problem{};  // the parser stops at the first
};

[[nodiscard]] TomlText parse_toml(std::string_view text);

}  // namespace hapax::config
