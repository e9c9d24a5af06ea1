#include "api/routes/listing.hpp"

#include "api/execution_json.hpp"
#include "api/parse_values.hpp"
#include "api/routes/cursor.hpp"
#include "base/json_out.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "engine/build_request.hpp"
#include "model/identity.hpp"
#include "model/labels.hpp"
#include "model/list_page.hpp"
#include "model/strategy.hpp"
#include "model/validate.hpp"
#include "schedule/activity.hpp"

#include <algorithm>
#include <span>

namespace hapax::api {

namespace {

constexpr int listing_usual_page = 50;
constexpr std::size_t text_bytes = 200;

std::vector<Status> statuses_of(const std::string& list) {
  std::vector<Status> statuses;
  std::size_t at = 0;
  while (at <= list.size()) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    statuses.push_back(api::require_status(std::string_view(list).substr(at, comma - at)));
    at = comma + 1;
  }
  return statuses;
}

std::optional<std::string> checked_name(std::optional<std::string> name, std::string_view field) {
  if (name) { model::check_name(*name, field); }
  return name;
}

base::Digest parse_identity(const std::string& text) {
  base::Digest digest{};
  const bool is_hex =
      text.size() == digest.size() * 2 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hex) {
    throw InvalidArgument(
        "identity",
        base::quoted(text) + " is not an identity; expected 64 lower-case hex digits, as an execution shows them");
  }
  const auto digit = [](char c) { return static_cast<std::uint8_t>(c <= '9' ? c - '0' : c - 'a' + 10); };
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  }
  return digest;
}

// Returns the identity that the task's rules make of a caller's key.
base::Digest identity_of(Tenant& tenant, const std::string& task, const std::string& key,
                         const std::optional<std::string>& queue) {
  model::check_key(key);
  const TaskSpec spec{.name = task, .options = {}};
  const engine::CatalogueCache::Entry entry = tenant.catalogue().find(spec);
  model::NewExecution request;
  request.task = task;
  request.queue = {.namespace_name = tenant.namespace_name(), .name = "default"};
  if (entry.definition != nullptr && entry.definition->queue) { request.queue.name = *entry.definition->queue; }
  if (queue) { request.queue.name = *queue; }
  return model::identity_of_key(engine::rules_for(spec, entry), request, key);
}

// {"customer":"42"}: each value is a string, which also matches a number, true, false or null of the metadata by its
// text.
std::vector<model::MetadataMatch> metadata_of(std::string_view object) {
  std::vector<model::MetadataMatch> matches;
  for (const base::JsonMember& member : base::json_members(object, "metadata")) {
    matches.push_back({.key = member.name, .value = base::json_string(member.value, "metadata")});
  }
  model::check_metadata_matches(matches);
  return matches;
}

bool has_text(const model::Execution& execution, const std::string& text) {
  const auto in = [&text](const std::string& place) { return place.find(text) != std::string::npos; };
  const auto in_error = [&] { return in(execution.error->type) || in(execution.error->message); };
  return in(execution.input) || (execution.result && in(*execution.result)) || (execution.error && in_error()) ||
         in(execution.identity_key) || in(execution.task) || in(execution.note) || in(execution.labels.metadata) ||
         std::any_of(execution.labels.tags.begin(), execution.labels.tags.end(), in);
}

}  // namespace

Listing listing_of(const http::Request& request, Tenant& tenant, ListOf what) {
  check_query(request,
              {"status", "queue", "task", "tag", "metadata", "identity", "idempotency_key", "parent", "activity",
               "created_from", "created_before", "text", "payloads", "limit", "cursor", "after", "dead"});
  Listing listing;
  model::ListQuery& query = listing.query;
  query.namespace_name = tenant.namespace_name();
  if (const auto statuses = request.parameter("status")) { query.statuses = statuses_of(*statuses); }
  query.queue = checked_name(request.parameter("queue"), "queue");
  query.task = checked_name(request.parameter("task"), "task");
  query.tag = checked_name(request.parameter("tag"), "tag");
  for (const auto& [name, value] : request.query) {
    if (name == "metadata") { query.metadata.push_back(model::parse_metadata_match(value)); }
  }
  model::check_metadata_matches(query.metadata);
  if (const auto identity = request.parameter("identity")) { query.identity = parse_identity(*identity); }
  if (const auto key = request.parameter("idempotency_key")) {
    if (!query.task) { throw InvalidArgument("task", "is missing; a key is looked for with the task it was given to"); }
    query.identity = identity_of(tenant, *query.task, *key, query.queue);
  }
  if (const auto parent = request.parameter("parent")) { query.parent = api::parse_id(*parent); }
  if (const auto activity = request.parameter("activity")) {
    schedule::check_activity_id(*activity, "activity");
    query.parent = model::activity_uuid(tenant.namespace_name(), *activity);
  }
  if (const auto from = request.parameter("created_from")) { query.created_from = parse_time(*from, "created_from"); }
  if (const auto before = request.parameter("created_before")) {
    query.created_before = parse_time(*before, "created_before");
  }
  listing.text = request.parameter("text").value_or("");
  if (listing.text.size() > text_bytes) {
    throw InvalidArgument("text", "has " + std::to_string(listing.text.size()) + " bytes; expected at most " +
                                      std::to_string(text_bytes));
  }
  query.dead_only = what == ListOf::dead_letters || query_flag(request, "dead", false);
  listing.signature = what == ListOf::dead_letters ? "dead letters\n" : "";
  query.payloads = query_flag(request, "payloads", false);
  query.limit = query_number(request, "limit", listing_usual_page, limits::list_page);
  for (const auto& [name, value] : request.query) {
    // The page's size and payloads may change from page to page.
    if (name == "cursor" || name == "limit" || name == "payloads" || name == "after") { continue; }
    listing.signature += name + '=' + value + '\n';
  }
  if (const auto after = request.parameter("after")) {
    if (request.parameter("cursor")) { throw InvalidArgument("after", "given beside cursor; expected one of them"); }
    query.after = api::parse_id(*after);
  }
  if (const auto cursor = request.parameter("cursor")) {
    query.after = parse_cursor(*cursor, {.namespace_name = tenant.namespace_name(), .list = listing.signature});
  }
  return listing;
}

