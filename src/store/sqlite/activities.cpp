// Activities. A tick: 1 SELECT and 1 UPDATE, and the cost of admitting its runs (admit.cpp: 2 SELECTs and 2 INSERTs
// each, 1 SELECT per queue) and of ending earlier runs (cancel_retry.cpp). A change of an old revision: 1 SELECT. A
// change of counts only: 1 SELECT, 1 UPDATE. A definition, pause or removal: 1 INSERT or UPDATE more; a new version and
// an audit line: 1 INSERT each. One fdatasync per call, none if nothing was changed.
//
// The ticker's read: 1 SELECT by an index that has only activities with a tick to come, and 2 more for each activity
// that is due.
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/identity.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

#define HAPAX_ACTIVITY_COLUMNS                                                                                    \
  "ns, id, uuid, revision, version, kind, paused, removed, cursor, next_due, last_started, started, duplicates, " \
  "missed, overlapped, refused, created_at, updated_at, note, trouble, definition"

constexpr const char* find_sql = "SELECT " HAPAX_ACTIVITY_COLUMNS " FROM activities WHERE ns = ? AND id = ?";
constexpr const char* insert_sql =
    "INSERT INTO activities(" HAPAX_ACTIVITY_COLUMNS
    ") VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21)";
// The parameters are numbered as in insert_sql.
constexpr const char* update_sql =
    "UPDATE activities SET revision = ?4, version = ?5, kind = ?6, paused = ?7, removed = ?8, cursor = ?9,"
    " next_due = ?10, last_started = ?11, started = ?12, duplicates = ?13, missed = ?14, overlapped = ?15,"
    " refused = ?16, created_at = ?17, updated_at = ?18, note = ?19, trouble = ?20, definition = ?21"
    " WHERE ns = ?1 AND id = ?2";
constexpr const char* page_sql =
    "SELECT " HAPAX_ACTIVITY_COLUMNS
    " FROM activities WHERE ns = ?1 AND id > ?2 AND removed = 0 AND (?3 IS NULL OR kind = ?3) ORDER BY id LIMIT ?4";
constexpr const char* due_sql =
    "SELECT " HAPAX_ACTIVITY_COLUMNS
    " FROM activities INDEXED BY activities_due WHERE next_due IS NOT NULL ORDER BY next_due, ns, id LIMIT ?";
constexpr const char* live_runs_sql = "SELECT id FROM live INDEXED BY live_parent WHERE parent = ? ORDER BY id LIMIT ?";
constexpr const char* last_result_sql =
    "SELECT result FROM history INDEXED BY history_parent WHERE parent = ? AND status = 2 AND continued_as IS NULL"
    " AND result IS NOT NULL AND expires_at > ? ORDER BY id DESC LIMIT 1";
constexpr const char* add_version_sql =
    "INSERT INTO activity_versions(ns, id, version, at, actor, definition) VALUES (?, ?, ?, ?, ?, ?)";
constexpr const char* versions_sql =
    "SELECT version, definition, actor, at FROM activity_versions WHERE ns = ? AND id = ? ORDER BY version DESC";
constexpr const char* raise_generation_sql =
    "INSERT INTO activity_generations(ns, generation) VALUES (?, 1)"
    " ON CONFLICT(ns) DO UPDATE SET generation = generation + 1";
constexpr const char* generation_sql = "SELECT generation FROM activity_generations WHERE ns = ?";

#undef HAPAX_ACTIVITY_COLUMNS

struct StoredActivity {
  ActivityState state;
  bool removed = false;
};

StoredActivity read_activity(const Cursor& cursor) {
  StoredActivity stored;
  ActivityState& state = stored.state;
  state.namespace_name = cursor.string(0);
  state.id = cursor.string(1);
  state.uuid = cursor.uuid(2);
  state.revision = cursor.integer(3);
  state.version = cursor.small(4);
  state.kind = static_cast<ActivityKind>(cursor.small(5));
  state.paused = cursor.flag(6);
  stored.removed = cursor.flag(7);
  state.cursor = cursor.time(8);
  state.next_due = cursor.optional(9, &Cursor::time);
  state.last_started = cursor.optional(10, &Cursor::time);
  state.counts = {.started = cursor.integer(11),
                  .duplicates = cursor.integer(12),
                  .missed = cursor.integer(13),
                  .overlapped = cursor.integer(14),
                  .refused = cursor.integer(15)};
  state.created_at = cursor.time(16);
  state.updated_at = cursor.time(17);
  state.note = cursor.string(18);
  state.trouble = cursor.string(19);
  state.definition = cursor.string(20);
  return stored;
}

