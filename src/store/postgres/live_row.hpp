// New rows of `live`: how inserts take their values from the table of columns (execution_row.hpp).
#pragma once

#include "model/execution.hpp"
#include "store/postgres/execution_row.hpp"
#include "store/postgres/queue_table.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace hapax::store::postgres {

// An item to insert, with the state of its identity.
struct NewRow {
  const model::NewExecution* item = nullptr;
  int run = 1;
  bool takes_identity = false;  // insert into identities first; the live row follows only if the identity was new
  std::optional<std::int64_t> sequence;  // its place among its limit key, if reserved; none: the next number
  std::int32_t queue_id = 0;             // set_queue_ids()
  bool may_be_born_running = false;
};

void set_queue_ids(std::vector<NewRow>& rows, const QueueIds& queues);

[[nodiscard]] bool is_guard(const model::NewExecution& item);

// Whether the item has only the values that most items have, so that an insert without the other columns may take it.
[[nodiscard]] bool is_usual(const model::NewExecution& item);
// Whether COPY has a column for each value of the item.
[[nodiscard]] bool can_be_copied(const model::NewExecution& item);

// The throttle period of a request in throttle mode, in microseconds.
[[nodiscard]] std::optional<std::int64_t> throttle_of(const model::IdentityClaim& claim);

// Parameters of inserts that are no columns of `live`.
namespace inputs {
extern const Column delay, at, identity, fingerprint, takes_identity, dedup_window, throttle, name, born_session,
    born_claim;
}  // namespace inputs

// The columns of one insert, and further inputs, as parameters that are numbered from `first`.
class InsertParams {
 public:
  enum class Which : std::uint8_t { all, varying, shared };
  // `which` is for insert_new_identities(), whose rows share the columns that do not vary.
  explicit InsertParams(unsigned insert, std::initializer_list<const Column*> further = {}, int first = 2,
                        Which which = Which::all);
  // The columns of the general insert for which `is` is set.
  InsertParams(bool Column::*is, std::initializer_list<const Column*> further, int first);

  // "PREFIXname, PREFIXname": of the columns alone, or of the inputs too.
  [[nodiscard]] std::string columns(std::string_view prefix = "") const;
  [[nodiscard]] std::string all(std::string_view prefix = "") const;
  // "$2::uuid[], $3::int[]", or without brackets.
  [[nodiscard]] std::string arrays() const;
  [[nodiscard]] std::string values() const;
  // "$3::int" of one of them, as a value.
  [[nodiscard]] std::string value(std::string_view name) const;
  [[nodiscard]] int last() const { return first_ + static_cast<int>(all_.size()) - 1; }

  void add_arrays(Params& params, const std::vector<NewRow>& rows) const;
  void add_values(Params& params, const NewRow& row) const;

 private:
  std::vector<const Column*> all_;
  std::size_t columns_ = 0;  // the first of all_; the others are inputs
  int first_;
};

// The columns that the general insert fills, and their values.
[[nodiscard]] std::string general_columns();
[[nodiscard]] std::string general_values();
// "value AS name" of the columns that a debounced request replaces, and "name = item.name".
[[nodiscard]] std::string replaced_values();
[[nodiscard]] std::string replaced_columns();

// The columns of a COPY, and a row of it without its count of columns. `fields` is empty before and after.
[[nodiscard]] std::string copied_columns(unsigned insert);
[[nodiscard]] std::int16_t count_copied(unsigned insert);
void put_copied(std::string& out, Array& fields, unsigned insert, const NewRow& row, std::int64_t now);

}  // namespace hapax::store::postgres
