// Whole executions as rows: the columns to ask for and how to read them.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/result.hpp"

#include <string>

namespace hapax::store::postgres {

// Replaces {live} by the columns of "live l LEFT JOIN sessions x ON x.id = l.session", for the worker's name, and {history}
// by those of "history h", which are the same ones.
[[nodiscard]] std::string with_execution_columns(std::string text);

// A row of either list. The caller looks up the queue's name.
struct ExecutionRow {
  model::Execution execution;
  std::int32_t queue_id = 0;
};
[[nodiscard]] ExecutionRow read_execution(const Result& result, int row);

}  // namespace hapax::store::postgres
