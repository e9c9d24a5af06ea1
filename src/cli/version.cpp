#include <hapax/version.hpp>

#include "base/json_out.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"

namespace hapax::cli {

void add_version(Commands& commands) {
  CLI::App& command = commands.add(
      {"version", "Print the version of the program", "Examples:\n  hapax version\n  hapax version --json"});
  commands.run_with(command, [](Shell& shell) {
    print(shell.json() ? JsonObject().text("version", HAPAX_VERSION).str() : std::string("hapax ") + HAPAX_VERSION);
    return static_cast<int>(exit_ok);
  });
}

}  // namespace hapax::cli
