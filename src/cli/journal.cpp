#include "api/execution_read.hpp"
#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/target.hpp"
#include "cli/timeline.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace hapax::cli {
namespace {

constexpr const char* journal_group_examples =
    "A workflow's journal records everything that its function did through its\n"
    "context, in order. After a crash the run continues from its journal.\n"
    "\n"
    "Examples:\n"
    "  hapax journal show --workflow process_order --workflow-id order-456\n"
    "  hapax journal export 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f --output order.json\n"
    "  hapax journal fork 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f --steps 3 \\\n"
    "      --workflow-id order-456-again";

constexpr const char* journal_show_examples =
    "Prints the entries of a run: steps, tasks and children with their outcomes,\n"
    "attempts and times, waits, signals.\n"
    "With --json an array of {\"position\",\"kind\",\"name\",\"status\",\"at\",\"ended_at\",\n"
    "\"attempts\",\"child\",\"input\",\"result\",\"error\",\"detail\"}.\n"
    "\n"
    "Exit codes: 0 shown; 64 not a workflow; 66 no such execution.";

constexpr const char* export_examples =
    "Writes the journal with its input and events as JSON, for\n"
    "hapax::testing::ReplayTester, which tests whether changed code can replay it.\n"
    "The file contains the run's payloads: protect the file like them.\n"
    "\n"
    "Exit codes: 0 written; 64 not a workflow; 66 no such execution, or the file\n"
    "cannot be written.";

constexpr const char* fork_examples =
    "Starts a new run, under a workflow ID of its own, that begins with the first N\n"
    "entries of another run and continues from there: entry N of `journal show` is\n"
    "the first that is executed again. The other run is not changed.\n"
    "With --json: {\"id\",\"created\",\"status\",\"run\",\"forked_from\",\"steps\"}.\n"
    "\n"
    "Exit codes: 0 started, or the run exists already; 3 one of the N entries had\n"
    "started and not ended; 64 not a workflow, or it has fewer entries; 66 no such\n"
    "execution.";

void journal_write_file(const std::string& path, const std::string& text) {
  std::FILE* const file = std::fopen(path.c_str(), "wbe");
  if (file == nullptr) { throw MissingFile("cannot write " + base::echo(path) + ": " + std::strerror(errno)); }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fputc('\n', file) != EOF;
  if (std::fclose(file) != 0 || !written) {
    throw MissingFile("cannot write " + base::echo(path) + ": " + std::strerror(errno));
  }
}

void add_target(CLI::App& command, Target& target) {
  command.add_option("id", target.id, "Execution ID, or its last 12 digits")->type_name("ID");
  add_workflow_flags(command, target);
}

void add_journal_show(Commands& commands, CLI::App& group) {
  const auto target = std::make_shared<Target>();
  CLI::App& command = commands.add({"show", "Show a run's timeline", journal_show_examples}, &group);
  add_target(command, *target);
  commands.run_with(command, [target](Shell& shell) {
    const std::string run = find_workflow(shell, *target);
    const std::string_view timeline = JsonView(run).raw("journal");
    if (shell.json()) {
      print(timeline);
    } else {
      print_timeline(read_execution(run), read_timeline(timeline));
    }
    return static_cast<int>(exit_ok);
  });
}

void add_journal_export(Commands& commands, CLI::App& group) {
  struct Options {
    Target target;
    std::optional<std::string> output;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      commands.add({"export", "Export a journal as JSON, to test changed code", export_examples}, &group);
  add_target(command, options->target);
  command.add_option("--output", options->output, "File to write (default: standard output)")->type_name("FILE");
  commands.run_with(command, [options](Shell& shell) {
    const Uuid id = read_execution(find_workflow(shell, options->target)).id;
    const std::string journal = shell.backend().export_journal(id);
    if (!options->output) {
      print(journal);
    } else {
      journal_write_file(*options->output, journal);
      if (shell.json()) { print(JsonObject().text("id", id.to_string()).text("file", *options->output).str()); }
    }
    return static_cast<int>(exit_ok);
  });
}

int fork_run(Shell& shell, const Uuid& from, int steps, const std::string& workflow_id) {
  const std::string document = shell.backend().fork(from, steps, workflow_id);
  const JsonView view(document);
  print(shell.json() ? document
                     : (view.flag("created") ? "created " : "existing ") + view.text("id") + " " + view.text("status"));
  return exit_ok;
}

void add_journal_fork(Commands& commands, CLI::App& group) {
  struct Options {
    std::string id;
    int steps = 0;
    std::string workflow_id;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"fork", "Start a run from the first entries of another", fork_examples}, &group);
  command.add_option("id", options->id, "Execution ID of the run to fork")->type_name("ID")->required();
  command.add_option("--steps", options->steps, "Number of entries that the new run begins with")
      ->type_name("N")
      ->required();
  command.add_option("--workflow-id", options->workflow_id, "Workflow ID of the new run")->type_name("ID")->required();
  commands.run_with(command, [options](Shell& shell) {
    Target target;
    target.id = options->id;
    return fork_run(shell, read_execution(find_workflow(shell, target)).id, options->steps, options->workflow_id);
  });
}

}  // namespace

void add_journal(Commands& commands) {
  CLI::App& group = commands.add({"journal", "Show, export and fork workflows' journals", journal_group_examples});
  add_journal_show(commands, group);
  add_journal_export(commands, group);
  add_journal_fork(commands, group);
}

}  // namespace hapax::cli
