// The program's exit codes, as documented in docs/reference/cli.md. Scripts lean on them: they never change.
#pragma once

#include <array>
#include <string_view>

namespace hapax::cli {

enum ExitCode : int {
  exit_ok = 0,
  exit_unsuccessful = 1,    // wait: the execution ended otherwise than completed; doctor: a problem was found
  exit_conflict = 3,        // the key is taken, the queue drains, the status does not allow it
  exit_left = 4,            // work --until-idle: what is left is not this worker's to run
  exit_usage = 64,          // a flag or argument that cannot be taken
  exit_data = 65,           // a payload, a line of a bulk file or a key that cannot be taken
  exit_missing = 66,        // a named file, execution or queue is not there
  exit_internal = 70,       // a defect of hapax
  exit_store = 75,          // the store or server is down, busy, read-only or full; trying again may help
  exit_permission = 77,     // the server does not take the token, or the token does not allow it
  exit_configuration = 78,  // the store's URL or its schema is wrong for this build
  exit_still_going = 124,   // wait: time was over before the execution was
};

struct ExitCodeMeaning {
  int code;
  std::string_view text;
};

// The one table: --help, the manual page and docs/reference/cli.md have these codes (a test compares them).
inline constexpr std::array<ExitCodeMeaning, 12> exit_code_meanings = {{
    {exit_ok, "done"},
    {exit_unsuccessful, "the execution failed, was cancelled or timed out; doctor found a problem"},
    {exit_conflict, "conflict: the key is taken, the queue drains, the status does not allow it"},
    {exit_left, "work --until-idle: what is left is not this worker's to run"},
    {exit_usage, "usage: a flag, a command or a value that cannot be taken"},
    {exit_data, "bad data: JSON, a payload, a key, a line of a file"},
    {exit_missing, "missing: a file, an execution, a queue or an activity that was named"},
    {exit_internal, "a defect of hapax"},
    {exit_store, "the store or the server is down, busy, read-only or full; trying again may help"},
    {exit_permission, "permission: the server does not take the token, or the token does not allow it"},
    {exit_configuration, "configuration: a file or variable, the store's URL or its schema"},
    {exit_still_going, "time was over before the execution was"},
}};

}  // namespace hapax::cli
