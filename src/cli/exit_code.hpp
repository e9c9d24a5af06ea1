// The meanings of the exit codes, as --help prints them.
#pragma once

#include "model/error_table.hpp"

#include <array>
#include <string_view>

namespace hapax::cli {

using model::ExitCode;
using enum model::ExitCode;

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
