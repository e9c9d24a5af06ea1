// Statements that take many rows at once: VALUES with a row of parameters for each.
//
// Beginning and ending a statement costs SQLite as much as a row. With many rows in one statement, the cursors into
// table and indexes stay open from row to row, and shared values are bound once. There is a statement for each of a few
// row counts; remaining rows are inserted one by one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace hapax::store::sqlite {

// The row counts of such statements, the largest first.
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

// Passes all items to `take`, in order: plain items in chunks for one statement each, other and remaining items one at
// a time.
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

// "?1, ?2, …" for the sign "?", up to the number `most`.
[[nodiscard]] std::string numbered(const std::string& sign, int most);

// A statement's texts, made once and kept until the process ends: connections key prepared statements by address.
class ManyRows {
 public:
  // `text` has {rows} where the rows go, as "(VALUES (?4,?5),(?6,?7),…)" with `columns` columns each. The `shared`
  // parameters, which all rows use, come before those of the rows.
  ManyRows(const std::string& text, int shared, int columns);

  [[nodiscard]] const char* sql(std::size_t rows) const;
  // The parameter index of a row's first value, minus one.
  [[nodiscard]] int before(std::size_t row) const { return shared_ + static_cast<int>(row) * columns_; }

 private:
  int shared_;
  int columns_;
  std::array<std::string, row_counts.size()> texts_;
};

}  // namespace hapax::store::sqlite
