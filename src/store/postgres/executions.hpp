// Whole executions as rows: the columns to ask for and how to read them.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/result.hpp"

namespace hapax::store::postgres {

// Both lists have the same columns. Live rows join their session as `x` for the worker's name.
extern const char* const live_columns;     // of "live l LEFT JOIN sessions x ON x.id = l.session"
extern const char* const history_columns;  // of "history h"

// A row of either list. The caller looks up the queue's name.
struct ExecutionRow {
  model::Execution execution;
  std::int32_t queue_id = 0;
};
[[nodiscard]] ExecutionRow read_execution(const Result& result, int row);

}  // namespace hapax::store::postgres
