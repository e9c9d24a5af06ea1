#include "server/problem.hpp"

#include "base/json_text.hpp"
#include "server/http_error.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <typeinfo>

namespace hapax::server {

namespace {

template <class Type>
bool is(const std::exception& error) {
  return dynamic_cast<const Type*>(&error) != nullptr;
}

// The most derived type is asked for first; what is not named here is a defect.
int status_of(const std::exception& error) {
  if (const auto* http = dynamic_cast<const HttpError*>(&error)) { return http->status(); }
  if (is<PayloadTooLarge>(error)) { return 413; }
  if (is<InvalidArgument>(error)) { return 400; }
  if (is<IdempotencyMismatch>(error)) { return 422; }
  if (is<NotFound>(error)) { return 404; }
  if (is<ResultExpired>(error)) { return 410; }
  if (is<ConflictingDeclaration>(error) || is<TaskAlreadyExists>(error) || is<TaskAlreadyCompleted>(error) ||
      is<TaskAlreadyFinished>(error) || is<WrongStatus>(error) || is<StaleLease>(error) || is<QueueDraining>(error)) {
    return 409;
  }
  if (is<StoreUnavailable>(error) || is<ShuttingDown>(error) || is<std::bad_alloc>(error)) { return 503; }
  if (is<Unsupported>(error)) { return 501; }
  if (is<UsageError>(error)) { return 400; }
  return 500;
}

std::string name_of(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) { return ours->name(); }
  return is<std::bad_alloc>(error) ? "OutOfMemory" : "InternalError";
}

// "TaskAlreadyExists" → "Task already exists".
std::string title_of(const std::string& name) {
  std::string title;
  for (const char c : name) {
    const bool capital = c >= 'A' && c <= 'Z' && !title.empty();
    if (capital) { title += ' '; }
    title += capital ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return title;
}

void add(std::string& json, const char* key, const std::string& value) {
  json.append(json.empty() ? "{\"" : ",\"").append(key).append("\":");
  base::append_json_quoted(json, value);
}

// The type always; its text unless it may quote what a client sent.
std::string defect_of(const std::exception& error) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), std::free);
  const std::string type = demangled ? demangled.get() : typeid(error).name();
  return type.find("nlohmann") == std::string::npos ? type + ": " + error.what() : type;
}

ProblemAnswer answer_to(const std::exception& error) {
  ProblemAnswer answer;
  answer.name = name_of(error);
  Response& response = answer.response;
  response.status = status_of(error);
  response.content_type = "application/problem+json";
  std::string message = error.what();
  if (answer.name == "InternalError") {
    answer.defect = defect_of(error);
    message = "the server has a defect here; its log says more";
  }
  add(response.body, "type", "urn:hapax:error:" + answer.name);
  add(response.body, "title", title_of(answer.name));
  response.body.append(",\"status\":").append(std::to_string(response.status));
  add(response.body, "detail", message);
  add(response.body, "message", message);
  add(response.body, "error", answer.name);
  response.body += '}';
  if (const auto* http = dynamic_cast<const HttpError*>(&error)) {
    response.headers = http->headers();
    answer.closes = http->closes();
  } else if (response.status == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  return answer;
}

}  // namespace

ProblemAnswer problem_answer(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) { return answer_to(known); } catch (...) {
    return answer_to(std::runtime_error("something that is no std::exception was thrown"));
  }
}

}  // namespace hapax::server
