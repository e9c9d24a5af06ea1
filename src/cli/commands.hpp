// The program's commands. Each file of this folder that is named after a command adds it with an add_ function.
#pragma once

#include "cli/shell.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace hapax::cli {

// A command's texts in --help.
struct Description {
  std::string name;
  std::string summary;   // one line
  std::string examples;  // the text below the flags: output, exit codes, examples
};

using Run = std::function<int(Shell&)>;

// The tree of commands and the options that they share. main owns it until the program ends.
class Commands {
 public:
  Commands();

  // Adds a command below `parent` (the root if null). The caller adds its flags and calls `run_with`, unless the
  // command is a group. run() adds the common options to every command.
  CLI::App& add(const Description& description, CLI::App* parent = nullptr);
  void run_with(CLI::App& command, Run run);

  // The whole tree: complete once every command is added, and valid while a command runs.
  [[nodiscard]] const CLI::App& root() const { return root_; }

  // Parses the arguments and runs the command. Prints errors; returns the exit code.
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
