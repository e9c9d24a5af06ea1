// Rows of live and history as Execution values, for the reading verbs.
#pragma once

#include "model/execution.hpp"
#include "store/sqlite/connection.hpp"

#include <string>

namespace hapax::store::sqlite {

// The columns that read_live_execution and read_ended_execution expect, in order; the id is the first one. The
// statement joins `queues` and, for live rows, `sessions`.
[[nodiscard]] const std::string& live_execution_columns();
[[nodiscard]] const std::string& ended_execution_columns();

// "SELECT columns FROM tables" for one row by its id: an ended row has the parameters id and now.
[[nodiscard]] const char* live_execution_sql();
[[nodiscard]] const char* ended_execution_sql();

[[nodiscard]] model::Execution read_live_execution(const Cursor& cursor);
[[nodiscard]] model::Execution read_ended_execution(const Cursor& cursor);

}  // namespace hapax::store::sqlite
