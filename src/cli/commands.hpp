// The program's commands: each file of this folder named after a command adds one here.
#pragma once

#include "cli/shell.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hapax::cli {

// How a command is shown by --help.
struct Description {
  std::string name;
  std::string summary;   // one line
  std::string examples;  // below the flags: what it prints, its exit codes, examples
};

using Run = std::function<int(Shell&)>;

// The tree of commands and the options they share. Lives in main until the program ends.
class Commands {
 public:
  Commands();

  // A command below `parent` (the root when null). The caller adds its own flags and calls `run_with`, unless it is a
  // group of commands. The common options are added to all of them.
  CLI::App& add(const Description& description, CLI::App* parent = nullptr);
  void run_with(CLI::App& command, Run run);

  // All of it, once every command is added and while one runs.
  [[nodiscard]] const CLI::App& root() const { return root_; }

  // Parses and runs. Returns the exit code; throws what the command throws.
  int run(int argc, char** argv);

 private:
  void share_common(CLI::App& parent);
  void check_names(const std::vector<std::string>& words) const;
  [[nodiscard]] std::vector<std::string> names_below(const CLI::App* parent) const;
  static void refuse_extras(const CLI::App& command);

  CLI::App root_;
  CommonOptions common_;
  std::vector<std::pair<CLI::App*, Run>> runs_;
};

void add_activity(Commands& commands);
void add_audit(Commands& commands);
void add_bench(Commands& commands);
void add_cancel(Commands& commands);
void add_cleanup(Commands& commands);
void add_completion(Commands& commands);
void add_config(Commands& commands);
void add_dlq(Commands& commands);
void add_doctor(Commands& commands);
void add_enqueue(Commands& commands);
void add_event(Commands& commands);
void add_explain(Commands& commands);
void add_guard(Commands& commands);
void add_identity(Commands& commands);
void add_journal(Commands& commands);
void add_list(Commands& commands);
void add_migrate(Commands& commands);
void add_queue(Commands& commands);
void add_retry(Commands& commands);
void add_serve(Commands& commands);
void add_show(Commands& commands);
void add_signal(Commands& commands);
void add_sql(Commands& commands);
void add_start(Commands& commands);
void add_token(Commands& commands);
void add_top(Commands& commands);
void add_version(Commands& commands);
void add_wait(Commands& commands);
void add_work(Commands& commands);

}  // namespace hapax::cli
