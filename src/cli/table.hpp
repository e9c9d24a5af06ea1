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
  bool numeric = false;     // aligned to the right, and never cut
  std::size_t widest = 48;  // longer cells are cut on a terminal, never in a file; not of a column that folds
  bool folds = false;       // a detail: a cell that does not fit the terminal stands below its row, whole
  bool whole = false;       // never cut: an id, a status
  std::string narrow{};     // the title where the terminal is narrow; empty: the same
};

// Collects rows and prints them at once, as widths depend on all of them. Texts are made harmless when they are added. On a
// terminal no line is wider than it: details fold below their row, then texts are cut, then further columns fold. Elsewhere
// everything is whole.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  void add(std::vector<Cell> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Title and rows, painted for standard output, for a terminal of so many columns.
  [[nodiscard]] std::vector<std::string> lines(std::size_t columns) const;
  // Prints to standard output; when there are no rows, `when_empty` instead.
  void print(const std::string& when_empty) const;

 private:
  using Row = std::vector<Cell>;
  // What stands where.
  struct Layout {
    std::vector<std::size_t> widths{};
    std::vector<bool> folded{};  // all cells of the column stand below their rows
    bool narrow = false;         // titles
    [[nodiscard]] std::size_t total() const;
    [[nodiscard]] std::size_t last() const;  // the rightmost column that is not folded
  };
  [[nodiscard]] const std::string& title(const Layout& layout, std::size_t column) const;
  void measure(Layout& layout) const;
  // Whether the details' folding alone makes it fit.
  [[nodiscard]] bool fold_details(Layout& layout, std::size_t columns) const;
  void shrink(Layout& layout, std::size_t columns) const;
  [[nodiscard]] Layout layout(std::size_t columns) const;
  [[nodiscard]] std::string line(const Layout& layout, const Row& row) const;
  void add_folded(const Layout& layout, const Row& row, std::size_t columns, std::vector<std::string>& lines) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
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
