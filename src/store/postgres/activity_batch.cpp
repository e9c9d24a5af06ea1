#include "store/postgres/activity_batch.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/identity.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace hapax::store::postgres {

namespace {

using namespace model;

// Inserts in the given order, which is the lock order.
constexpr Statement create_rows{"hapax_activity_make", R"(
INSERT INTO {s}.activities (ns, id, uuid, revision, version, kind, removed, cursor, created_at, updated_at, definition)
SELECT u.ns, u.id, u.uuid, 0, 0, 0, true, 0, 0, 0, '' FROM unnest($1::text[], $2::text[], $3::uuid[]) u(ns, id, uuid)
ON CONFLICT (ns, id) DO NOTHING)"};

// Locks in the given order. OFFSET 0 forces the planner to look up row by row, by key.
constexpr Statement lock_rows{"hapax_activity_lock", R"(
SELECT u.place, a.revision, a.version, a.kind, a.paused, a.removed, a.next_due, a.same
FROM unnest($1::int[], $2::text[], $3::text[], $4::text[]) u(place, ns, id, definition)
CROSS JOIN LATERAL (
  SELECT x.revision, x.version, x.kind, x.paused, x.removed, x.next_due, x.definition = u.definition AS same
  FROM {s}.activities x WHERE x.ns = u.ns AND x.id = u.id
  OFFSET 0 FOR NO KEY UPDATE) a)"};

// A null leaves the column as it is, except next_due. The rows exist and are locked.
constexpr Statement write_rows{"hapax_activity_write", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
u AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::text[], $4::bigint[], $5::int[], $6::text[], $7::smallint[], $8::boolean[],
                       $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
                       $15::bigint[], $16::bigint[], $17::text[], $18::boolean[], $19::boolean[], $20::boolean[],
                       $21::boolean[], $22::text[], $23::text[], $24::text[])
                  u(ns, id, revision, version, definition, kind, paused, note, cursor, next_due, started, duplicates,
                    missed, overlapped, refused, trouble, is_made, is_removed, has_started, is_told, actor, action,
                    detail)),
kept AS (
  INSERT INTO {s}.activity_versions (ns, id, version, definition, actor, at)
  SELECT u.ns, u.id, u.version, u.definition, u.actor, t.now FROM t CROSS JOIN u WHERE u.definition IS NOT NULL),
noted AS (
  INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
  SELECT u.ns, t.now, u.actor, u.action, u.id, u.detail FROM t CROSS JOIN u WHERE u.action <> ''),
told AS (
  INSERT INTO {s}.activity_generations AS g (ns, generation)
  SELECT u.ns, count(*) FROM u WHERE u.is_told GROUP BY u.ns ORDER BY u.ns
  ON CONFLICT (ns) DO UPDATE SET generation = g.generation + excluded.generation)
UPDATE {s}.activities a
SET revision = u.revision, version = u.version, kind = u.kind, paused = u.paused, removed = u.is_removed,
    definition = coalesce(u.definition, a.definition), note = coalesce(u.note, a.note),
    trouble = coalesce(u.trouble, a.trouble), cursor = coalesce(u.cursor, a.cursor), next_due = u.next_due,
    last_started = CASE WHEN u.has_started THEN t.now ELSE a.last_started END,
    started = a.started + u.started, duplicates = a.duplicates + u.duplicates, missed = a.missed + u.missed,
    overlapped = a.overlapped + u.overlapped, refused = a.refused + u.refused,
    created_at = CASE WHEN u.is_made THEN t.now ELSE a.created_at END,
    updated_at = CASE WHEN u.definition IS NOT NULL THEN t.now ELSE a.updated_at END
FROM t CROSS JOIN u WHERE a.ns = u.ns AND a.id = u.id)"};

std::optional<std::int64_t> microseconds(const std::optional<Time>& time) {
  return time ? std::optional<std::int64_t>(time->time_since_epoch().count()) : std::nullopt;
}

std::string storable(std::string_view text) { return base::keep_head(base::escape_invalid(text), limits::note_bytes); }

bool may_create(const ActivityChange& change) { return change.revision == 0 && change.definition; }

