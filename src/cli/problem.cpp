#include "cli/problem.hpp"

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "wire/json_out.hpp"

#include <cstdio>
#include <new>

namespace hapax::cli {
namespace {

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
int exit_code_of_error(const std::exception& error) {
  if (is<BadUsage>(error)) return exit_usage;
  if (is<BadData>(error)) return exit_data;
  if (is<MissingFile>(error)) return exit_missing;
  if (is<ConfigurationError>(error)) return exit_configuration;
  if (is<PayloadTooLarge>(error)) return exit_data;
  if (is<InvalidJson>(error)) return exit_data;
  if (is<InvalidIdempotencyKey>(error)) return exit_data;
  if (is<IdempotencyKeyRequired>(error)) return exit_data;
  if (is_about_input(error)) return exit_data;
  if (is<InvalidArgument>(error)) return exit_usage;
  if (is<IdempotencyMismatch>(error)) return exit_data;
  if (is<NotFound>(error)) return exit_missing;
  if (is<ResultExpired>(error)) return exit_missing;
  if (is<ConflictingDeclaration>(error)) return exit_conflict;
  if (is<TaskAlreadyExists>(error)) return exit_conflict;
  if (is<TaskAlreadyCompleted>(error)) return exit_conflict;
  if (is<TaskAlreadyFinished>(error)) return exit_conflict;
  if (is<WrongStatus>(error)) return exit_conflict;
  if (is<StaleLease>(error)) return exit_conflict;
  if (is<QueueDraining>(error)) return exit_conflict;
  if (is<ExecutionFailed>(error)) return exit_unsuccessful;
  if (is<WaitTimeout>(error)) return exit_still_going;
  if (is<StoreUnavailable>(error)) return exit_store;
  if (is<ShuttingDown>(error)) return exit_store;
  if (is<SchemaMismatch>(error)) return exit_configuration;
  if (is<DecryptionFailed>(error)) return exit_configuration;
  if (is<Unsupported>(error)) return exit_usage;
  if (is<UsageError>(error)) return exit_usage;
  if (is<std::bad_alloc>(error)) return exit_store;
  return exit_internal;
}

// A command's own errors are known to nobody else.
Problem told_of(const std::exception& error) {
  Problem problem = problem_of(error);
  if (is<BadUsage>(error)) { problem.http_status = 400; }
  if (is<MissingFile>(error)) { problem.http_status = 404; }
  if (const auto* data = dynamic_cast<const BadData*>(&error)) {
    problem.http_status = 400;
    if (!data->field().empty()) { problem.facts += JsonObject().text("field", data->field()).tail(); }
  }
  return problem;
}

}  // namespace

int report(const std::exception& error, bool as_json) {
  const Problem problem = told_of(error);
  if (as_json) {
    std::puts(problem_json(problem).c_str());
    std::fflush(stdout);
  } else {
    const std::string line = problem.name + ": " + base::printable(problem.message);
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  return exit_code_of_error(error);
}

}  // namespace hapax::cli