// Also finds a removed activity.
std::optional<StoredActivity> find(Connection& db, std::string_view namespace_name, std::string_view id) {
  Cursor cursor = db.use(find_sql);
  return cursor.bind(namespace_name, id).next() ? std::optional(read_activity(cursor)) : std::nullopt;
}

void save(WriteTransaction& tx, const char* sql, const StoredActivity& stored) {
  const ActivityState& state = stored.state;
  const ActivityCounts& counts = state.counts;
  tx.db()
      .use(sql)
      .bind(state.namespace_name, state.id, state.uuid, state.revision, state.version, static_cast<int>(state.kind),
            state.paused, stored.removed, state.cursor, state.next_due, state.last_started, counts.started,
            counts.duplicates, counts.missed, counts.overlapped, counts.refused, state.created_at, state.updated_at,
            state.note, state.trouble, state.definition)
      .run();
}

std::string storable_text(std::string_view text) {
  return base::keep_head(base::escape_invalid(text), limits::note_bytes);
}

void count(ActivityState& state, const ActivityCounts& counts, std::string_view trouble, Time now) {
  state.counts += counts;
  if (counts.started > 0) { state.last_started = now; }
  if (!trouble.empty()) { state.trouble = storable_text(trouble); }
}

// Sets the initial fields of a new activity, or of one that is created again after its removal.
void init_activity(ActivityState& state, const ActivityChange& change, bool is_new, Time now) {
  if (is_new) {
    state.namespace_name = change.namespace_name;
    state.id = change.id;
    state.uuid = activity_uuid(change.namespace_name, change.id);
    state.revision = 0;
    state.version = 0;
  }
  state.created_at = now;
  state.paused = false;
  state.note.clear();
  state.trouble.clear();
}

void define(WriteTransaction& tx, ActivityState& state, const ActivityChange& change, bool was_there) {
  state.kind = change.definition->kind;
  if (was_there && state.definition == change.definition->json) { return; }
  state.version += 1;
  state.definition = change.definition->json;
  state.trouble.clear();
  state.updated_at = tx.now();
  tx.db()
      .use(add_version_sql)
      .bind(state.namespace_name, state.id, state.version, tx.now(), change.actor, state.definition)
      .run();
}

void reschedule(StoredActivity& stored, const ActivityChange& change) {
  ActivityState& state = stored.state;
  if (change.schedule) {
    state.cursor = change.schedule->cursor;
    state.next_due = change.schedule->next_due;
  }
  const bool ticks = state.kind == ActivityKind::cron && !state.paused && !stored.removed;
  if (!ticks) { state.next_due.reset(); }
}

std::vector<Admission> admit_runs(WriteTransaction& tx, const ActivityChange& change) {
  std::vector<const NewExecution*> items;
  items.reserve(change.admit.size());
  for (const NewExecution& item : change.admit) { items.push_back(&item); }
  const std::vector<std::optional<std::size_t>> of = dependants(items);
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool belongs_to_another = of[i] && !admissions[*of[i]].created();
    admissions.push_back(belongs_to_another ? admissions[*of[i]] : admit(tx, *items[i]));
  }
  return admissions;
}

std::vector<Admission> start_runs(WriteTransaction& tx, ActivityState& state, const ActivityChange& change) {
  std::vector<Admission> admissions = admit_runs(tx, change);
  const ActivityTally tally = model::tally(state.uuid, change.admit, admissions);
  count(state, tally.counts, tally.trouble, tx.now());
  if (tally.counts.started == 0 || !change.revision) { return admissions; }
  for (const Uuid& id : change.cancel) { static_cast<void>(cancel(tx, id, newer_run, {})); }
  for (const Uuid& id : change.terminate) { terminate(tx, id, newer_run); }
  return admissions;
}

DueActivity activity_with_runs(ReadTransaction& tx, ActivityState state) {
  DueActivity due;
  due.state = std::move(state);
  Cursor live = tx.db().use(live_runs_sql);
  live.bind(due.state.uuid, live_runs_max);
  while (live.next()) { due.live.push_back(live.uuid(0)); }
  Cursor last = tx.db().use(last_result_sql);
  if (last.bind(due.state.uuid, tx.now()).next()) { due.last_result = last.string(0); }
  return due;
}

}  // namespace