std::string list_page(store::Store& store, const Listing& listing) {
  const bool searches = !listing.text.empty();
  model::ListQuery query = listing.query;
  query.payloads = listing.query.payloads || searches;
  std::vector<std::string> items;
  std::optional<Uuid> next;
  int looked_at = 0;
  std::size_t bytes = 0;
  bool stopped = false;
  while (true) {
    query.limit = searches ? limits::list_page / 5 : listing.query.limit;
    const std::vector<model::Execution> page = store.list(query);
    for (const model::Execution& execution : page) {
      next = execution.id;
      if (searches && !has_text(execution, listing.text)) { continue; }
      items.push_back(api::execution_json(execution, listing.query.payloads));
      if (std::ssize(items) == listing.query.limit) { break; }
    }
    if (model::is_last_page(query, page) && (page.empty() || next == page.back().id)) {
      next.reset();
      break;
    }
    if (std::ssize(items) == listing.query.limit || !searches) { break; }
    looked_at += static_cast<int>(page.size());
    for (const model::Execution& execution : page) { bytes += model::payload_bytes(execution); }
    stopped = looked_at >= limits::search_rows || bytes >= limits::search_bytes;
    if (stopped) { break; }
    query.after = next;
  }
  base::JsonObject object;
  object.raw("executions", base::json_array(items));
  if (next) {
    object.text("next",
                make_cursor(*next, {.namespace_name = listing.query.namespace_name, .list = listing.signature}));
  } else {
    object.null("next");
  }
  if (searches) { object.boolean("search_stopped", stopped); }
  return object.str();
}

app::Selection selection_of(const base::JsonView& body) {
  app::Selection selection;
  const int ways = (body.has("ids") ? 1 : 0) + (body.has("filter") ? 1 : 0) + (body.flag("all") ? 1 : 0);
  if (ways != 1) {
    throw InvalidArgument("ids", ways == 0
                                     ? "say which: {\"ids\":[…]}, {\"filter\":{\"queue\":\"…\"}} or {\"all\":true}"
                                     : "given beside filter or all; expected one of them");
  }
  if (body.has("ids")) {
    const std::vector<std::string> texts = body.texts("ids");
    if (texts.size() > static_cast<std::size_t>(limits::list_page)) {
      throw InvalidArgument(
          "ids", "has " + std::to_string(texts.size()) + " ids; expected at most " + std::to_string(limits::list_page));
    }
    for (const std::string& text : texts) {
      const Uuid id = api::parse_id(text);
      if (std::find(selection.ids.begin(), selection.ids.end(), id) == selection.ids.end()) {
        selection.ids.push_back(id);
      }
    }
    return selection;
  }
  model::ListQuery query;
  if (body.has("filter")) {
    const base::JsonView filter(body.raw("filter"), {"status", "queue", "task", "tag", "metadata"}, "filter");
    if (const auto status = filter.find_text("status")) { query.statuses = statuses_of(*status); }
    query.queue = checked_name(filter.find_text("queue"), "queue");
    query.task = checked_name(filter.find_text("task"), "task");
    query.tag = checked_name(filter.find_text("tag"), "tag");
    if (filter.has("metadata")) { query.metadata = metadata_of(filter.raw("metadata")); }
    if (query.statuses.empty() && !query.queue && !query.task && !query.tag && query.metadata.empty()) {
      throw InvalidArgument("filter", "is empty; expected status, queue, task, tag or metadata, or {\"all\":true}");
    }
  }
  selection.query = query;
  return selection;
}

bool each_batch(http::Call& call, const app::Operations& operations, app::Selection selection,
                const std::function<void(const app::Page&)>& act) {
  app::Batches batches(operations, std::move(selection));
  while (true) {
    call.blocking([&] {
      const app::Page page = batches.next();
      if (!page.empty()) { act(page); }
    });
    if (batches.at_end()) { return true; }
    if (!call.may_continue()) { return false; }
  }
}

}  // namespace hapax::api
