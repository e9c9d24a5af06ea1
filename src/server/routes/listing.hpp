// Lists of executions: filters from query parameters or a JSON object, and cursors.
#pragma once

#include "model/execution.hpp"
#include "server/call.hpp"
#include "server/routes/answers.hpp"
#include "server/routes/tenant.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hapax::server {

// A page of what a query finds, and where the next begins.
struct Listing {
  model::ListQuery query;
  std::string text;       // only what has this in its payloads, error, key, task or tags; empty: all
  std::string signature;  // of the filters: a cursor is good for the list it came from
};

// Reads status, queue, task, tag, identity, idempotency_key, parent, activity, created_from, created_before, text,
// payloads, limit and cursor. May ask the catalogue, so it is for store threads.
enum class ListOf : std::uint8_t { executions, dead_letters };
[[nodiscard]] Listing listing_of(const Request& request, Tenant& tenant, ListOf what = ListOf::executions);

// {"executions":[…],"next":"…"|null}. A page with payloads ends at limits::list_bytes. A search by text looks at so many
// executions, and so many bytes of them, and no more: `search_stopped` says so. In both cases a page may be short, or empty,
// and still have a next.
[[nodiscard]] std::string list_page(store::Store& store, const Listing& listing);

// Ids as a body names them: {"ids":[…]}, or {"filter":{"status","queue","task","tag"}}, or {"all":true}. One of them.
struct Selection {
  std::vector<Uuid> ids;  // named one by one
  std::optional<model::ListQuery> query;
};
[[nodiscard]] Selection selection_of(const Members& body, const std::string& ns);

// Calls `act` with ids of the caller's namespace, in bounded batches: those that were named and are there, or all that the
// query finds. Each batch is on a store thread; between them the call is looked at. False: it was broken off, as nobody
// waits for it or the server stops, and there is more to do. Throws NotFound when the query names a queue that nobody made.
[[nodiscard]] bool each_batch(Call& call, store::Store& store, const Selection& selection,
                              const std::function<void(std::span<const Uuid>)>& act);

}  // namespace hapax::server
