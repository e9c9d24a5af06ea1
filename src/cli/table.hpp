// Aligned tables for people.
#pragma once

#include "cli/terminal.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hapax::cli {

struct Cell {
  Cell(std::string content, Style cell_style = Style::plain) : text(std::move(content)), style(cell_style) {}
  Cell(const char* content) : text(content) {}
  std::string text;
  Style style;
};

struct Column {
  std::string title;
  bool numeric = false;     // aligned to the right
  std::size_t widest = 48;  // longer cells are cut on a terminal, never in a file
  bool rest = false;        // of the last column: as wide as the terminal leaves it, and no wider
};

// Collects rows and prints them at once, as widths depend on all of them. Texts are made harmless when they are added.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  void add(std::vector<Cell> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Title and rows, painted for standard output; the last column no wider than so many columns leave it.
  [[nodiscard]] std::vector<std::string> lines(std::size_t columns) const;
  // Prints to standard output; when there are no rows, `when_empty` instead.
  void print(const std::string& when_empty) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "name   value" lines, names padded to the longest.
class Facts {
 public:
  void add(std::string name, std::string value, Style style = Style::plain);
  void add_if(std::string name, const std::string& value);  // when not empty
  void print() const;

 private:
  struct Fact {
    std::string name;
    Cell value;
  };
  std::vector<Fact> facts_;
};

}  // namespace hapax::cli
