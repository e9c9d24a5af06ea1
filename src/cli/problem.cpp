#include "cli/problem.hpp"

#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "http/api_question.hpp"
#include "model/error_table.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

namespace hapax::cli {
namespace {

template <class Type>
bool is(const std::exception& error) {
  return dynamic_cast<const Type*>(&error) != nullptr;
}

std::string field_of(const std::exception& error) {
  if (const auto* const argument = dynamic_cast<const InvalidArgument*>(&error)) { return argument->field(); }
  const auto* const remote = dynamic_cast<const http::RemoteProblem*>(&error);
  return remote == nullptr ? "" : JsonView(remote->document).text("field");
}

int exit_code_of_name(const Error& error) {
  if (const model::ErrorKind* const kind = model::find_error(error.name())) {
    // An invalid input is bad data, whether it is not JSON or lacks a field that its task needs.
    return kind->exit_code == exit_usage && field_of(error) == "input" ? exit_data : kind->exit_code;
  }
  const auto* const remote = dynamic_cast<const http::RemoteProblem*>(&error);
  const bool may_pass = remote != nullptr && (remote->status == 503 || remote->status == 408);
  return may_pass || is<StoreUnavailable>(error) ? exit_store : exit_internal;
}

int exit_code_of_error(const std::exception& error) {
  if (is<BadData>(error)) { return exit_data; }
  if (is<ExecutionFailed>(error)) { return exit_unsuccessful; }
  if (const auto* const named = dynamic_cast<const Error*>(&error)) { return exit_code_of_name(*named); }
  return is<std::bad_alloc>(error) ? exit_store : exit_internal;
}

// problem_of() does not know BadData, which only the command line throws.
Problem describe_problem(const std::exception& error) {
  Problem problem = problem_of(error);
  if (const auto* data = dynamic_cast<const BadData*>(&error)) {
    problem.http_status = 400;
    if (!data->field().empty()) { problem.facts += JsonObject().text("field", data->field()).tail(); }
  }
  return problem;
}

}  // namespace

int report(const std::exception& error, bool as_json) {
  const Problem problem = describe_problem(error);
  const auto* const remote = dynamic_cast<const http::RemoteProblem*>(&error);
  if (as_json) {
    std::puts(remote != nullptr ? remote->document.c_str() : problem_json(problem).c_str());
    std::fflush(stdout);
  } else {
    const std::string line = problem.name + ": " + base::printable(problem.message);
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  return exit_code_of_error(error);
}

void require_file(const std::string& path, std::string_view option) {
  if (!path.empty() && ::access(path.c_str(), F_OK) != 0) {
    throw MissingFile(std::string(option) + " " + base::echo(path) + ": " + std::strerror(errno));
  }
}

}  // namespace hapax::cli
