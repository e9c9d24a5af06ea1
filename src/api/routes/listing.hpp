// Lists of executions: filters from query parameters or a JSON object, and cursors.
#pragma once

#include "api/routes/answers.hpp"
#include "api/routes/tenant.hpp"
#include "app/operations.hpp"
#include "http/call.hpp"
#include "model/execution.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hapax::api {

// A query for one page of a list.
struct Listing {
  model::ListQuery query;
  std::string text;       // matches payloads, error, key, task, note, metadata or tags; empty: all
  std::string signature;  // the filters as text: a cursor is only valid for its own list
};

// Reads the filters, payloads, limit, cursor and after from the query parameters. May ask the catalogue, so it is for
// store threads.
enum class ListOf : std::uint8_t { executions, dead_letters };
[[nodiscard]] Listing listing_of(const http::Request& request, Tenant& tenant, ListOf what = ListOf::executions);

// {"executions":[…],"next":"…"|null}. A page with payloads ends at limits::list_bytes. A text search reads at most
// limits::search_rows executions and limits::search_bytes, and then sets `search_stopped`. In both cases a page may be
// short, or empty, and still have a next.
[[nodiscard]] std::string list_page(store::Store& store, const Listing& listing);

// The executions that a body selects by exactly one of {"ids":[…]},
// {"filter":{"status","queue","task","tag","metadata"}} and {"all":true}.
[[nodiscard]] app::Selection selection_of(const base::JsonView& body);

// Calls `act` with batches of the selected executions (app::Batches). Each batch runs on a store thread; between
// batches the call is checked. Returns false when interrupted with work left, because the client has left or the server
// stops. Throws NotFound when the query names a queue that does not exist.
[[nodiscard]] bool each_batch(http::Call& call, const app::Operations& operations, app::Selection selection,
                              const std::function<void(const app::Page&)>& act);

}  // namespace hapax::api
