#include "api/routes/answers.hpp"

#include "api/parse_values.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace hapax::api {

namespace {

[[noreturn]] void refuse(const std::string& name, const char* what, std::initializer_list<std::string_view> known) {
  throw InvalidArgument(base::echo(name), std::string("unknown ") + what + base::did_you_mean(name, known));
}

bool is_among(std::string_view name, std::initializer_list<std::string_view> known) {
  return std::find(known.begin(), known.end(), name) != known.end();
}

}  // namespace

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

Members::Members(std::string_view text, std::initializer_list<std::string_view> known, std::string_view field,
                 std::size_t around) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) { return; }
  base::check_json(text, field, around);
  members_ = base::checked_members(text, field);
  for (const base::JsonMember& member : members_) {
    if (!is_among(member.name, known)) { refuse(member.name, "member", known); }
  }
}

const base::JsonMember* Members::find(std::string_view name) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const base::JsonMember& member) { return member.name == name; });
  return found == members_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> Members::text(std::string_view name) const {
  const base::JsonMember* const member = find(name);
  return member == nullptr ? std::nullopt : std::optional(member->text());
}

std::string Members::require_text(std::string_view name, std::string_view example) const {
  if (std::optional<std::string> given = text(name)) { return *std::move(given); }
  throw InvalidArgument(std::string(name), "is missing; expected a string such as \"" + std::string(example) + "\"");
}

std::optional<Duration> Members::duration(std::string_view name) const {
  const std::optional<std::string> given = text(name);
  return given ? std::optional(parse_duration(*given, name)) : std::nullopt;
}

std::optional<std::int64_t> Members::integer(std::string_view name) const {
  const base::JsonMember* const member = find(name);
  return member == nullptr ? std::nullopt : std::optional(member->integer());
}

std::optional<double> Members::number(std::string_view name) const {
  const base::JsonMember* const member = find(name);
  if (member == nullptr) { return std::nullopt; }
  const auto value = nlohmann::json::parse(member->value);
  if (!value.is_number()) {
    throw InvalidArgument(std::string(name), "expected a number; came " + base::echo(member->value));
  }
  return value.get<double>();
}

bool Members::flag(std::string_view name) const {
  const base::JsonMember* const member = find(name);
  return member != nullptr && member->boolean();
}

std::vector<std::string> Members::texts(std::string_view name) const {
  const base::JsonMember* const member = find(name);
  return member == nullptr ? std::vector<std::string>{} : member->texts();
}

std::optional<std::string_view> Members::json(std::string_view name) const {
  const base::JsonMember* const member = find(name);
  return member == nullptr ? std::nullopt : std::optional(member->value);
}

std::vector<std::string_view> Members::items(std::string_view name) const {
  const base::JsonMember* const member = find(name);
  if (member == nullptr) { return {}; }
  if (!member->value.starts_with('[')) {
    throw InvalidArgument(std::string(name), "expected an array; came " + base::echo(member->value));
  }
  // The items are checked already, as part of the whole body.
  std::vector<std::string_view> items;
  base::JsonCursor cursor(member->value);
  cursor.step();
  while (cursor.peek() != ']') {
    if (cursor.peek() == ',') { cursor.step(); }
    items.push_back(cursor.value());
  }
  return items;
}

void check_query(const http::Request& request, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : request.query) {
    if (!is_among(name, known)) { refuse(name, "query parameter", known); }
  }
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

std::string actor_of(const http::Principal& principal) { return "api (" + base::printable(principal.name) + ")"; }

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
