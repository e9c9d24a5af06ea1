#include "cli/table.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr std::string_view gap = "  ";
// A column that gets what is left gets this much on a terminal that is too narrow for the others.
constexpr std::size_t least_rest = 16;

std::string pad(std::size_t width) { return std::string(width, ' '); }

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<Cell> cells) {
  cells.resize(columns_.size(), Cell(""));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i].text = base::printable(cells[i].text);
    if (output_terminal().is_tty && !columns_[i].rest) { cells[i].text = fit(cells[i].text, columns_[i].widest); }
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

std::vector<std::string> Table::lines(std::size_t columns) const {
  std::vector<std::size_t> widths;
  std::size_t used = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) { width = std::max(width, display_width(row[i].text)); }
    widths.push_back(width);
    used += width + gap.size();
  }
  if (columns_.back().rest && output_terminal().is_tty) {
    used -= widths.back() + gap.size();
    widths.back() = std::min(widths.back(), columns > used + least_rest ? columns - used : least_rest);
  }
  std::vector<std::string> lines;
  const auto line = [&](const auto& cell_at) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Cell cell = cell_at(i);
      if (columns_[i].rest) { cell.text = fit(cell.text, widths[i]); }
      const std::string padding = pad(widths[i] - display_width(cell.text));
      text += i == 0 ? "" : gap;
      text += columns_[i].numeric ? padding : "";
      text += paint(output_terminal(), cell.style, cell.text);
      // No blanks at the end of a line: they make diffs and copies ugly.
      text += columns_[i].numeric || i + 1 == columns_.size() ? "" : padding;
    }
    // Neither do empty cells leave any.
    text.erase(text.find_last_not_of(' ') + 1);
    lines.push_back(std::move(text));
  };
  line([&](std::size_t i) { return Cell(columns_[i].title, Style::dim); });
  for (const auto& row : rows_) {
    line([&](std::size_t i) { return row[i]; });
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
    // Further lines of a value stand below its first.
    std::string value = fact.value.text;
    for (std::size_t at = value.find('\n'); at != std::string::npos; at = value.find('\n', at + 1)) {
      value.insert(at + 1, pad(width + gap.size()));
    }
    cli::print(paint(output_terminal(), Style::dim, fact.name) + pad(width - display_width(fact.name)) +
               std::string(gap) + paint(output_terminal(), fact.value.style, value));
  }
}

}  // namespace hapax::cli
