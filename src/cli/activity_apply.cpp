// hapax activity apply and delete.
#include "base/text.hpp"
#include "cli/activity.hpp"
#include "cli/activity_file.hpp"
#include "cli/exit_code.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr const char* apply_examples =
    "FILE is JSON (one activity or a list of them) or TOML with [activities.ID]\n"
    "tables, such as a hapax.toml; - is standard input. The whole file is checked\n"
    "first: if anything is invalid, nothing is stored. Applying an unchanged activity\n"
    "changes nothing. New activities, and activities with a changed timetable, count\n"
    "their ticks from now; paused activities stay paused.\n"
    "With --json: {\"created\",\"changed\",\"unchanged\",\"applied\",\n"
    "\"activities\":[{\"id\",\"result\",\"version\",\"description\",\"notes\"}]}.\n"
    "\n"
    "Examples:\n"
    "  hapax activity apply daily-report.json\n"
    "  hapax activity apply hapax.toml --dry-run\n"
    "  generate-activities | hapax activity apply -\n"
    "\n"
    "Exit codes: 0 applied; 65 FILE is invalid; 66 no such file.";

constexpr const char* delete_examples =
    "The runs and versions of the activity are kept. An activity that is applied\n"
    "again under the same ID continues with them.\n"
    "\n"
    "Example:\n"
    "  hapax activity delete daily-report";

// An unknown target is a note, not an error, because its program may be deployed later.
void note_near_miss(std::vector<std::string>& notes, const std::string& what, const std::string& name,
                    const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) { return; }
  const std::string near = base::closest(name, known);
  if (near.empty()) { return; }
  std::string note = "nothing is known here of " + what + " '" + name + "'; did you mean '" + near + "'?";
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) { notes.push_back(std::move(note)); }
}

std::vector<std::string> notes_on(const schedule::Activity& activity, const KnownNames& known) {
  std::vector<std::string> notes;
  const bool is_workflow = activity.target.kind == model::Kind::workflow;
  note_near_miss(notes, is_workflow ? "workflow" : "task", activity.target.name, known.tasks);
  if (activity.target.queue) { note_near_miss(notes, "queue", *activity.target.queue, known.queues); }
  for (const schedule::TaskInstance& task : activity.tasks) {
    note_near_miss(notes, "task", task.task_type, known.tasks);
    if (task.queue) { note_near_miss(notes, "queue", *task.queue, known.queues); }
  }
  return notes;
}

struct Row {
  std::string id;
  std::string result;  // created, changed or unchanged
  int version = 0;
  std::string description;
  std::vector<std::string> notes;
};

Row apply_one(Backend& backend, const schedule::Activity& activity, bool dry_run) {
  Row row{.id = activity.id, .result = {}, .version = 0, .description = describe_trigger(activity), .notes = {}};
  if (!dry_run) {
    const std::string applied = backend.apply_activity(activity);
    const JsonView view(applied);
    row.result = view.text("result");
    row.version = view.small("version", 1);
    return row;
  }
  const std::optional<std::string> there = backend.find_activity(activity.id);
  const std::optional<model::ActivityState> state = there ? std::optional(read_activity(*there)) : std::nullopt;
  const bool changed = !state || state->definition != schedule::encode_activity(activity);
  row.result = !state ? "created" : changed ? "changed" : "unchanged";
  row.version = state ? state->version + (changed ? 1 : 0) : 1;
  return row;
}

std::int64_t count_of(const std::vector<Row>& rows, std::string_view result) {
  return std::count_if(rows.begin(), rows.end(), [&](const Row& row) { return row.result == result; });
}

void print_json(const std::vector<Row>& rows, bool dry_run) {
  std::vector<std::string> items;
  for (const Row& row : rows) {
    JsonObject item;
    item.text("id", row.id).text("result", row.result).number("version", std::int64_t{row.version});
    item.text("description", row.description).raw("notes", json_text_array(row.notes));
    items.push_back(item.str());
  }
  JsonObject object;
  for (const char* result : {"created", "changed", "unchanged"}) { object.number(result, count_of(rows, result)); }
  print(object.boolean("applied", !dry_run).raw("activities", json_array(items)).str());
}

void print_table(const std::vector<Row>& rows, ProgressLine& remarks) {
  Table table({{.title = "ACTIVITY"},
               {.title = "RESULT"},
               {.title = "VERSION", .numeric = true},
               {.title = "RUNS", .folds = true}});
  for (const Row& row : rows) {
    const Style style = row.result == "unchanged" ? Style::dim : Style::good;
    table.add({row.id, Cell(row.result, style), std::to_string(row.version), row.description});
  }
  table.print("");
  for (const Row& row : rows) {
    for (const std::string& note : row.notes) { remarks.remark("note: " + row.id + ": " + note); }
  }
}

int apply(Shell& shell, const std::string& path, bool dry_run) {
  const ActivityFile file = read_activity_file(path);
  shell.when_store_is_missing(dry_run ? MissingStore::imagine : MissingStore::make);
  Backend& backend = shell.backend();
  const KnownNames known = backend.known_names();
  ProgressLine progress(shell);
  std::vector<Row> rows;
  for (const schedule::Activity& activity : file.activities) {
    Row row = apply_one(backend, activity, dry_run);
    row.notes = notes_on(activity, known);
    rows.push_back(std::move(row));
    if (progress.due()) {
      progress.show(progress_bar(static_cast<double>(rows.size()) / static_cast<double>(file.activities.size())) +
                    "  " + grouped(std::ssize(rows)) + " activities");
    }
  }
  progress.clear();
  if (shell.json()) {
    print_json(rows, dry_run);
    return exit_ok;
  }
  print_table(rows, progress);
  if (dry_run) { progress.remark("nothing was stored: --dry-run"); }
  if (file.has_other_sections) {
    progress.remark("note: only the activities of " + path + " were looked at; hapax config apply brings in the rest");
  }
  return exit_ok;
}

int remove(Shell& shell, const std::string& id) {
  shell.backend().remove_activity(id);
  if (shell.json()) {
    print(JsonObject().text("deleted", id).str());
  } else {
    print("activity " + base::printable(id) + " is deleted; its runs stay");
  }
  return exit_ok;
}

}  // namespace

void add_activity_apply(Commands& commands, CLI::App& group) {
  struct Options {
    std::string file;
    bool dry_run = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"apply", "Create or change activities from a file", apply_examples}, &group);
  command.add_option("file", options->file, "JSON or TOML; - for standard input")->type_name("FILE|-")->required();
  command.add_flag("--dry-run", options->dry_run, "Only check the file and print the changes");
  commands.run_with(command, [options](Shell& shell) { return apply(shell, options->file, options->dry_run); });
}

void add_activity_delete(Commands& commands, CLI::App& group) {
  const auto id = std::make_shared<std::string>();
  CLI::App& command = commands.add({"delete", "Delete an activity; its runs are kept", delete_examples}, &group);
  add_activity_id(command, *id);
  commands.run_with(command, [id](Shell& shell) { return remove(shell, *id); });
}

}  // namespace hapax::cli
