#include "cli/table.hpp"

#include "base/text.hpp"
#include "cli/wrap.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr std::string_view gap = "  ";
constexpr std::string_view indent = "  ";  // of a cell that is printed below its row
// least_detail: a folding column stays in the row if it gets this many columns. least_text: a cut text keeps this many.
constexpr std::size_t least_detail = 16;
constexpr std::size_t least_text = 8;
// The most lines of a cell that is printed below its row; the rest is cut.
constexpr std::size_t folded_lines = 8;

std::string pad(std::size_t width) { return std::string(width, ' '); }

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<Cell> cells) {
  cells.resize(columns_.size(), Cell(""));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].text = base::printable(cells[i].text);
    const bool is_cut = output_terminal().is_tty && !columns_[i].folds && !columns_[i].whole;
    if (is_cut) { cells[i].text = fit(cells[i].text, columns_[i].widest); }
  }
  rows_.push_back(std::move(cells));
}

void Table::print(const std::string& when_empty) const {
  if (rows_.empty()) {
    cli::print(when_empty);
    return;
  }
  for (const std::string& line : lines(static_cast<std::size_t>(output_terminal().columns))) { cli::print(line); }
}

std::size_t Table::Layout::total() const {
  std::size_t total = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) { total += folded[i] ? 0 : widths[i] + gap.size(); }
  return total - gap.size();
}

std::size_t Table::Layout::last() const {
  return static_cast<std::size_t>(std::find(folded.rbegin(), folded.rend(), false).base() - folded.begin()) - 1;
}

const std::string& Table::title(const Layout& layout, std::size_t column) const {
  const Column& asked = columns_[column];
  return layout.narrow && !asked.narrow.empty() ? asked.narrow : asked.title;
}

void Table::measure(Layout& layout) const {
  layout.widths.clear();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(title(layout, i));
    for (const Row& row : rows_) { width = std::max(width, display_width(row[i].text)); }
    layout.widths.push_back(width);
  }
}

bool Table::fold_details(Layout& layout, std::size_t columns) const {
  for (std::size_t i = columns_.size(); i-- > 1;) {
    if (!columns_[i].folds) { continue; }
    const std::size_t others = layout.total() - layout.widths[i];
    const std::size_t least = std::max(display_width(title(layout, i)), least_detail);
    // In the last column, cells that are short enough stay in their rows.
    if (i == layout.last() && others + least <= columns) {
      layout.widths[i] = columns - others;
      return true;
    }
    layout.folded[i] = true;
    if (layout.total() <= columns) { return true; }
  }
  return false;
}

// Shrinks the widest column first, so that all end up about as wide.
void Table::shrink(Layout& layout, std::size_t columns) const {
  while (layout.total() > columns) {
    std::size_t widest = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t least = std::max(least_text, display_width(title(layout, i)));
      const bool can_shrink =
          !layout.folded[i] && !columns_[i].numeric && !columns_[i].whole && layout.widths[i] > least;
      if (can_shrink && (widest == columns_.size() || layout.widths[i] > layout.widths[widest])) { widest = i; }
    }
    if (widest == columns_.size()) { return; }
    --layout.widths[widest];
  }
}

Table::Layout Table::layout(std::size_t columns) const {
  Layout layout;
  layout.folded.resize(columns_.size(), false);
  measure(layout);
  if (!output_terminal().is_tty || layout.total() <= columns) { return layout; }
  if (fold_details(layout, columns)) { return layout; }
  layout.narrow = true;
  while (true) {
    measure(layout);
    shrink(layout, columns);
    if (layout.total() <= columns || layout.last() == 0) { return layout; }
    layout.folded[layout.last()] = true;
  }
}

std::string Table::line(const Layout& layout, const Row& row) const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (layout.folded[i]) { continue; }
    // A cell that is too long for its folding column is printed below the row.
    const bool is_below = columns_[i].folds && display_width(row[i].text) > layout.widths[i];
    const std::string cell = is_below ? "" : fit(row[i].text, layout.widths[i]);
    const std::string padding = pad(layout.widths[i] - display_width(cell));
    text += i == 0 ? "" : gap;
    text += columns_[i].numeric ? padding : "";
    text += paint(output_terminal(), row[i].style, cell);
    // No blanks at the end of a line, because they spoil diffs and copies.
    text += columns_[i].numeric || i == layout.last() ? "" : padding;
  }
  // Empty cells must not leave blanks at the end either.
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

void Table::add_folded(const Layout& layout, const Row& row, std::size_t columns,
                       std::vector<std::string>& lines) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool is_too_long = columns_[i].folds && display_width(row[i].text) > layout.widths[i];
    if (row[i].text.empty() || (!layout.folded[i] && !is_too_long)) { continue; }
    const std::string name = base::lower(columns_[i].title) + ": ";
    const std::size_t room = columns > indent.size() + least_text ? columns - indent.size() : least_text;
    std::vector<std::string> wrapped = wrap(name + row[i].text, room);
    if (wrapped.size() > folded_lines) {
      wrapped.resize(folded_lines);
      wrapped.back() = fit(wrapped.back() + " …", room);
    }
    for (const std::string& part : wrapped) {
      lines.push_back(std::string(indent) + paint(output_terminal(), row[i].style, part));
    }
  }
}

std::vector<std::string> Table::lines(std::size_t columns) const {
  const Layout chosen = layout(columns);
  Row titles;
  for (std::size_t i = 0; i < columns_.size(); ++i) { titles.emplace_back(title(chosen, i), Style::dim); }
  std::vector<std::string> lines = {line(chosen, titles)};
  for (const Row& row : rows_) {
    lines.push_back(line(chosen, row));
    add_folded(chosen, row, columns, lines);
  }
  return lines;
}

void Facts::add(std::string name, std::string value, Style style) {
  value.erase(value.find_last_not_of('\n') + 1);
  facts_.push_back({std::move(name), Cell(base::printable(value, true), style)});
}

void Facts::add_if(std::string name, const std::string& value) {
  if (!value.empty()) { add(std::move(name), value); }
}

void Facts::print() const {
  std::size_t width = 0;
  for (const Fact& fact : facts_) { width = std::max(width, display_width(fact.name)); }
  for (const Fact& fact : facts_) {
    // Further lines of a value are printed below its first.
    std::string value = fact.value.text;
    for (std::size_t at = value.find('\n'); at != std::string::npos; at = value.find('\n', at + 1)) {
      value.insert(at + 1, pad(width + gap.size()));
    }
    cli::print(paint(output_terminal(), Style::dim, fact.name) + pad(width - display_width(fact.name)) +
               std::string(gap) + paint(output_terminal(), fact.value.style, value));
  }
}

}  // namespace hapax::cli
