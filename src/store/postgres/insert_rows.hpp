// New rows of `live`: many in one INSERT from arrays.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/catalogue_versions.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/queue_ids.hpp"

#include <cstdint>
#include <set>
#include <unordered_set>
#include <vector>

namespace hapax::store::postgres {

// An item to insert, and what is known of its identity.
struct NewRow {
  const model::NewExecution* item = nullptr;
  int run = 1;
  bool takes_identity = false;  // insert into identities first; the live row follows only if the identity was new
  std::optional<std::int64_t> sequence;  // its place among its limit key, if reserved; none: the next number
};

// The result of an insert, read once for the whole batch.
struct Inserted {
  Time now{};
  std::set<std::int32_t> draining;        // ids of draining queues, which took nothing
  std::unordered_set<Uuid> born_running;  // executions admitted as running
  std::unordered_set<Uuid> took_identity;
  std::unordered_set<Uuid> sessions;  // only for guards: the sessions whose lease is not over
};

// The cheapest statement that these rows allow: rows with only the usual fields take a quarter of the arrays, and half
// of them when each row takes an identity. Rows without identity touch no identity table. Either all rows are guards or
// none is. Inserts nothing when a catalogue is newer than `made_by` says.
[[nodiscard]] Call insert_call(const std::vector<NewRow>& rows, const QueueIds& queues, std::int64_t offset_us,
                               const model::CatalogueVersions& made_by = {});
// insert_call() for next runs of workflows, which draining queues take as well: they are no new work.
[[nodiscard]] Call insert_past_draining_call(const std::vector<NewRow>& rows, const QueueIds& queues,
                                             std::int64_t offset_us);
// Throws CatalogueChanged when an insert_call() inserted nothing for that reason.
[[nodiscard]] Inserted read_inserted(const Result& result);

[[nodiscard]] bool is_guard(const model::NewExecution& item);

// Whether the item has only the fields that most items have, which the statements with few arrays can insert.
[[nodiscard]] bool is_usual(const model::NewExecution& item);

// Which items may be born running (admitted as running). An item may not if an earlier item of the batch is ready in
// the same queue, as the statement's snapshot does not show that item.
[[nodiscard]] std::vector<bool> may_be_born_running(const std::vector<const model::NewExecution*>& items);

// The throttle period of a request in throttle mode, in microseconds.
[[nodiscard]] std::optional<std::int64_t> throttle_of(const model::IdentityClaim& claim);

}  // namespace hapax::store::postgres