ActivityReply change_activity(WriteTransaction& tx, const ActivityChange& change) {
  std::optional<StoredActivity> found = find(tx.db(), change.namespace_name, change.id);
  const bool was_there = found && !found->removed;
  const std::int64_t present = was_there ? found->state.revision : 0;
  if (!change.revision) {
    ActivityReply reply{.applied = was_there, .revision = present, .admissions = {}};
    if (was_there) {
      reply.admissions = start_runs(tx, found->state, change);
      count(found->state, change.add, change.trouble, tx.now());
      save(tx, update_sql, *found);
    }
    return reply;
  }
  if (*change.revision != present || (!was_there && !change.definition)) {
    return {.applied = false, .revision = present, .admissions = {}};
  }
  const bool is_new = !found.has_value();
  StoredActivity stored = std::move(found).value_or(StoredActivity{});
  ActivityState& state = stored.state;
  if (!was_there) { init_activity(state, change, is_new, tx.now()); }
  if (change.definition) { define(tx, state, change, was_there); }
  stored.removed = change.remove;
  if (change.pause) {
    state.paused = change.pause->paused;
    state.note = storable_text(change.pause->note);
  }
  reschedule(stored, change);
  if (change.definition || change.pause || change.remove) {
    tx.db().use(raise_generation_sql).bind(change.namespace_name).run();
  }
  state.revision += 1;
  ActivityReply reply{.applied = true, .revision = change.remove ? 0 : state.revision, .admissions = {}};
  reply.admissions = start_runs(tx, state, change);
  count(state, change.add, change.trouble, tx.now());
  save(tx, is_new ? insert_sql : update_sql, stored);
  if (!change.action.empty()) {
    write_audit(tx, {.namespace_name = change.namespace_name,
                     .actor = change.actor,
                     .action = change.action,
                     .subject = change.id,
                     .detail = change.detail});
  }
  return reply;
}

std::vector<ActivityState> activities(ReadTransaction& tx, const ActivityQuery& query) {
  const int limit = std::clamp(query.limit, 0, limits::list_page);
  if (query.id) {
    std::optional<StoredActivity> found = find(tx.db(), query.namespace_name, *query.id);
    const bool asked_for = found && !found->removed && (!query.kind || found->state.kind == *query.kind) &&
                           (!query.after || found->state.id > *query.after) && limit > 0;
    return asked_for ? std::vector{std::move(found->state)} : std::vector<ActivityState>{};
  }
  std::vector<ActivityState> page;
  const std::optional<int> kind = query.kind ? std::optional(static_cast<int>(*query.kind)) : std::nullopt;
  Cursor cursor = tx.db().use(page_sql);
  cursor.bind(query.namespace_name, query.after ? std::string_view(*query.after) : std::string_view(), kind, limit);
  while (cursor.next()) { page.push_back(read_activity(cursor).state); }
  return page;
}

std::vector<ActivityVersion> activity_versions(ReadTransaction& tx, std::string_view namespace_name,
                                               std::string_view id) {
  std::vector<ActivityVersion> versions;
  Cursor cursor = tx.db().use(versions_sql);
  cursor.bind(namespace_name, id);
  while (cursor.next()) {
    versions.push_back(
        {.version = cursor.small(0), .definition = cursor.string(1), .actor = cursor.string(2), .at = cursor.time(3)});
  }
  return versions;
}

std::int64_t activity_generation(ReadTransaction& tx, std::string_view namespace_name) {
  Cursor cursor = tx.db().use(generation_sql);
  return cursor.bind(namespace_name).next() ? cursor.integer(0) : 0;
}

DueActivities due_activities(ReadTransaction& tx, int limit) {
  DueActivities report{.now = tx.now(), .due = {}, .next = {}};
  Cursor cursor = tx.db().use(due_sql);
  // Reads one activity more than `limit`: its due time is DueActivities::next.
  cursor.bind(std::int64_t{std::max(limit, 0)} + 1);
  while (cursor.next()) {
    ActivityState state = read_activity(cursor).state;
    if (*state.next_due > report.now || std::ssize(report.due) >= limit) {
      report.next = state.next_due;
      break;
    }
    report.due.push_back(activity_with_runs(tx, std::move(state)));
  }
  return report;
}

}  // namespace hapax::store::sqlite
