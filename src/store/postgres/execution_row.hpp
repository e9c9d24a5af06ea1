// The columns of `live` and `history`: the one table from which statements make their columns, parameters and reads.
//
// A new column is a new row here. The general insert and COPY then write it, and `is_usual` keeps executions that need
// it from the inserts that lack it.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/result.hpp"
#include "store/postgres/statement.hpp"

#include <span>
#include <string>

namespace hapax::store::postgres {

struct NewRow;

// The statements that insert into `live`, as bits. The general one has every column, the others the columns that their
// rows need.
struct Insert {
  static constexpr unsigned general = 1U << 0;
  static constexpr unsigned plain = 1U << 1;     // due at once, default settings, no identity, no labels
  static constexpr unsigned labelled = 1U << 2;  // plain, with labels
  static constexpr unsigned keyed = 1U << 3;     // as plain, and each takes an identity
  static constexpr unsigned guards = 1U << 4;
  static constexpr unsigned copy = 1U << 5;        // COPY of rows without identity
  static constexpr unsigned copy_keyed = 1U << 6;  // COPY of rows with identities
};

// A row of either table. The caller looks up the queue's name.
struct ExecutionRow {
  model::Execution execution;
  std::int32_t queue_id = 0;
};
struct ClaimRow {
  model::Claim claim;
  std::int32_t queue_id = 0;
};

struct Column {
  std::string_view name;
  Type type = Type::text;
  // Adds the value of a request. Null: the statement computes the value, or the column is not of `live`.
  void (*put)(Array& to, const NewRow& row) = nullptr;
  unsigned inserts = Insert::general | Insert::copy | Insert::copy_keyed;  // the inserts with a parameter for it
  bool varies = false;  // the rows of insert_new_identities() have different values
  bool takes = false;   // the identity's own row has the value too
  // Whether an insert that lacks the column may take the request. Null: always.
  bool (*is_usual)(const model::NewExecution& item) = nullptr;
  // The value in the general insert, whose rows have the parameters and `due`, `now` and `born`. Empty: the parameter.
  std::string_view value = {};
  // For COPY, instead of `put`.
  void (*copy)(Array& to, const NewRow& row, std::int64_t now) = nullptr;
  bool replaced = false;                                     // a debounced request replaces the holder's value
  bool moves = false;                                        // the end of the execution copies it to history
  bool retried = false;                                      // a retry copies it from history to the new run
  void (*claim)(RowReader& reader, ClaimRow& to) = nullptr;  // null: a worker does not need it
  // The column of a whole execution in `live l` and in `history h`. Empty: the table's own.
  std::string_view live = {}, history = {};
  void (*read)(RowReader& reader, ExecutionRow& to) = nullptr;  // null: not part of a whole execution
};

[[nodiscard]] std::span<const Column> all_columns();

// "PREFIXname, PREFIXname" of the columns that `is` is set for.
[[nodiscard]] std::string names(bool Column::*is, std::string_view prefix = "");

// Replaces {live} by the columns of "live l LEFT JOIN sessions x ON x.id = l.session", for the worker's name, and
// {history} by those of "history h", which are the same ones. Without `payloads`, inputs and results are not read.
[[nodiscard]] std::string with_execution_columns(std::string_view text, bool payloads = true);
[[nodiscard]] ExecutionRow read_execution(const Result& result, int row);

// Replaces {claimed} by the columns of a claimed row of `live l`. The first is its id.
[[nodiscard]] std::string with_claimed_columns(std::string_view text);
[[nodiscard]] ClaimRow read_claimed(RowReader& reader);

}  // namespace hapax::store::postgres
