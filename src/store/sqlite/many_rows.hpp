// Statements that take many rows at once: VALUES with a row of parameters for each.
//
// A statement costs SQLite as much to begin and to end as a row costs. With many rows in one the cursors into table and
// indexes stay open from row to row, and what is the same for all is bound once. There is a text for each of a few numbers
// of rows; what is left over goes row by row.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace hapax::store::sqlite {

// How many rows such statements have, the most first.
inline constexpr std::array<std::size_t, 2> row_counts{32, 8};
inline constexpr std::size_t rows_max = row_counts.front();
inline constexpr std::size_t rows_min = row_counts.back();

// How many of `left` rows the next statement takes; 0: too few for any.
[[nodiscard]] constexpr std::size_t rows_of_next(std::size_t left) {
  for (const std::size_t count : row_counts) {
    if (left >= count) { return count; }
  }
  return 0;
}

// Hands all items to `take`, in order: such as are plain in chunks that a statement takes at once, all others and what is
// left over one at a time.
template <class Item, class IsPlain, class Take>
void for_chunks(std::span<const Item> items, IsPlain is_plain, Take take) {
  while (!items.empty()) {
    std::size_t plain = 0;
    while (plain < std::min(items.size(), rows_max) && is_plain(items[plain])) { ++plain; }
    const std::size_t count = std::max<std::size_t>(rows_of_next(plain), 1);
    take(items.first(count));
    items = items.subspan(count);
  }
}

// A statement's texts, made once and kept to the end of the process: connections know statements by their addresses.
class ManyRows {
 public:
  // `text` has {rows} where the rows go: "(VALUES (?4,?5),(?6,?7),…)", with as many columns each, and parameters behind
  // those that all rows share.
  ManyRows(const std::string& text, int shared, int columns);

  [[nodiscard]] const char* sql(std::size_t rows) const;
  // Of the first value of a row, minus one.
  [[nodiscard]] int before(std::size_t row) const { return shared_ + static_cast<int>(row) * columns_; }

 private:
  int shared_;
  int columns_;
  std::array<std::string, row_counts.size()> texts_;
};

}  // namespace hapax::store::sqlite
