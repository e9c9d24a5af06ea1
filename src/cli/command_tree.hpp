// The program's commands and flags as plain values, read from the parser's own tree. The completion scripts and the
// manual page are made from them, so neither can be out of date.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hapax::cli {

struct OptionInfo {
  std::vector<std::string> names;  // "--queue", "-h"; empty for an argument
  std::string argument;            // the name of a positional argument
  std::string value;               // "Q", "JSON|@FILE|-"; empty: the flag takes no value
  std::string text;
  std::string usual;  // the default value, if --help shows one
  bool required = false;
  bool common = false;  // all commands have it
};

struct CommandInfo {
  std::string path;  // "queue list"; empty for the program itself
  std::string summary;
  std::string examples;  // the text below the flags in --help
  std::vector<OptionInfo> options;
  std::vector<CommandInfo> commands;
};

[[nodiscard]] CommandInfo describe(const CLI::App& root);
// The command itself and all commands below it, in order.
[[nodiscard]] std::vector<const CommandInfo*> flatten(const CommandInfo& root);

[[nodiscard]] std::string bash_completion(const CommandInfo& root);
[[nodiscard]] std::string zsh_completion(const CommandInfo& root);
// The text of hapax.1.
[[nodiscard]] std::string manual_page(const CommandInfo& root);
// The tree as JSON, for tests that compare the documentation with it.
[[nodiscard]] std::string tree_json(const CommandInfo& root);

}  // namespace hapax::cli
