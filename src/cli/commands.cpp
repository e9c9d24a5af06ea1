#include "cli/commands.hpp"

#include <hapax/version.hpp>

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/problem.hpp"

#include <algorithm>
#include <iostream>

namespace hapax::cli {
namespace {

constexpr const char* root_footer =
    "A first try:\n"
    "  hapax enqueue greet --input '{\"name\":\"Ada\"}'\n"
    "  hapax work --exec cat --until-empty\n"
    "  hapax list\n"
    "\n"
    "Store:          --store, else $HAPAX_STORE_URL, else [store] url of hapax.toml,\n"
    "                else sqlite:hapax.db in this folder\n"
    "Server:         --server or $HAPAX_SERVER_URL replaces the store by a server,\n"
    "                called with the token of --token-file or $HAPAX_TOKEN\n"
    "Namespace:      --namespace, else $HAPAX_NAMESPACE, else that of hapax.toml,\n"
    "                else \"default\"\n"
    "Configuration:  --config, else $HAPAX_CONFIG, else hapax.toml in this folder\n"
    "\n"
    "`hapax help COMMAND`, or `hapax COMMAND --help`, has examples.\n"
    "\n"
    "Exit codes:";

// `serve` has a --token-file of its own, so it does not get the common one.
void add_common(CLI::App& app, CommonOptions& options) {
  app.add_option("--store", options.store, "Store: sqlite:PATH, postgresql://… or memory:")
      ->type_name("URL")
      ->group("Common");
  app.add_option("--server", options.server, "Call this server, not a store: http(s)://…")
      ->type_name("URL")
      ->group("Common");
  if (app.get_option_no_throw("--token-file") == nullptr) {
    app.add_option("--token-file", options.token_file, "Token for --server (default: $HAPAX_TOKEN)")
        ->type_name("FILE")
        ->group("Common");
  }
  app.add_option("--ca-file", options.ca_file, "Certificates to trust, for --server https://…")
      ->type_name("FILE")
      ->group("Common");
  app.add_option("--namespace", options.namespace_name, "Namespace (default: $HAPAX_NAMESPACE)")
      ->type_name("NAME")
      ->group("Common");
  app.add_option("--config", options.config, "Configuration (default: $HAPAX_CONFIG)")
      ->type_name("FILE")
      ->group("Common");
  app.add_flag("--json", options.json, "Print JSON on standard output, errors too")->group("Common");
  app.add_flag("--quiet", options.quiet, "Print no progress and no remarks")->group("Common");
  app.set_help_flag("-h,--help", "Show this help")->group("Common");
}

std::string unknown(const std::string& what, const std::string& word, const std::vector<std::string>& known) {
  // Two swapped letters, the most common typing error, count as two edits; allow that many in short words too.
  const std::string near = base::closest(word, known, std::max<std::size_t>(2, word.size() / 3) + 1);
  return "unknown " + what + " " + base::quoted(word) + (near.empty() ? "" : "; did you mean '" + near + "'?");
}

// The message for an unreadable value repeats the whole value; echo() bounds its length.
std::string parse_error_text(const CLI::ParseError& error) {
  const bool repeats_input = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr ||
                             dynamic_cast<const CLI::ValidationError*>(&error) != nullptr ||
                             dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  return repeats_input ? base::echo(error.what()) : error.what();
}

// Replaces the parser's own message, which names only the number of values.
void refuse_repeated(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string>& given = option->results();
    if (option->get_items_expected_max() != 1 || given.size() < 2) { continue; }
    throw BadUsage(option->get_name() + " was given " + std::to_string(given.size()) + " times, as " +
                   base::quoted(given[0]) + " and " + base::quoted(given[1]) + "; expected it once");
  }
  for (const CLI::App* below : command.get_subcommands()) { refuse_repeated(*below); }
}

}  // namespace

