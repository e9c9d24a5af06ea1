#include "api/routes/answers.hpp"

#include "api/parse_values.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"

#include <charconv>

namespace hapax::api {

http::Response json_answer(std::string body, int status) {
  http::Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

std::string with_more(base::JsonObject object, bool more) {
  if (more) { object.boolean("more", true); }
  return object.str();
}

http::Response problem_answer_of(const http::Problem& problem) {
  http::Response response;
  response.status = problem.http_status;
  response.content_type = "application/problem+json";
  response.body = http::problem_json(problem);
  response.error = problem.name;
  return response;
}

void check_query(const http::Request& request, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : request.query) { base::check_known(name, "query parameter", known); }
}

int query_number(const http::Request& request, std::string_view name, int usual, int most) {
  const std::optional<std::string> given = request.parameter(name);
  if (!given) { return usual; }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), value);
  if (error != std::errc{} || end != given->data() + given->size()) {
    throw InvalidArgument(std::string(name),
                          base::quoted(*given) + " is not a number; expected 1 to " + std::to_string(most));
  }
  return api::within(value, {1, most}, std::string(name));
}

bool query_flag(const http::Request& request, std::string_view name, bool usual) {
  const std::optional<std::string> given = request.parameter(name);
  if (!given) { return usual; }
  if (*given == "true" || given->empty()) { return true; }
  if (*given == "false") { return false; }
  throw InvalidArgument(std::string(name), base::quoted(*given) + " is neither true nor false");
}

std::string actor_of(const http::Principal& principal) {
  return principal.channel + " (" + base::printable(principal.name) + ")";
}

Uuid path_id(const http::Call& call, std::string_view name) {
  const std::string& text = call.parameter(name);
  if (const std::optional<Uuid> id = Uuid::parse(text)) { return *id; }
  throw NotFound("no execution " + base::quoted(text) + "; an id looks like 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f");
}

model::QueueRef path_queue(const http::Call& call) {
  const std::string& name = call.parameter("queue");
  model::check_name(name, "queue");
  return {.namespace_name = call.principal().namespace_name, .name = name};
}

}  // namespace hapax::api
