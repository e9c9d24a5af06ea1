// Admits one request and prints the admission, for `enqueue` and `start`.
#pragma once

#include "api/request_fields.hpp"
#include "cli/commands.hpp"
#include "cli/shell.hpp"

#include <optional>
#include <string>

namespace hapax::cli {

// The flags' values. Payload arguments (JSON, @FILE or -) are not read yet.
struct AdmitOptions {
  RequestFields fields;
  std::optional<std::string> input;
  std::optional<std::string> metadata;
  bool wait = false;
  std::optional<std::string> wait_timeout;
};

// Adds the flags that `enqueue` and `start` share.
void add_admit_flags(CLI::App& command, AdmitOptions& options);

// Prints {"id","created","status","run","deduplicated_from"?,"result"?,"result_expired"?} or its text form; returns the
// exit code. Throws if the request is invalid or refused.
int admit_one(Shell& shell, const AdmitOptions& options);

}  // namespace hapax::cli
