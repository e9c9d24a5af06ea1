#include "store/sqlite/many_rows.hpp"

#include <algorithm>
#include <string_view>

namespace hapax::store::sqlite {

namespace {

constexpr std::string_view mark = "{rows}";

std::string rows_behind(int shared, int columns, std::size_t rows) {
  std::string sql = "(VALUES ";
  int parameter = shared;
  for (std::size_t row = 0; row < rows; ++row) {
    sql += row == 0 ? "(" : ",(";
    for (int column = 0; column < columns; ++column) {
      sql += (column == 0 ? "?" : ",?") + std::to_string(++parameter);
    }
    sql += ")";
  }
  return sql + ")";
}

}  // namespace

std::string numbered(const std::string& sign, int most) {
  std::string text = sign + "1";
  for (int number = 2; number <= most; ++number) { text += ", " + sign + std::to_string(number); }
  return text;
}

ManyRows::ManyRows(const std::string& text, int shared, int columns) : shared_(shared), columns_(columns) {
  for (std::size_t i = 0; i < row_counts.size(); ++i) {
    texts_[i] = text;
    texts_[i].replace(texts_[i].find(mark), mark.size(), rows_behind(shared, columns, row_counts[i]));
  }
}

const char* ManyRows::sql(std::size_t rows) const {
  const auto* const count = std::ranges::find(row_counts, rows);
  return texts_.at(static_cast<std::size_t>(count - row_counts.begin())).c_str();
}

}  // namespace hapax::store::sqlite
