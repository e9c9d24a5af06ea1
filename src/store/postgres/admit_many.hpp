// Inserts many rows into `live` by one INSERT from arrays.
#pragma once

#include "model/catalogue_version.hpp"
#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/live_row.hpp"
#include "store/postgres/queue_table.hpp"
#include "store/postgres/statement.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace hapax::store::postgres {

// The result of an insert, read once for the whole batch.
struct Inserted {
  Time now{};
  std::set<std::int32_t> draining;        // ids of draining queues, which took nothing
  std::unordered_set<Uuid> born_running;  // executions admitted as running
  std::unordered_set<Uuid> took_identity;
  std::unordered_set<Uuid> sessions;  // only for guards: the sessions whose lease is not over
};

// The cheapest statement that can insert the rows. Rows with default settings need a quarter of the arrays, or half if
// each row takes an identity. Rows without identity touch no identity table. Either all rows are guards or none is.
// Inserts nothing when a catalogue is newer than `made_by` says.
[[nodiscard]] Call insert_call(std::vector<NewRow> rows, const QueueIds& queues, std::int64_t offset_us,
                               const model::CatalogueVersions& made_by = {});
// insert_call() for next runs of workflows, which are inserted into draining queues too, as they are no new work.
[[nodiscard]] Call insert_past_draining_call(std::vector<NewRow> rows, const QueueIds& queues, std::int64_t offset_us);
// Throws CatalogueChanged when an insert_call() inserted nothing for that reason.
[[nodiscard]] Inserted read_inserted(const Result& result);

// Which items may be born running (admitted as running). An item may not if an earlier item of the batch is ready in
// the same queue, as the statement's snapshot does not show that item.
[[nodiscard]] std::vector<bool> may_be_born_running(const std::vector<const model::NewExecution*>& items);

// The CTE `draining` of an admitting statement: the ids of draining queues, and the id catalogue_changed, which no
// queue has, when a catalogue is newer than its requests. The check reads a table with one row for each namespace in
// the same round trip. The two arrays of add_catalogue_params() are the parameters after `last`.
[[nodiscard]] std::string draining_text(int last);
// The condition under which such a statement inserts.
inline constexpr const char* current_text = " AND NOT EXISTS (SELECT FROM draining WHERE id = 0)";
inline constexpr std::int32_t catalogue_changed = 0;

// Adds two arrays: the namespaces and their versions.
void add_catalogue_params(Params& params, const model::CatalogueVersions& made_by);
[[noreturn]] void throw_catalogue_changed();

}  // namespace hapax::store::postgres
