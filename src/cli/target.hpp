// One execution as people name it: by its id, by its task or workflow and the key it was asked for under, or as the run of
// an activity.
#pragma once

#include "cli/commands.hpp"
#include "cli/shell.hpp"

#include <optional>
#include <string>

namespace hapax::cli {

struct Target {
  std::optional<std::string> id;
  std::optional<std::string> task;
  std::optional<std::string> task_id;
  std::optional<std::string> queue;  // of the key
  std::optional<std::string> workflow;
  std::optional<std::string> workflow_id;
  std::optional<std::string> run;

  [[nodiscard]] bool by_key() const { return task || task_id || queue || workflow || workflow_id || run; }
};

void add_task_flags(CLI::App& command, Target& target);
void add_workflow_flags(CLI::App& command, Target& target);
void add_run_flag(CLI::App& command, Target& target);

// Throws BadUsage when it is named in no way or in two, NotFound for a key or run that nobody has. An id is not looked up.
[[nodiscard]] Uuid find_target(Shell& shell, const Target& target);
// The run's document, as Backend::show gives it. Throws InvalidArgument for what is no workflow's, and NotFound.
[[nodiscard]] std::string find_workflow(Shell& shell, const Target& target);

}  // namespace hapax::cli
