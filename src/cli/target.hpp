// Names one execution on the command line: by its ID, by its task or workflow and the key of its request, or as the run
// of an activity.
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
  std::optional<std::string> queue;  // of a key of scope queue
  std::optional<std::string> workflow;
  std::optional<std::string> workflow_id;
  std::optional<std::string> run;

  [[nodiscard]] bool by_key() const { return task || task_id || queue || workflow || workflow_id || run; }
};

void add_task_flags(CLI::App& command, Target& target);
void add_workflow_flags(CLI::App& command, Target& target);
void add_run_flag(CLI::App& command, Target& target);

// Throws BadUsage when no execution is named, or in two ways, and NotFound for a key or run that no execution has. A
// whole ID is not looked up.
[[nodiscard]] Uuid find_target(Shell& shell, const Target& target);
// The run's document, an answer of Backend::show. Throws InvalidArgument for a task, and NotFound.
[[nodiscard]] std::string find_workflow(Shell& shell, const Target& target);

}  // namespace hapax::cli
