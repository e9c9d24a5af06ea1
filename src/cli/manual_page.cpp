#include <hapax/version.hpp>

#include "cli/command_tree.hpp"
#include "cli/exit_code.hpp"

namespace hapax::cli {
namespace {

// Escapes text for roff: no line becomes a request, and hyphens can be copied as they are.
std::string roff(const std::string& text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) { out += "\\&"; }
    at_line_start = c == '\n';
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '`': out += "\\(ga"; break;
      case '\'': out += "\\(aq"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += c;
    }
  }
  return out;
}

std::string option_entry(const OptionInfo& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  }
  if (names.empty()) { names = "\\fI" + roff(option.argument) + "\\fR"; }
  if (!option.value.empty() && !option.names.empty()) { names += " \\fI" + roff(option.value) + "\\fR"; }
  std::string text = option.text;
  if (option.required) { text += " (required)"; }
  if (!option.usual.empty()) { text += " (" + option.usual + ")"; }
  return ".TP\n" + names + "\n" + roff(text) + "\n";
}

std::string options_of(const CommandInfo& command, bool common) {
  std::string text;
  for (const OptionInfo& option : command.options) {
    if (option.common == common) { text += option_entry(option); }
  }
  return text;
}

std::string as_it_stands(const std::string& text) { return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + "\n.fi\n"; }

}  // namespace

std::string manual_page(const CommandInfo& root) {
  std::string text = ".TH HAPAX 1 \"\" \"hapax " HAPAX_VERSION "\" \"User Commands\"\n";
  text += ".SH NAME\nhapax \\- durable execution: tasks that take effect once\n";
  text += ".SH SYNOPSIS\n\\fBhapax\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR | \\fIFLAG\\fR]...\n";
  text += ".SH DESCRIPTION\n" + roff(root.summary) + "\n";
  text += as_it_stands(root.examples.substr(0, root.examples.find("\nExit codes:")));
  text += ".SH COMMON FLAGS\nThese flags may stand before or after the command.\n" + options_of(root, true);
  text += ".SH COMMANDS\n";
  for (const CommandInfo* command : flatten(root)) {
    if (command == &root) { continue; }
    text += ".SS \"hapax " + roff(command->path) + "\"\n" + roff(command->summary) + ".\n";
    text += options_of(*command, false) + as_it_stands(command->examples);
  }
  text += ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& meaning : exit_code_meanings) {
    text += ".TP\n\\fB" + std::to_string(meaning.code) + "\\fR\n" + roff(std::string(meaning.text)) + "\n";
  }
  text += ".SH ENVIRONMENT\n";
  const std::vector<std::pair<std::string, std::string>> variables = {
      {"HAPAX_STORE_URL", "the store, unless --store names it"},
      {"HAPAX_SERVER_URL", "the server, unless --server or --store names another place"},
      {"HAPAX_TOKEN", "the token for the server, unless --token-file names its file"},
      {"HAPAX_NAMESPACE", "the namespace, unless --namespace names it"},
      {"HAPAX_CONFIG", "the configuration file, unless --config names it"},
      {"HAPAX_TRACEPARENT", "W3C trace context of enqueued executions"},
      {"HAPAX_TRACESTATE", "W3C tracestate that goes with HAPAX_TRACEPARENT"},
      {"NO_COLOR", "turns colours off when set"},
  };
  for (const auto& [name, what] : variables) { text += ".TP\n\\fB" + name + "\\fR\n" + roff(what) + "\n"; }
  text += ".SH FILES\n.TP\n\\fBhapax.toml\\fR\nthe configuration, if the current folder has this file\n";
  text += ".TP\n\\fB/etc/hapax/hapax.toml\\fR\nthe configuration of the services of the Debian package\n";
  return text;
}

}  // namespace hapax::cli
