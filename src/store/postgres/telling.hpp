// Events for workflows: how the inbox of a live row is raised, whoever does it.
//
// One statement, or part of one, raises the inbox of each row that is told something, makes it due if it waits, and writes
// the events under the numbers that this gives. Rows are locked by id. What is not live is told nothing.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/result.hpp"
#include "store/postgres/statement.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::postgres {

// The CTEs `locked`, `woken` (id, queue_id, due: whether it became due by this) and `noted`, behind `t` (now) and `told`,
// one row each with `many`, the count, and arrays of what it is told. `later` are rows that the same transaction will touch after this: they are locked with those that are told, so that two transactions that tell
// each other's rows take them in one order.
[[nodiscard]] std::string telling_sql(std::string_view later);

// One event each, `number` and `at` set by the store. By execution, in the order given. Returns (id, queue, due) of
// those who are live.
[[nodiscard]] Call tell_call(const std::vector<model::Event>& events, std::int64_t offset_us);
// Adds the queues in which something became due.
void read_woken(const Result& result, std::set<std::int32_t>& woken);

// A signal on its way; the key is that of the column, never empty.
struct Sending {
  Uuid execution;
  const model::Signal* signal = nullptr;
  std::string key;
};

// Tells live workflows what has a key they do not know yet. Keys are distinct within each. Returns (id, queue, due).
[[nodiscard]] Call send_call(const std::vector<Sending>& signals, std::int64_t offset_us);

}  // namespace hapax::store::postgres
