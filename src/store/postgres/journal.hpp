// Journal entries as statement parameters, and the part of a statement that appends them.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/statement.hpp"

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hapax::store::postgres {

// The execution that an entry started, by the entry's address. An entry that started nothing, or was refused, is
// missing.
using Children = std::unordered_map<const model::JournalEntry*, Uuid>;

class EntryArrays {
 public:
  EntryArrays() = default;
  explicit EntryArrays(std::size_t expected) : expected_(expected) {}

  void add(const Uuid& execution, std::int64_t fence, std::span<const model::JournalEntry> entries,
           const Children& children);
  [[nodiscard]] bool empty() const { return empty_; }
  // Adds seven arrays.
  void append_to(Params& params);
  // Adds six arrays, without the children: for entries that started nothing.
  void append_six_to(Params& params);

 private:
  std::size_t expected_ = 8;
  bool empty_ = true;
  Array executions_{Type::uuid, expected_}, fences_{Type::int8, expected_}, positions_{Type::int4, expected_};
  Array kinds_{Type::int2, expected_}, names_{Type::text, expected_}, data_{Type::bytea, 2 * expected_};
  Array children_{Type::uuid, expected_};
};

// An INSERT of the entries whose execution is an `id` of `source`, after a CTE `t` with the time. So an entry is
// written together with the change that `source` makes, or neither is. A taken position is a unique violation. `first`
// is the number of the first of the seven parameters.
[[nodiscard]] std::string append_sql(int first, std::string_view source);
// An INSERT of the entries `e` under a condition, without the children. Six parameters.
[[nodiscard]] std::string append_six_sql(int first, std::string_view condition);

}  // namespace hapax::store::postgres
