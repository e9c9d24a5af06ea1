// One request admitted and its answer told, for enqueue and start.
#pragma once

#include "cli/commands.hpp"
#include "cli/shell.hpp"
#include "wire/request.hpp"

#include <optional>
#include <string>

namespace hapax::cli {

// As the flags have it; payloads are still to be read.
struct AdmitOptions {
  RequestFields fields;
  std::optional<std::string> input;
  std::optional<std::string> metadata;
  bool wait = false;
  std::optional<std::string> wait_timeout;
};

// What tasks and workflows are asked for with alike.
void add_admit_flags(CLI::App& command, AdmitOptions& options);

// Prints {"id","created","status","run","deduplicated_from"?,"result"?,"result_expired"?} or its text form; returns the
// exit code. Throws what is wrong with the request, and the error of a refusal.
int admit_one(Shell& shell, const AdmitOptions& options);

}  // namespace hapax::cli
