#include "cli/config.hpp"

#include "base/text.hpp"
#include "cli/audit.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "config/queue_keys.hpp"
#include "engine/engine.hpp"
#include "model/validate.hpp"
#include "schedule/configured.hpp"
#include "wire/find.hpp"
#include "wire/json_out.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr const char* group_examples =
    "The configuration is --config FILE, else $HAPAX_CONFIG, else hapax.toml in this folder. The environment (HAPAX_…) "
    "goes\n"
    "over the file, flags over both. Queues, tasks, activities and settings are kept in the store, which all workers "
    "read; "
    "the "
    "file "
    "is\n"
    "applied to it when a program starts with another file than the one applied last, or by `apply`.\n"
    "\n"
    "Examples:\n"
    "  hapax config check\n"
    "  hapax config apply --dry-run\n"
    "  hapax config show --json\n"
    "  hapax config audit --limit 20";

constexpr const char* check_examples =
    "Prints every value that counts and where it comes from, and what it means for queues, tasks and activities; or "
    "all "
    "problems,\n"
    "a line each: hapax.toml:4: queues.payments.retention: '7 days' …  Touches no store.\n"
    "\n"
    "Examples:\n"
    "  hapax config check\n"
    "  hapax config check deploy/hapax.toml --json   # "
    "{\"file\",\"good\",\"values\":[{\"key\",\"value\",\"from\"}],\"words\"}\n"
    "\n"
    "Exit codes: 0 good, 66 no such file, 78 with problems.";

constexpr const char* config_apply_examples =
    "Brings queues, tasks, activities and settings of the file into the store and prints what changed; what the file "
    "does "
    "not\n"
    "mention is left alone. Always applies, also what was changed by `hapax queue set` since. Roll back by applying "
    "the older "
    "file.\n"
    "\n"
    "Examples:\n"
    "  hapax config apply --dry-run\n"
    "  hapax config apply deploy/hapax.toml --json   # "
    "{\"applied\",\"changes\":[{\"subject\",\"from\",\"to\",\"note\"}]}";

constexpr const char* forget_examples =
    "Takes the task's entry out of the catalogue, so that the next program that declares it is taken at its word. For "
    "a\n"
    "declaration that was changed in code (ConflictingDeclaration). Executions and keys stay as they are.\n"
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
  const std::vector<config::Change> changes = dry_run
                                                  ? schedule::plan_configuration(engine, shell.ns(), config)
                                                  : schedule::apply_configuration(engine, shell.ns(), config, actor);
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

// Only what differs from a new queue's settings.
std::string queue_settings_text(const model::QueueSettings& settings) {
  std::string text;
  for (const config::QueueKey& key : config::queue_keys()) {
    const std::string value = key.shown(settings);
    if (value != key.shown({})) { text += (text.empty() ? "" : ", ") + std::string(key.name) + " " + value; }
  }
  return text;
}

int show_stored(Shell& shell) {
  const std::vector<model::QueueInfo> queues = shell.store().queues(shell.ns());
  const model::StoredCatalogue catalogue = shell.store().catalogue(shell.ns());
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
  if (!shell.store().remove_task(shell.ns(), task, command_line_actor())) {
    std::vector<std::string> names;
    for (model::TaskEntry& entry : shell.store().catalogue(shell.ns()).tasks) {
      names.push_back(std::move(entry.name));
    }
    throw NotFound("no task '" + task + "' in the catalogue of namespace '" + shell.ns() + "'" +
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
  CLI::App& group = commands.add({"config", "Configuration: check, apply, show, audit, forget", group_examples});
  CLI::App& check =
      commands.add({"check", "Say what a configuration says, or what is wrong with it", check_examples}, &group);
  check.add_option("file", options->file, "File (default: the one in use)")->type_name("FILE");
  commands.run_with(check, [options](Shell& shell) {
    shell.name_configuration(options->file);
    return check_configuration(shell);
  });

  CLI::App& apply = commands.add({"apply", "Bring a configuration into the store", config_apply_examples}, &group);
  apply.add_option("file", options->file, "File (default: the one in use)")->type_name("FILE");
  apply.add_flag("--dry-run", options->dry_run, "Only say what would change");
  commands.run_with(apply, [options](Shell& shell) {
    shell.name_configuration(options->file);
    return apply_configuration(shell, options->dry_run);
  });

  CLI::App& show = commands.add({"show", "What is stored: queues, the catalogue of tasks, settings", ""}, &group);
  commands.run_with(show, show_stored);

  CLI::App& audit = commands.add({"audit", "Who changed what, newest first", ""}, &group);
  audit.add_option("--limit", options->limit, "At most so many lines")->type_name("N")->capture_default_str();
  commands.run_with(audit,
                    [options](Shell& shell) { return show_audit(shell, {.ns = shell.ns(), .limit = options->limit}); });

  CLI::App& forget = commands.add({"forget", "Take a task out of the catalogue", forget_examples}, &group);
  forget.add_option("task", options->task, "Task")->type_name("TASK")->required();
  commands.run_with(forget, [options](Shell& shell) { return forget_task(shell, options->task); });
}

}  // namespace hapax::cli
