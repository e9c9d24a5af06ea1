// The program's exit codes, as documented in docs/reference/cli.md. Scripts lean on them: they never change.
#pragma once

namespace hapax::cli {

enum ExitCode : int {
  exit_ok = 0,
  exit_unsuccessful = 1,    // wait: the execution ended otherwise than completed; doctor: a problem was found
  exit_conflict = 3,        // the key is taken, the queue drains, the status does not allow it
  exit_usage = 64,          // a flag or argument that cannot be taken
  exit_data = 65,           // a payload, a line of a bulk file or a key that cannot be taken
  exit_missing = 66,        // a named file, execution or queue is not there
  exit_internal = 70,       // a defect of hapax
  exit_store = 75,          // the store is down, busy, read-only or full; trying again may help
  exit_configuration = 78,  // the store's URL or its schema is wrong for this build
  exit_still_going = 124,   // wait: time was over before the execution was
};

}  // namespace hapax::cli
