// Makes a NewExecution from an enqueue request as text (a body, flags, or a line of a bulk file).
#pragma once

#include "engine/catalogue_cache.hpp"
#include "model/execution.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::api {

// Fields that are not given come from the task's catalogue entry, else from the general defaults.
struct RequestFields {
  model::Kind kind = model::Kind::task;
  std::string task;
  std::string input = "null";  // JSON
  std::optional<std::string> task_id;
  std::optional<std::string> queue;
  std::string on_conflict = "return_existing";
  bool on_conflict_is_usual = false;        // not requested: the default of this API or command
  std::optional<std::string> wait_timeout;  // for on_conflict wait
  std::optional<std::string> reuse;
  std::optional<std::string> throttle;
  std::optional<std::string> debounce;
  bool keep_last = false;
  std::optional<std::string> concurrency_key;
  std::optional<std::string> ordering_key;
  std::int64_t weight = 1;
  std::optional<std::string> delay;
  std::optional<std::string> run_at;
  std::optional<std::int64_t> priority;
  std::optional<std::int64_t> max_attempts;
  std::optional<std::string> retry;  // JSON object as executions show it, instead of retry_base and retry_cap
  std::optional<std::string> retry_base;
  std::optional<std::string> retry_cap;
  std::optional<std::string> timeout;
  std::optional<std::string> deadline;
  std::vector<std::string> tags;
  std::string metadata;  // JSON object, or empty
  std::string traceparent;
  std::string tracestate;
  std::string actor;  // the caller, for the audit; empty: none
};

// By the rules that all ways to enqueue share (engine/build_request.hpp). Throws the typed error that names the field.
// Engine::admit() and admit_async() check the request; a caller of admit_bulk() calls model::check_new_execution() first.
[[nodiscard]] model::NewExecution make_request(const RequestFields& fields, const std::string& namespace_name,
                                               engine::CatalogueCache& catalogue);
// The same with the task's catalogue entry. Makes no store call.
[[nodiscard]] model::NewExecution make_request(const RequestFields& fields, const std::string& namespace_name,
                                               const engine::CatalogueCache::Entry& entry);

[[nodiscard]] OnConflict parse_on_conflict(std::string_view text);

// Reads {"task","input","task_id"?,"queue"?,…} over `defaults`. Unknown members are errors with a suggestion. Throws
// InvalidArgument and its derived errors, in which `field` names the whole text: "line", "body".
[[nodiscard]] RequestFields parse_request(std::string_view json, RequestFields defaults, std::string_view field);
// The reverse: an object that parse_request reads as the same fields, except for `kind` and `actor`. Throws InvalidJson
// for an invalid input or metadata.
[[nodiscard]] std::string request_json(const RequestFields& fields);

}  // namespace hapax::api
