// Journal entries as statements take them, and the part of a statement that appends them.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/params.hpp"

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace hapax::store::postgres {

// Which execution an entry started, by the entry's address; none: it started nothing, or was refused.
using Children = std::unordered_map<const model::JournalEntry*, Uuid>;

class EntryArrays {
 public:
  EntryArrays() = default;
  explicit EntryArrays(std::size_t expected) : expected_(expected) {}

  void add(const Uuid& execution, std::int64_t fence, std::span<const model::JournalEntry> entries,
           const Children& children);
  [[nodiscard]] bool empty() const { return empty_; }
  // Seven arrays.
  void append_to(Params& params);
  // Without those of what was started, when nothing was.
  void append_six_to(Params& params);

 private:
  std::size_t expected_ = 8;
  bool empty_ = true;
  Array executions_{Type::uuid, expected_}, fences_{Type::int8, expected_}, positions_{Type::int4, expected_};
  Array kinds_{Type::int2, expected_}, names_{Type::text, expected_}, data_{Type::bytea, 2 * expected_};
  Array children_{Type::uuid, expected_};
};

// An INSERT of those entries whose execution is an `id` of `source`, behind a CTE `t` with the time: so an entry is kept
// with the change that `source` makes, or neither is. A taken position is a unique violation. `first` is the number of
// the first of the seven parameters.
[[nodiscard]] std::string append_sql(int first, std::string_view source);
// The same of all entries, for a statement that fails unless every execution is one it changes. Six parameters.
[[nodiscard]] std::string append_all_sql(int first);

}  // namespace hapax::store::postgres
