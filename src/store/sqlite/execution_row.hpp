// Rows of live and history as Execution values, for the reading verbs.
#pragma once

#include "model/execution.hpp"
#include "store/sqlite/connection.hpp"

namespace hapax::store::sqlite {

// The columns that read_live_execution and read_ended_execution expect, in order. `queues` and, for live rows,
// `sessions` are joined.
#define HAPAX_EXECUTION_OPTIONS(table)                                                                                 \
  table ".id, queues.ns, queues.name, " table ".task, " table ".kind, " table ".input, " table ".priority, " table     \
        ".run, " table ".attempt, " table ".max_attempts, " table ".lost, " table ".max_lost, " table ".fence, " table \
        ".created_at, " table ".run_at, " table ".deadline, " table ".attempt_timeout, " table ".retry, " table        \
        ".identity, " table ".identity_key, " table ".effect_key, " table ".parent, " table ".labels, " table          \
        ".session, " table ".limit_key, " table ".weight, "

#define HAPAX_LIVE_EXECUTION_COLUMNS                                                                           \
  HAPAX_EXECUTION_OPTIONS("live")                                                                              \
  "live.state, live.claimed_at, sessions.worker, live.cancel_requested, live.progress, live.progress_message," \
  " live.finish_kind, live.stuck"

#define HAPAX_ENDED_EXECUTION_COLUMNS                                                                       \
  HAPAX_EXECUTION_OPTIONS("history")                                                                        \
  "history.status, history.started_at, history.worker, history.result, history.error, history.finished_at," \
  " history.expires_at, history.dead, history.retried_as, history.note, history.continued_as"

// The same columns with their FROM clauses.
#define HAPAX_LIVE_EXECUTION                            \
  HAPAX_LIVE_EXECUTION_COLUMNS                          \
  " FROM live JOIN queues ON queues.id = live.queue_id" \
  " LEFT JOIN sessions ON sessions.id = live.session"

#define HAPAX_ENDED_EXECUTION HAPAX_ENDED_EXECUTION_COLUMNS " FROM history JOIN queues ON queues.id = history.queue_id"

[[nodiscard]] model::Execution read_live_execution(const Cursor& cursor);
[[nodiscard]] model::Execution read_ended_execution(const Cursor& cursor);

}  // namespace hapax::store::sqlite
