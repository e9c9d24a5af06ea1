// The program's exit codes, documented in docs/reference/cli.md. Scripts depend on them, so a code never changes.
#pragma once

#include <array>
#include <string_view>

namespace hapax::cli {

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

struct ExitCodeMeaning {
  int code;
  std::string_view text;
};

// --help and the manual page print this table; a test compares it with docs/reference/cli.md.
inline constexpr std::array<ExitCodeMeaning, 12> exit_code_meanings = {{
    {exit_ok, "done"},
    {exit_unsuccessful, "the execution failed, was cancelled or timed out; doctor found a problem"},
    {exit_conflict, "conflict: the key is taken, the queue drains, or the status forbids it"},
    {exit_left, "work --until-idle: executions are left that this worker does not run"},
    {exit_usage, "usage: an invalid flag, command or value"},
    {exit_data, "bad data: invalid JSON, payload, key or line of a file"},
    {exit_missing, "missing: a named file, execution, queue or activity does not exist"},
    {exit_internal, "a defect of hapax"},
    {exit_store, "the store or server is down, busy, read-only or full; retrying may help"},
    {exit_permission, "permission: the server refuses the token, or the token lacks a scope"},
    {exit_configuration, "configuration: an invalid file, variable or store URL, or a wrong schema"},
    {exit_still_going, "the time was over before the execution ended"},
}};

}  // namespace hapax::cli
