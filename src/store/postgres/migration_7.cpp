// Version 7, a block a change.
//
// A build that knows only version 4, 5 or 6 never reads the view: it may go on beside newer ones.
#include "store/postgres/migrations.hpp"

namespace hapax::store::postgres {

namespace {

// ---- The key is called task_id, as everywhere else ---------------------------------------------------------------------
constexpr std::string_view key_is_task_id = "ALTER VIEW {s}.executions RENAME COLUMN identity_key TO task_id";

}  // namespace

std::vector<std::string_view> migration_7() { return {key_is_task_id}; }

}  // namespace hapax::store::postgres
