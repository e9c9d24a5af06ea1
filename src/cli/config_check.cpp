// hapax config check: prints the values of a configuration, or all its problems.
#include "app/configuration.hpp"
#include "base/json_out.hpp"
#include "base/text.hpp"
#include "cli/config.hpp"
#include "cli/exit_code.hpp"
#include "cli/table.hpp"

#include <cstdio>

namespace hapax::cli {
namespace {

int print_problems(const Shell& shell, const config::Reading& reading) {
  if (shell.json()) {
    std::vector<std::string> items;
    for (const config::Problem& problem : reading.problems) {
      JsonObject object;
      object.text_or_null("source", problem.source).text_or_null("key", problem.key).text("message", problem.message);
      items.push_back(object.str());
    }
    Problem problem = problem_of(ConfigurationError(reading.problems.front().text()));
    problem.facts += JsonObject().boolean("good", false).raw("problems", json_array(items)).tail();
    print(problem_json(problem));
  } else {
    for (const config::Problem& problem : reading.problems) {
      std::fprintf(stderr, "ConfigurationError: %s\n", base::printable(problem.text()).c_str());
    }
  }
  return exit_configuration;
}

std::vector<std::string> words_of(const config::Config& config) {
  std::vector<std::string> words = config::describe_configuration(config);
  for (const schedule::Activity& activity : app::activities_of(config)) {
    words.push_back(app::describe_activity(activity));
  }
  return words;
}

void print_json(const config::Config& config, const std::vector<config::Stated>& values) {
  std::vector<std::string> items;
  for (const config::Stated& one : values) {
    items.push_back(JsonObject().text("key", one.key).text("value", one.value).text("from", one.source).str());
  }
  JsonObject object;
  object.text_or_null("file", config.path).boolean("good", true).raw("values", json_array(items));
  print(object.raw("words", json_text_array(words_of(config))).str());
}

}  // namespace

int check_configuration(const Shell& shell) {
  const config::Reading reading = app::read_configuration(shell.config_path(), config::process_environment());
  if (!reading.problems.empty()) { return print_problems(shell, reading); }
  const config::Config& config = reading.config;
  const std::vector<config::Stated> values = config::effective(config);
  if (shell.json()) {
    print_json(config, values);
    return exit_ok;
  }
  print(config.path.empty() ? "There is no file: only the environment and the defaults count."
                            : base::printable(config.path) + " is good.");
  Table table({{.title = "KEY", .whole = true}, {.title = "VALUE", .folds = true}, {.title = "FROM", .folds = true}});
  for (const config::Stated& one : values) {
    table.add({one.key, one.value, Cell(one.source, one.source == "default" ? Style::dim : Style::plain)});
  }
  print("");
  table.print("");
  const std::vector<std::string> words = words_of(config);
  if (!words.empty()) { print(""); }
  for (const std::string& sentence : words) { print(base::printable(sentence)); }
  return exit_ok;
}

}  // namespace hapax::cli
