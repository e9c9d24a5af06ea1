#include "cli/config.hpp"

#include "app/config/queue_keys.hpp"
#include "app/configuration.hpp"
#include "app/find.hpp"
#include "base/json_out.hpp"
#include "base/text.hpp"
#include "cli/audit.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "engine/engine.hpp"
#include "model/validate.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr const char* group_examples =
    "The configuration is --config FILE, else $HAPAX_CONFIG, else hapax.toml in this\n"
    "folder. The environment (HAPAX_…) overrides the file, flags override both.\n"
    "Queues, tasks, activities and settings are kept in the store, where all workers\n"
    "read them. The file is applied to the store by `apply`, and when a program\n"
    "starts with a file that differs from the one applied last.\n"
    "\n"
    "Examples:\n"
    "  hapax config check\n"
    "  hapax config apply --dry-run\n"
    "  hapax config show --json\n"
    "  hapax config audit --limit 20";

constexpr const char* check_examples =
    "Prints every value in effect and its source, and what the values mean for\n"
    "queues, tasks and activities; or prints all problems, one per line, such as\n"
    "hapax.toml:4: queues.payments.retention: '7 days' …\n"
    "Opens no store.\n"
    "With --json: {\"file\",\"good\",\"values\":[{\"key\",\"value\",\"from\"}],\"words\"}.\n"
    "\n"
    "Examples:\n"
    "  hapax config check\n"
    "  hapax config check deploy/hapax.toml --json\n"
    "\n"
    "Exit codes: 0 good; 66 no such file; 78 with problems.";

constexpr const char* config_apply_examples =
    "Writes the file's queues, tasks, activities and settings to the store and prints\n"
    "the changes. Settings that the file does not mention stay as they are. The\n"
    "file's values replace changes made since by `hapax queue set`. To roll back,\n"
    "apply the older file.\n"
    "With --json: {\"applied\",\"changes\":[{\"subject\",\"from\",\"to\",\"note\"}]}.\n"
    "\n"
    "Examples:\n"
    "  hapax config apply --dry-run\n"
    "  hapax config apply deploy/hapax.toml --json";

constexpr const char* forget_examples =
    "Removes the task's entry from the catalogue, so that the next program that\n"
    "declares the task sets the entry anew. Use this for a declaration that was\n"
    "changed in code (ConflictingDeclaration). Executions and keys are not changed.\n"
    "\n"
    "Example:\n"
    "  hapax config forget generate-report";

std::string changes_json(const std::vector<config::Change>& changes) {
  std::vector<std::string> items;
  for (const config::Change& change : changes) {
    JsonObject object;
    object.text("subject", change.subject).text_or_null("from", change.from).text_or_null("to", change.to);
    items.push_back(object.text_or_null("note", change.note).str());
  }
  return json_array(items);
}

int apply_configuration(Shell& shell, bool dry_run) {
  const config::Config& config = shell.configuration();
  if (config.path.empty()) {
    throw BadUsage("there is no file to apply: give FILE or --config, or make a hapax.toml here");
  }
  const std::string actor = "config apply of " + config.path + ", " + command_line_actor();
  shell.when_store_is_missing(dry_run ? MissingStore::imagine : MissingStore::make);
  engine::Engine engine(shell.shared_store());
  const std::vector<config::Change> changes =
      dry_run ? app::plan_configuration(engine, shell.namespace_name(), config)
              : app::apply_configuration(engine, shell.namespace_name(), config, actor);
  if (shell.json()) {
    print(JsonObject().boolean("applied", !dry_run).raw("changes", changes_json(changes)).str());
    return exit_ok;
  }
  std::vector<Column> columns = {
      {.title = "SETTING"}, {.title = "FROM", .folds = true}, {.title = "TO", .folds = true}};
  const bool noted = std::any_of(changes.begin(), changes.end(), [](const auto& one) { return !one.note.empty(); });
  if (noted) { columns.push_back({.title = "NOTE", .folds = true}); }
  Table table(columns);
  for (const config::Change& change : changes) {
    table.add({change.subject, change.from.empty() ? "-" : change.from, change.to.empty() ? "-" : change.to,
               Cell(change.note, Style::warn)});
  }
  table.print("nothing to change: the store has it all");
  if (!changes.empty() && !shell.quiet()) {
    print(plural(std::ssize(changes), "change") + (dry_run ? " would be made" : " made"));
  }
  return exit_ok;
}

std::string queue_settings_json(const model::QueueInfo& queue) {
  JsonObject object;
  object.text("queue", queue.queue.name);
  for (const config::QueueKey& key : config::queue_keys()) { object.text(key.name, key.shown(queue.settings)); }
  return object.str();
}

std::string task_json(const model::TaskEntry& entry) {
  JsonObject object;
  object.text("task", entry.name).text("origin", entry.origin).time("updated_at", entry.updated_at);
  return object.raw("definition", entry.definition).str();
}

