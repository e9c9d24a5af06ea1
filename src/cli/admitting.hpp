// Admits one request and prints the admission, for `enqueue` and `start`.
#pragma once

#include "api/request_fields.hpp"
#include "cli/commands.hpp"
#include "cli/shell.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::cli {

// The flags' values. Payload arguments (JSON, @FILE or -) are not read yet.
struct AdmitOptions {
  // Flags that read_flags() reads like the members of a request's JSON, by the member's name.
  std::map<std::string_view, std::optional<std::string>> texts;
  std::map<std::string_view, std::optional<std::int64_t>> numbers;
  RequestFields fields;  // the other flags
  std::optional<std::string> input;
  std::optional<std::string> metadata;
  bool wait = false;
  std::optional<std::string> wait_timeout;
};

// `options.fields` with the options of `texts` and `numbers`. Throws InvalidArgument for an invalid value.
[[nodiscard]] RequestFields read_flags(const AdmitOptions& options);

// Adds the flags that `enqueue` and `start` share.
void add_admit_flags(CLI::App& command, AdmitOptions& options);

// Prints {"id","created","status","run","deduplicated_from"?,"result"?,"result_expired"?} or its text form; returns the
// exit code. Throws if the request is invalid or refused.
int admit_one(Shell& shell, const AdmitOptions& options);

}  // namespace hapax::cli