Commands::Commands() : root_("Durable execution: tasks that take effect once.", "hapax") {
  add_common(root_, common_);
  root_.require_subcommand(0, 1);
  root_.allow_extras();
  root_.set_version_flag("-v,--version", [] { return std::string("hapax ") + HAPAX_VERSION; })->group("Common");
  std::string footer = root_footer;
  for (const ExitCodeMeaning& meaning : exit_code_meanings) {
    footer += "\n  " + std::to_string(meaning.code) +
              std::string(meaning.code < 10    ? 4
                          : meaning.code < 100 ? 3
                                               : 2,
                          ' ');
    footer += meaning.text;
  }
  root_.footer(footer);
  root_.get_formatter()->column_width(34);
}

CLI::App& Commands::add(const Description& description, CLI::App* parent) {
  CLI::App& command = *(parent == nullptr ? root_ : *parent).add_subcommand(description.name, description.summary);
  command.allow_extras();
  command.require_subcommand(0, 1);
  command.footer(description.examples);
  return command;
}

// Called after all commands are added, so that --help lists a command's own options first.
void Commands::share_common(CLI::App& parent) {
  for (CLI::App* command : parent.get_subcommands([](CLI::App*) { return true; })) {
    add_common(*command, common_);
    share_common(*command);
  }
}

void Commands::run_with(CLI::App& command, Run run) { runs_.emplace_back(&command, std::move(run)); }

std::vector<std::string> Commands::names_below(const CLI::App* parent) const {
  std::vector<std::string> names;
  for (const CLI::App* command : parent->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// Runs before the parser, which would report a mistyped command as an unexpected argument.
void Commands::check_names(const std::vector<std::string>& words) const {
  const CLI::App* level = &root_;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("-")) {
      // A common flag may stand before the command; the word after a flag that takes a value is that value.
      const CLI::Option* const flag = root_.get_option_no_throw(word);
      if (flag != nullptr && flag->get_items_expected_max() > 0) { ++i; }
      continue;
    }
    const std::vector<std::string> names = names_below(level);
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      const std::string what = level == &root_ ? "command" : level->get_name() + " command";
      throw BadUsage(unknown(what, word, names) + " (hapax --help lists them)");
    }
    level = level->get_subcommand(word);
    if (names_below(level).empty()) { return; }
  }
}

void Commands::refuse_extras(const CLI::App& command) {
  const std::vector<std::string> extras = command.remaining();
  if (extras.empty()) { return; }
  const auto flag = std::find_if(extras.begin(), extras.end(), [](const std::string& e) { return e.starts_with("-"); });
  const std::string word = flag == extras.end() ? extras.front() : flag->substr(0, flag->find('='));
  if (flag == extras.end()) { throw BadUsage("unexpected argument " + base::quoted(word)); }
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) { known.push_back("--" + name); }
  }
  throw BadUsage(unknown("option", word, known) + " (hapax " + command.get_name() + " --help)");
}

int Commands::run(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  // Looked up before parsing, so that errors of the parser are printed as JSON too.
  const bool as_json = std::find(words.begin(), words.end(), "--json") != words.end();
  try {
    if (words.empty()) {
      std::cerr << root_.help();
      return exit_usage;
    }
    share_common(root_);
    check_names(words);
    try {
      root_.parse(argc, argv);
    } catch (const CLI::Success& asked) {  // --help, --version
      return root_.exit(asked);
    } catch (const CLI::ParseError& error) {
      refuse_repeated(root_);
      throw BadUsage(parse_error_text(error));
    }
    refuse_extras(root_);
    const CLI::App* command = &root_;
    std::string name;
    while (!command->get_subcommands().empty()) {
      command = command->get_subcommands().front();
      name += (name.empty() ? "" : " ") + command->get_name();
      refuse_extras(*command);
    }
    for (const auto& [app, run] : runs_) {
      if (app == command) {
        Shell shell(common_, name);
        return run(shell);
      }
    }
    std::cerr << command->help();
    return exit_usage;
  } catch (const std::exception& error) { return report(error, common_.json || as_json); }
}

}  // namespace hapax::cli
