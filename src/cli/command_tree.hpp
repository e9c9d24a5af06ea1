// The program's commands and flags as plain values, read from the parser's own tree: what completion and the manual page are
// made of, so that neither lags behind.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hapax::cli {

struct OptionInfo {
  std::vector<std::string> names;  // "--queue", "-h"; empty for an argument
  std::string argument;            // the name of an argument without a flag
  std::string value;               // "Q", "JSON|@FILE|-"; empty: it takes none
  std::string text;
  std::string usual;  // the value it has when it is not given, if --help tells
  bool required = false;
  bool common = false;  // to all commands
};

struct CommandInfo {
  std::string path;  // "queue list"; empty for the program itself
  std::string summary;
  std::string examples;  // what --help has below the flags
  std::vector<OptionInfo> options;
  std::vector<CommandInfo> commands;
};

[[nodiscard]] CommandInfo describe(const CLI::App& root);
// It and all below it, in order.
[[nodiscard]] std::vector<const CommandInfo*> flatten(const CommandInfo& root);

[[nodiscard]] std::string bash_completion(const CommandInfo& root);
[[nodiscard]] std::string zsh_completion(const CommandInfo& root);
// hapax.1, for man.
[[nodiscard]] std::string manual_page(const CommandInfo& root);
// For tests that compare documentation with it.
[[nodiscard]] std::string tree_json(const CommandInfo& root);

}  // namespace hapax::cli
