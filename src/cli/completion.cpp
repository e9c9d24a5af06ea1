#include "base/text.hpp"
#include "cli/command_tree.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"

#include <fstream>

namespace hapax::cli {
namespace {

constexpr const char* completion_examples =
    "Prints a script that completes commands, flags and the fixed words that some\n"
    "flags take. The Debian package and `cmake --install` put the script where both\n"
    "shells look.\n"
    "\n"
    "Examples:\n"
    "  source <(hapax completion bash)\n"
    "  hapax completion bash > ~/.local/share/bash-completion/completions/hapax\n"
    "  hapax completion zsh > ~/.zfunc/_hapax        # in a folder of $fpath";

int run(const Commands& commands, const std::string& shell) {
  const CommandInfo root = describe(commands.root());
  if (shell == "bash") {
    print(bash_completion(root));
  } else if (shell == "zsh") {
    print(zsh_completion(root));
  } else {
    throw BadUsage(base::quoted(shell) + " is not a shell that hapax completes for; expected bash or zsh");
  }
  return exit_ok;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) { throw MissingFile("cannot write " + base::echo(path)); }
}

}  // namespace

void add_completion(Commands& commands) {
  const auto shell = std::make_shared<std::string>();
  CLI::App& command = commands.add({"completion", "Print a completion script for bash or zsh", completion_examples});
  command.add_option("shell", *shell, "bash or zsh")->type_name("SHELL")->required();
  commands.run_with(command, [&commands, shell](Shell&) { return run(commands, *shell); });

  // Hidden commands, for the build and the tests.
  const auto folder = std::make_shared<std::string>();
  CLI::App& generate = commands.add({"generate", "Write hapax.1 and the completion scripts into a folder", ""});
  generate.add_option("folder", *folder, "Folder to write into")->type_name("FOLDER")->required();
  generate.group("");
  commands.run_with(generate, [&commands, folder](Shell&) {
    const CommandInfo root = describe(commands.root());
    // Each file has the name that man, bash or zsh looks for.
    write_file(*folder + "/hapax.1", manual_page(root));
    write_file(*folder + "/hapax", bash_completion(root));
    write_file(*folder + "/_hapax", zsh_completion(root));
    return static_cast<int>(exit_ok);
  });
  CLI::App& tree = commands.add({"command-tree", "Print all commands and flags as JSON", ""});
  tree.group("");
  commands.run_with(tree, [&commands](Shell&) {
    print(tree_json(describe(commands.root())));
    return static_cast<int>(exit_ok);
  });
}

}  // namespace hapax::cli
