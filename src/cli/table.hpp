// Prints aligned tables.
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
  std::size_t widest = 48;  // longer cells are cut on a terminal, never elsewhere; ignored if the column folds
  bool folds = false;       // a detail: a cell that does not fit the terminal is printed below its row
  bool whole = false;       // never cut: an id, a status
  std::string narrow{};     // the title on a narrow terminal; empty: the same
};

// Collects rows and prints them at once, because widths depend on all of them. add() escapes control characters. On a
// terminal no line is wider than the terminal: first details fold below their row, then texts are cut, then further
// columns fold. Elsewhere every value is whole.
class Table {
 public:
  explicit Table(std::vector<Column> columns);
  void add(std::vector<Cell> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  // Title and rows, with the colours of standard output, for a terminal of that many columns.
  [[nodiscard]] std::vector<std::string> lines(std::size_t columns) const;
  // Prints to standard output; when there are no rows, `when_empty` instead.
  void print(const std::string& when_empty) const;

 private:
  using Row = std::vector<Cell>;
  // Which columns are in the row, and how wide they are.
  struct Layout {
    std::vector<std::size_t> widths{};
    std::vector<bool> folded{};  // all cells of the column are printed below their rows
    bool narrow = false;         // use the narrow titles
    [[nodiscard]] std::size_t total() const;
    [[nodiscard]] std::size_t last() const;  // the rightmost column that is not folded
  };
  [[nodiscard]] const std::string& title(const Layout& layout, std::size_t column) const;
  void measure(Layout& layout) const;
  // Folds details until the table fits. False if it is still too wide.
  [[nodiscard]] bool fold_details(Layout& layout, std::size_t columns) const;
  void shrink(Layout& layout, std::size_t columns) const;
  [[nodiscard]] Layout layout(std::size_t columns) const;
  [[nodiscard]] std::string line(const Layout& layout, const Row& row) const;
  void add_folded(const Layout& layout, const Row& row, std::size_t columns, std::vector<std::string>& lines) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// Prints "name value" lines, names padded to the longest.
class Facts {
 public:
  void add(std::string name, std::string value, Style style = Style::plain);
  void add_if(std::string name, const std::string& value);  // only if not empty
  void print() const;

 private:
  struct Fact {
    std::string name;
    Cell value;
  };
  std::vector<Fact> facts_;
};

}  // namespace hapax::cli
