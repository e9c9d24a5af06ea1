// The catalogue of tasks, and the settings that belong to no queue: small tables that are read whole. A change costs 1
// SELECT, 1 statement with its trigger's statement, and 1 INSERT for the audit line. A call that changes nothing costs
// no fdatasync.
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

#define HAPAX_TASK_COLUMNS "ns, name, definition, origin, updated_at"

constexpr const char* tasks_sql = "SELECT " HAPAX_TASK_COLUMNS " FROM tasks WHERE ns = ? ORDER BY name";
constexpr const char* task_sql = "SELECT " HAPAX_TASK_COLUMNS " FROM tasks WHERE ns = ? AND name = ?";
constexpr const char* put_task_sql = "INSERT OR REPLACE INTO tasks(" HAPAX_TASK_COLUMNS ") VALUES (?, ?, ?, ?, ?)";
constexpr const char* remove_task_sql = "DELETE FROM tasks WHERE ns = ? AND name = ?";
constexpr const char* settings_sql = "SELECT name, value FROM settings WHERE ns = ? ORDER BY name";
constexpr const char* setting_sql = "SELECT value FROM settings WHERE ns = ? AND name = ?";
constexpr const char* put_setting_sql = "INSERT OR REPLACE INTO settings(ns, name, value) VALUES (?, ?, ?)";
constexpr const char* remove_setting_sql = "DELETE FROM settings WHERE ns = ? AND name = ?";

#undef HAPAX_TASK_COLUMNS

TaskEntry read_task(const Cursor& cursor) {
  return {.namespace_name = cursor.string(0),
          .name = cursor.string(1),
          .definition = cursor.string(2),
          .origin = cursor.string(3),
          .updated_at = cursor.time(4)};
}

std::optional<TaskEntry> find_task(WriteTransaction& tx, const TaskEntry& entry) {
  Cursor cursor = tx.db().use(task_sql);
  return cursor.bind(entry.namespace_name, entry.name).next() ? std::optional(read_task(cursor)) : std::nullopt;
}

void write_task(WriteTransaction& tx, const TaskEntry& entry, std::string_view actor, std::string action) {
  tx.db().use(put_task_sql).bind(entry.namespace_name, entry.name, entry.definition, entry.origin, tx.now()).run();
  write_audit(tx, {.namespace_name = entry.namespace_name,
                   .actor = std::string(actor),
                   .action = std::move(action),
                   .subject = entry.name,
                   .detail = entry.definition});
}

}  // namespace

StoredCatalogue tasks_of(Connection& db, std::string_view namespace_name) {
  StoredCatalogue all;
  Cursor tasks = db.use(tasks_sql);
  tasks.bind(namespace_name);
  while (tasks.next()) { all.tasks.push_back(read_task(tasks)); }
  return all;
}

StoredCatalogue catalogue(ReadTransaction& tx, std::string_view namespace_name) {
  StoredCatalogue all = tasks_of(tx.db(), namespace_name);
  all.version = catalogue_version(tx.db(), namespace_name);
  Cursor settings = tx.db().use(settings_sql);
  settings.bind(namespace_name);
  while (settings.next()) { all.settings.push_back({.name = settings.string(0), .value = settings.string(1)}); }
  return all;
}

TaskEntry declare_task(WriteTransaction& tx, const TaskEntry& entry) {
  if (std::optional<TaskEntry> there = find_task(tx, entry)) { return *std::move(there); }
  write_task(tx, entry, entry.origin, "task.declare");
  TaskEntry added = entry;
  added.updated_at = tx.now();
  return added;
}

bool put_task(WriteTransaction& tx, const TaskEntry& entry, std::string_view actor) {
  const std::optional<TaskEntry> there = find_task(tx, entry);
  if (there && there->definition == entry.definition) { return false; }
  write_task(tx, entry, actor, "task.replace");
  return true;
}

bool remove_task(WriteTransaction& tx, std::string_view namespace_name, std::string_view name, std::string_view actor) {
  tx.db().use(remove_task_sql).bind(namespace_name, name).run();
  if (tx.db().changes() == 0) { return false; }
  write_audit(tx, {.namespace_name = std::string(namespace_name),
                   .actor = std::string(actor),
                   .action = "task.remove",
                   .subject = std::string(name)});
  return true;
}

bool put_setting(WriteTransaction& tx, std::string_view namespace_name, const Setting& setting,
                 std::string_view actor) {
  {
    Cursor cursor = tx.db().use(setting_sql);
    const bool there = cursor.bind(namespace_name, setting.name).next();
    if (there ? cursor.text(0) == setting.value : setting.value.empty()) { return false; }
  }
  if (setting.value.empty()) {
    tx.db().use(remove_setting_sql).bind(namespace_name, setting.name).run();
  } else {
    tx.db().use(put_setting_sql).bind(namespace_name, setting.name, setting.value).run();
  }
  write_audit(tx, {.namespace_name = std::string(namespace_name),
                   .actor = std::string(actor),
                   .action = "setting",
                   .subject = setting.name,
                   .detail = setting.value});
  return true;
}

}  // namespace hapax::store::sqlite
