// New rows of `live`, as statements take them: many in one INSERT from arrays.
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

// An item to insert, and how it stands with its identity.
struct NewRow {
  const model::NewExecution* item = nullptr;
  int run = 1;
  bool takes_identity = false;           // insert into identities first; the row follows only if that was new
  std::optional<std::int64_t> sequence;  // of one with a limit key, when it was reserved; none: the next
};

// What the insert did, told once for the whole batch.
struct Inserted {
  Time now{};
  std::set<std::int32_t> draining;        // numbers of queues that took nothing
  std::unordered_set<Uuid> born_running;  // granted
  std::unordered_set<Uuid> took_identity;
  std::unordered_set<Uuid> sessions;  // of guards: those whose lease lasts
};

// The cheapest statement that these rows allow: rows with nothing but the usual take a quarter of the arrays, and half of
// them when each takes an identity; rows without identity touch no identity table (SPEC I14).
// Either all of them are guards or none is. Inserts nothing when one of the catalogues is newer than `made_by` says.
[[nodiscard]] Call insert_call(const std::vector<NewRow>& rows, const QueueIds& queues, std::int64_t offset_us,
                               const model::CatalogueVersions& made_by = {});
// The same for rows that are nothing new: draining queues take them.
[[nodiscard]] Call insert_past_draining_call(const std::vector<NewRow>& rows, const QueueIds& queues,
                                             std::int64_t offset_us);
// Throws CatalogueChanged for those of insert_call.
[[nodiscard]] Inserted read_inserted(const Result& result);

[[nodiscard]] bool is_guard(const model::NewExecution& item);

// Nothing but what most have: what the statements with few arrays have room for.
[[nodiscard]] bool is_usual(const model::NewExecution& item);

// An earlier item of the batch that stands ready in the same queue is in the way of one that is to be born running; the
// statement's snapshot does not show it.
[[nodiscard]] std::vector<bool> may_be_born_running(const std::vector<const model::NewExecution*>& items);

// The throttle of a request that has one.
[[nodiscard]] std::optional<std::int64_t> throttle_of(const model::IdentityClaim& claim);

}  // namespace hapax::store::postgres
