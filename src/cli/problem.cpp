#include "cli/problem.hpp"

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/json_out.hpp"

#include <cstdio>
#include <new>

namespace hapax::cli {
namespace {

struct Codes {
  int exit_code;
  int http_status;
};

template <class Type>
bool is(const std::exception& error) {
  return dynamic_cast<const Type*>(&error) != nullptr;
}

// A payload that cannot be taken is bad data, whether it is no JSON or has not the fields its task wants.
bool is_about_input(const std::exception& error) {
  const auto* const argument = dynamic_cast<const InvalidArgument*>(&error);
  return argument != nullptr && argument->field() == "input";
}

// The most derived type is asked for first; what is not named here is a defect.
Codes codes_of(const std::exception& error) {
  if (is<BadUsage>(error)) return {exit_usage, 400};
  if (is<BadData>(error)) return {exit_data, 400};
  if (is<MissingFile>(error)) return {exit_missing, 404};
  if (is<ConfigurationError>(error)) return {exit_configuration, 500};
  if (is<PayloadTooLarge>(error)) return {exit_data, 413};
  if (is<InvalidJson>(error)) return {exit_data, 400};
  if (is<InvalidIdempotencyKey>(error)) return {exit_data, 400};
  if (is<IdempotencyKeyRequired>(error)) return {exit_data, 400};
  if (is_about_input(error)) return {exit_data, 400};
  if (is<InvalidArgument>(error)) return {exit_usage, 400};
  if (is<IdempotencyMismatch>(error)) return {exit_data, 422};
  if (is<NotFound>(error)) return {exit_missing, 404};
  if (is<ResultExpired>(error)) return {exit_missing, 410};
  if (is<ConflictingDeclaration>(error)) return {exit_conflict, 409};
  if (is<TaskAlreadyExists>(error)) return {exit_conflict, 409};
  if (is<TaskAlreadyCompleted>(error)) return {exit_conflict, 409};
  if (is<TaskAlreadyFinished>(error)) return {exit_conflict, 409};
  if (is<WrongStatus>(error)) return {exit_conflict, 409};
  if (is<StaleLease>(error)) return {exit_conflict, 409};
  if (is<QueueDraining>(error)) return {exit_conflict, 409};
  if (is<ExecutionFailed>(error)) return {exit_unsuccessful, 200};
  if (is<WaitTimeout>(error)) return {exit_still_going, 202};
  if (is<StoreUnavailable>(error)) return {exit_store, 503};
  if (is<ShuttingDown>(error)) return {exit_store, 503};
  if (is<SchemaMismatch>(error)) return {exit_configuration, 500};
  if (is<DecryptionFailed>(error)) return {exit_configuration, 500};
  if (is<Unsupported>(error)) return {exit_usage, 501};
  if (is<UsageError>(error)) return {exit_usage, 400};
  if (is<std::bad_alloc>(error)) return {exit_store, 503};
  return {exit_internal, 500};
}

// SPEC I11: errors carry facts.
std::string facts_of(const std::exception& error) {
  JsonObject facts;
  if (const auto* exists = dynamic_cast<const TaskAlreadyExists*>(&error)) {
    facts.text("existing_execution_id", exists->existing_execution_id.to_string());
    facts.text("existing_status", to_string(exists->status));
  } else if (const auto* completed = dynamic_cast<const TaskAlreadyCompleted*>(&error)) {
    facts.text("existing_execution_id", completed->existing_execution_id.to_string());
    facts.text("existing_status", to_string(Status::completed));
    facts.time("completed_at", completed->completed_at);
    facts.raw("result", completed->result.empty() ? "null" : completed->result);
  } else if (const auto* finished = dynamic_cast<const TaskAlreadyFinished*>(&error)) {
    facts.text("existing_execution_id", finished->existing_execution_id.to_string());
    facts.text("existing_status", to_string(finished->status));
  } else if (const auto* mismatch = dynamic_cast<const IdempotencyMismatch*>(&error)) {
    facts.text("existing_execution_id", mismatch->existing_execution_id.to_string());
  } else if (const auto* wrong = dynamic_cast<const WrongStatus*>(&error)) {
    facts.text("existing_status", to_string(wrong->status));
  } else if (const auto* argument = dynamic_cast<const InvalidArgument*>(&error)) {
    facts.text("field", argument->field());
  } else if (const auto* data = dynamic_cast<const BadData*>(&error); data != nullptr && !data->field().empty()) {
    facts.text("field", data->field());
  }
  return facts.tail();
}

// "TaskAlreadyExists" → "Task already exists".
std::string title_of(const std::string& name) {
  std::string title;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z' && !title.empty()) {
      title += ' ';
      title += static_cast<char>(c - 'A' + 'a');
    } else {
      title += c;
    }
  }
  return title;
}

// docs/reference/errors.md has a heading for each name.
std::string type_of(const std::string& name) { return "urn:hapax:error:" + name; }

}  // namespace

Problem problem_of(const std::exception& error) {
  const Codes codes = codes_of(error);
  Problem problem{.message = error.what(), .exit_code = codes.exit_code, .http_status = codes.http_status};
  if (const auto* ours = dynamic_cast<const Error*>(&error)) {
    problem.name = ours->name();
  } else if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    problem.name = "OutOfMemory";
  } else {
    problem.name = "InternalError";
  }
  problem.facts = facts_of(error);
  return problem;
}

std::string problem_json(const Problem& problem) {
  JsonObject object;
  object.text("type", type_of(problem.name))
      .text("title", title_of(problem.name))
      .number("status", std::int64_t{problem.http_status})
      .text("detail", problem.message)
      .text("message", problem.message)
      .text("error", problem.name);
  std::string text = object.str();
  text.insert(text.size() - 1, problem.facts);
  return text;
}

int report(const std::exception& error, bool as_json) {
  const Problem problem = problem_of(error);
  if (as_json) {
    std::puts(problem_json(problem).c_str());
    std::fflush(stdout);
  } else {
    const std::string line = problem.name + ": " + base::printable(problem.message);
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  return problem.exit_code;
}

}  // namespace hapax::cli