int show_json(const std::vector<model::QueueInfo>& queues, const model::StoredCatalogue& catalogue) {
  std::vector<std::string> queue_items;
  for (const model::QueueInfo& queue : queues) { queue_items.push_back(queue_settings_json(queue)); }
  std::vector<std::string> task_items;
  for (const model::TaskEntry& entry : catalogue.tasks) { task_items.push_back(task_json(entry)); }
  JsonObject settings;
  for (const model::Setting& setting : catalogue.settings) { settings.text(setting.name, setting.value); }
  JsonObject object;
  object.raw("queues", json_array(queue_items)).raw("tasks", json_array(task_items));
  print(object.raw("settings", settings.str()).str());
  return exit_ok;
}

// Only the settings that differ from a new queue's.
std::string queue_settings_text(const model::QueueSettings& settings) {
  std::string text;
  for (const config::QueueKey& key : config::queue_keys()) {
    const std::string value = key.shown(settings);
    if (value != key.shown({})) { text += (text.empty() ? "" : ", ") + std::string(key.name) + " " + value; }
  }
  return text;
}

int show_stored(Shell& shell) {
  const std::vector<model::QueueInfo> queues = shell.store().queues(shell.namespace_name());
  const model::StoredCatalogue catalogue = shell.store().catalogue(shell.namespace_name());
  if (shell.json()) { return show_json(queues, catalogue); }
  const Time now = shell.store().now();
  constexpr std::size_t wide = 100;
  Table queue_table({{.title = "QUEUE"}, {.title = "SETTINGS", .widest = wide}});
  for (const model::QueueInfo& queue : queues) {
    const std::string text = queue_settings_text(queue.settings);
    queue_table.add({queue.queue.name, text.empty() ? Cell("as usual", Style::dim) : Cell(text)});
  }
  queue_table.print("no queues");
  print("");
  Table task_table(
      {{.title = "TASK"}, {.title = "ORIGIN"}, {.title = "SINCE"}, {.title = "DEFINITION", .widest = wide}});
  for (const model::TaskEntry& entry : catalogue.tasks) {
    task_table.add({entry.name, entry.origin, when(entry.updated_at, now), entry.definition});
  }
  task_table.print("no tasks in the catalogue");
  print("");
  Table setting_table({{.title = "SETTING"}, {.title = "VALUE", .widest = wide}});
  for (const model::Setting& setting : catalogue.settings) { setting_table.add({setting.name, setting.value}); }
  setting_table.print("no settings");
  return exit_ok;
}

int forget_task(Shell& shell, const std::string& task) {
  model::check_name(task, "task");
  if (!shell.store().remove_task(shell.namespace_name(), task, command_line_actor())) {
    std::vector<std::string> names;
    for (model::TaskEntry& entry : shell.store().catalogue(shell.namespace_name()).tasks) {
      names.push_back(std::move(entry.name));
    }
    throw NotFound("no task '" + task + "' in the catalogue of namespace '" + shell.namespace_name() + "'" +
                   base::did_you_mean(task, names, '\''));
  }
  if (shell.json()) {
    print(JsonObject().text("forgotten", task).str());
  } else {
    print("task " + base::printable(task) + " is out of the catalogue");
  }
  return exit_ok;
}

}  // namespace

void add_config(Commands& commands) {
  struct Options {
    std::string file;
    bool dry_run = false;
    int limit = 50;
    std::string task;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& group = commands.add({"config", "Check, apply and show the configuration", group_examples});
  CLI::App& check = commands.add({"check", "Print the values in effect, or all problems", check_examples}, &group);
  check.add_option("file", options->file, "File (default: the one in use)")->type_name("FILE");
  commands.run_with(check, [options](Shell& shell) {
    shell.name_configuration(options->file);
    return check_configuration(shell);
  });

  CLI::App& apply = commands.add({"apply", "Apply a configuration to the store", config_apply_examples}, &group);
  apply.add_option("file", options->file, "File (default: the one in use)")->type_name("FILE");
  apply.add_flag("--dry-run", options->dry_run, "Only print what would change");
  commands.run_with(apply, [options](Shell& shell) {
    shell.name_configuration(options->file);
    return apply_configuration(shell, options->dry_run);
  });

  CLI::App& show = commands.add({"show", "Show stored queues, tasks and settings", ""}, &group);
  commands.run_with(show, show_stored);

  CLI::App& audit = commands.add({"audit", "List who changed what, newest first", ""}, &group);
  audit.add_option("--limit", options->limit, "Print at most N lines")->type_name("N")->capture_default_str();
  commands.run_with(audit, [options](Shell& shell) {
    return show_audit(shell, {.namespace_name = shell.namespace_name(), .limit = options->limit});
  });

  CLI::App& forget = commands.add({"forget", "Remove a task from the catalogue", forget_examples}, &group);
  forget.add_option("task", options->task, "Name of the task")->type_name("TASK")->required();
  commands.run_with(forget, [options](Shell& shell) { return forget_task(shell, options->task); });
}

}  // namespace hapax::cli
