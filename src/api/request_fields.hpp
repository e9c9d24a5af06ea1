// A request as JSON (a body, or a line of a bulk file): read into EnqueueOptions, of which the request is made.
#pragma once

#include <hapax/options.hpp>

#include "engine/catalogue_cache.hpp"
#include "model/execution.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::api {

// Options that are not set come from the task's catalogue entry, else from the general defaults.
struct RequestFields {
  model::Kind kind = model::Kind::task;
  std::string task;
  std::string input = "null";  // JSON
  EnqueueOptions options;      // all but `metadata`
  std::string metadata;        // JSON object, or empty; kept as text, as a parsed object loses its members' order
  bool on_conflict_is_default = false;  // not requested: options.on_conflict is the default of this API or command
  std::optional<Duration> retry_base;   // the parts of options.retry that retry_base and retry_cap gave
  std::optional<Duration> retry_cap;
  std::string actor;  // the caller, for the audit; empty: none
};

// A checked request, made by the rules that all ways to enqueue share (engine/build_request.hpp). Throws the typed error
// that names the field.
[[nodiscard]] model::NewExecution make_request(const RequestFields& fields, const std::string& namespace_name,
                                               engine::CatalogueCache& catalogue);
// As above, with the task's catalogue entry. Makes no store call.
[[nodiscard]] model::NewExecution make_request(const RequestFields& fields, const std::string& namespace_name,
                                               const engine::CatalogueCache::Entry& entry);

// Reads {"task","input","task_id"?,"queue"?,…} over `defaults`. Unknown members are errors with a suggestion. Throws
// InvalidArgument and its derived errors, in which `field` names the whole text: "line", "body".
[[nodiscard]] RequestFields parse_request(std::string_view json, RequestFields defaults, std::string_view field);
// Writes an object that parse_request reads as the same fields, except for `kind` and `actor`. Throws InvalidJson for
// an invalid input or metadata.
[[nodiscard]] std::string request_json(const RequestFields& fields);

}  // namespace hapax::api
