#include "http/problem_json.hpp"

#include "base/json_out.hpp"
#include "model/error_table.hpp"

#include <new>

namespace hapax::http {
namespace {

template <class Type>
bool is(const std::exception& error) {
  return dynamic_cast<const Type*>(&error) != nullptr;
}

// A recorded error keeps its own name, which may be one of hapax's. An exception whose name the table lacks is a defect,
// unless its type says that the store cannot be used.
int status_of(const std::exception& error) {
  if (is<ExecutionFailed>(error)) { return 200; }
  const auto* const named = dynamic_cast<const Error*>(&error);
  const model::ErrorKind* const kind = named == nullptr ? nullptr : model::find_error(named->name());
  if (kind != nullptr) { return kind->http_status; }
  return is<StoreUnavailable>(error) || is<std::bad_alloc>(error) ? 503 : 500;
}

// The members with which an error describes the existing execution, or the field.
std::string facts_of(const std::exception& error) {
  base::JsonObject facts;
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
  Problem problem{.message = error.what(), .http_status = status_of(error)};
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
  base::JsonObject object;
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

}  // namespace hapax::http