// Definitions, pauses and removals raise the namespace's generation.
bool raises_generation(const ActivityChange& change) {
  return change.revision && (change.definition || change.pause || change.remove);
}

// The new note; none: the note stays. An activity that is created again starts with an empty note.
std::optional<std::string> note_of(const ActivityChange& change, bool is_made) {
  if (change.revision && change.pause) { return storable(change.pause->note); }
  return is_made ? std::optional<std::string>("") : std::nullopt;
}

// The new trouble; none: the trouble stays. A new definition starts without the trouble of the old one.
std::optional<std::string> trouble_of(const ActivityChange& change, const ActivityTally& tally, bool is_new) {
  if (!change.trouble.empty()) { return storable(change.trouble); }
  if (!tally.trouble.empty()) { return storable(tally.trouble); }
  return is_new ? std::optional<std::string>("") : std::nullopt;
}

}  // namespace

ActivityBatch::ActivityBatch(std::span<const ActivityChange> changes, std::int64_t offset_us)
    : changes_(changes),
      offset_us_(offset_us),
      order_(changes.size()),
      rows_(changes.size()),
      replies_(changes.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(changes[a].namespace_name, changes[a].id) < std::tie(changes[b].namespace_name, changes[b].id);
  });
}

std::vector<Call> ActivityBatch::lock_calls() const {
  Array places(Type::int4), namespaces(Type::text), ids(Type::text), definitions(Type::text);
  Array new_namespaces(Type::text), new_ids(Type::text), new_uuids(Type::uuid);
  bool may_be_new = false;
  for (const std::size_t i : order_) {
    const ActivityChange& change = changes_[i];
    places.int4(static_cast<std::int32_t>(i));
    namespaces.bytes(change.namespace_name);
    ids.bytes(change.id);
    definitions.optional_bytes(change.definition ? std::optional(change.definition->json) : std::nullopt);
    if (may_create(change)) {
      may_be_new = true;
      new_namespaces.bytes(change.namespace_name);
      new_ids.bytes(change.id);
      new_uuids.uuid(activity_uuid(change.namespace_name, change.id));
    }
  }
  std::vector<Call> calls;
  if (may_be_new) {
    Params params;
    params.arrays({&new_namespaces, &new_ids, &new_uuids});
    calls.push_back({&create_rows, std::move(params)});
  }
  Params params;
  params.arrays({&places, &namespaces, &ids, &definitions});
  calls.push_back({&lock_rows, std::move(params)});
  return calls;
}

void ActivityBatch::read(const Result& locked) {
  for (int at = 0; at < locked.rows(); ++at) {
    RowReader reader(locked, at);
    const auto place = static_cast<std::size_t>(reader.int4());
    Row row;
    row.revision = reader.int8();
    row.version = reader.int4();
    row.kind = static_cast<ActivityKind>(reader.int2());
    row.paused = reader.boolean();
    row.removed = reader.boolean();
    row.next_due = reader.optional_time();
    row.same_definition = reader.boolean();
    decide(place, row);
  }
}

void ActivityBatch::decide(std::size_t place, const Row& present) {
  const ActivityChange& change = changes_[place];
  ActivityReply& reply = replies_[place];
  reply.revision = present.removed ? 0 : present.revision;
  const bool can_be = reply.revision != 0 || (change.revision && change.definition);
  reply.applied = can_be && (!change.revision || *change.revision == reply.revision);
  Row& row = rows_[place];
  row = present;
  if (!reply.applied || !change.revision) { return; }
  row.is_made = present.removed;
  row.revision += 1;
  if (change.definition) {
    row.kind = change.definition->kind;
    row.is_new_version = row.is_made || !present.same_definition;
    row.version += row.is_new_version ? 1 : 0;
  }
  if (change.pause) { row.paused = change.pause->paused; }
  if (row.is_made && !change.pause) { row.paused = false; }
  row.removed = change.remove;
  if (change.schedule) { row.next_due = change.schedule->next_due; }
  const bool ticks = row.kind == ActivityKind::cron && !row.paused && !row.removed;
  if (!ticks) { row.next_due.reset(); }
  reply.revision = change.remove ? 0 : row.revision;
}

