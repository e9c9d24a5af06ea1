// Sending events to workflows: every sender raises the inbox of a live row by the SQL of this file.
//
// One statement, or part of one, raises the inbox of each receiving row, makes the row due if it waits, and writes the
// events under the numbers that this gives. Rows are locked by id. Executions that are not live receive nothing.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/result.hpp"
#include "store/postgres/statement.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::postgres {

// The CTEs `locked`, `woken` (id, queue_id, due: whether this made it due) and `noted`, to follow `t` (now) and `told`,
// which has one row per receiver with `many`, the count, and arrays of its events. `later` are rows that the same
// transaction changes later: they are locked together with the receivers, so that two transactions which send to each
// other's rows lock in one order.
[[nodiscard]] std::string events_sql(std::string_view later);

// Sends events, in the order given within each execution. The store sets `number` and `at`. Returns (id, queue, due) of
// the receivers that are live.
[[nodiscard]] Call events_call(const std::vector<model::Event>& events, std::int64_t offset_us);
// Adds the queues in which an execution became due.
void read_woken(const Result& result, std::set<std::int32_t>& woken);

// A signal to send. The key is that of events.signal_key, never empty.
struct SignalToSend {
  Uuid execution;
  const model::Signal* signal = nullptr;
  std::string key;
};

// Sends live workflows the signals whose key they do not have yet. Keys are distinct within each workflow. Returns (id,
// queue, due).
[[nodiscard]] Call send_signals_call(const std::vector<SignalToSend>& signals, std::int64_t offset_us);

}  // namespace hapax::store::postgres
