// The names of errors (docs/reference/errors.md), each with its HTTP status and its exit code.
#pragma once

#include <string_view>

namespace hapax::model {

// The exit codes of the program hapax, documented in docs/reference/cli.md. Scripts depend on them, so a code never
// changes.
enum ExitCode : int {
  exit_ok = 0,
  exit_unsuccessful = 1,    // wait: the execution failed, was cancelled or timed out; doctor: a problem
  exit_conflict = 3,        // the key is taken, the queue drains, or the status forbids it
  exit_left = 4,            // work --until-idle: executions are left that this worker does not run
  exit_usage = 64,          // an invalid flag or argument
  exit_data = 65,           // an invalid payload, line of a bulk file or key
  exit_missing = 66,        // a named file, execution or queue does not exist
  exit_internal = 70,       // a defect of hapax
  exit_store = 75,          // the store or server is down, busy, read-only or full; retrying may help
  exit_permission = 77,     // the server refuses the token, or the token lacks a scope
  exit_configuration = 78,  // the store's URL or its schema is wrong for this build
  exit_still_going = 124,   // wait: the time was over before the execution ended
};

struct ErrorKind {
  std::string_view name;
  int http_status;
  ExitCode exit_code;
};

// Null for a name that hapax does not have, such as the type of a recorded error.
[[nodiscard]] const ErrorKind* find_error(std::string_view name);

}  // namespace hapax::model