bool ActivityBatch::applies() const {
  return std::any_of(replies_.begin(), replies_.end(), [](const ActivityReply& reply) { return reply.applied; });
}

StopRequest ActivityBatch::stops() const {
  StopRequest request{.cancel = {}, .terminate = {}, .reason = newer_run};
  each_applied([&](const ActivityChange& change, const Row& row) {
    if (!change.revision || row.tally.counts.started == 0) { return; }
    request.cancel.insert(request.cancel.end(), change.cancel.begin(), change.cancel.end());
    request.terminate.insert(request.terminate.end(), change.terminate.begin(), change.terminate.end());
  });
  return request;
}

Items ActivityBatch::items() const {
  Items items;
  each_applied([&](const ActivityChange& change, const Row&) {
    for (const NewExecution& item : change.admit) { items.push_back(&item); }
  });
  return items;
}

void ActivityBatch::count(std::vector<Admission> admissions) {
  auto next = admissions.begin();
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const ActivityChange& change = changes_[i];
    if (!replies_[i].applied) { continue; }
    std::vector<Admission>& mine = replies_[i].admissions;
    for (std::size_t n = 0; n < change.admit.size(); ++n) { mine.push_back(std::move(*next++)); }
    rows_[i].tally = tally(activity_uuid(change.namespace_name, change.id), change.admit, mine);
  }
}

Call ActivityBatch::write_call() const {
  Array namespaces(Type::text), ids(Type::text), revisions(Type::int8), versions(Type::int4), definitions(Type::text);
  Array kinds(Type::int2), paused(Type::boolean), notes(Type::text), cursors(Type::int8), next_due(Type::int8);
  Array started(Type::int8), duplicates(Type::int8), missed(Type::int8), overlapped(Type::int8), refused(Type::int8);
  Array troubles(Type::text), made(Type::boolean), removed(Type::boolean), has_started(Type::boolean);
  Array told(Type::boolean), actors(Type::text), actions(Type::text), details(Type::text);
  each_applied([&](const ActivityChange& change, const Row& row) {
    ActivityCounts counts = row.tally.counts;
    counts += change.add;
    namespaces.bytes(change.namespace_name);
    ids.bytes(change.id);
    revisions.int8(row.revision);
    versions.int4(row.version);
    definitions.optional_bytes(row.is_new_version ? std::optional(change.definition->json) : std::nullopt);
    kinds.int2(static_cast<int>(row.kind));
    paused.boolean(row.paused);
    notes.optional_bytes(note_of(change, row.is_made));
    const bool moves = change.revision && change.schedule;
    cursors.optional_int8(moves ? microseconds(change.schedule->cursor) : std::nullopt);
    next_due.optional_int8(microseconds(row.next_due));
    started.int8(counts.started);
    duplicates.int8(counts.duplicates);
    missed.int8(counts.missed);
    overlapped.int8(counts.overlapped);
    refused.int8(counts.refused);
    troubles.optional_bytes(trouble_of(change, row.tally, row.is_made || row.is_new_version));
    made.boolean(row.is_made);
    removed.boolean(row.removed);
    has_started.boolean(counts.started > 0);
    told.boolean(raises_generation(change));
    actors.bytes(base::escape_invalid(change.actor));
    actions.bytes(change.revision ? std::string_view(change.action) : std::string_view());
    details.bytes(base::escape_invalid(change.detail));
  });
  Params params;
  params.int8(offset_us_).arrays({&namespaces,  &ids,        &revisions, &versions, &definitions, &kinds,
                                  &paused,      &notes,      &cursors,   &next_due, &started,     &duplicates,
                                  &missed,      &overlapped, &refused,   &troubles, &made,        &removed,
                                  &has_started, &told,       &actors,    &actions,  &details});
  return {&write_rows, std::move(params)};
}

std::optional<ActivityBatch::Raised> ActivityBatch::raised() const {
  std::optional<Raised> raised;
  each_applied([&](const ActivityChange& change, const Row& row) {
    if (change.revision) { raised = {.change = &change, .revision = row.revision}; }
  });
  return raised;
}

}  // namespace hapax::store::postgres
