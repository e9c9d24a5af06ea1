#include "store/postgres/admit_many.hpp"

#include "base/plain_path.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using model::NewExecution;

// Inserts executions that are due at once and have default settings, as most have. Enqueues over HTTP also have labels,
// which name the actor.
constexpr const char* insert_plain_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
{draining}
made AS (
  INSERT INTO {s}.live ({columns}, state, run_at, created_at)
  SELECT {columns}, 0, t.now, t.now FROM t, unnest({arrays}) u({all})
  WHERE u.queue_id <> ALL (ARRAY(SELECT id FROM draining)){current})
SELECT (SELECT now FROM t), ARRAY(SELECT id FROM draining), '{}'::uuid[], '{}'::uuid[])";

// Inserts equally plain executions that each take an identity: keyed enqueues, starts of workflows, runs of activities.
// The server scans each array as a function, so the cost is proportional to the number of arrays. coalesce keeps the
// planner from turning IN into a join, which would be nested loops because the planner expects few rows.
constexpr const char* keyed_part = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
{draining}
windows AS MATERIALIZED (SELECT id, dedup_window_us FROM {s}.queues WHERE dedup_window_us IS NOT NULL),
item AS MATERIALIZED (
  SELECT u.* FROM unnest({arrays}) u({all})
  WHERE u.queue_id <> ALL (ARRAY(SELECT id FROM draining)){current}),
held AS (
  INSERT INTO {s}.identities (identity, execution, run, fingerprint, created_at, hold_for)
  SELECT identity, id, 1, fingerprint, (SELECT now FROM t),
         coalesce(dedup_window, (SELECT w.dedup_window_us FROM windows w WHERE w.id = item.queue_id))
  FROM item ORDER BY identity
  ON CONFLICT (identity) DO NOTHING RETURNING execution),
)";

constexpr const char* keyed_rest = R"(
made AS (
  INSERT INTO {s}.live ({columns}, state, run_at, created_at)
  SELECT {columns}, 0, (SELECT now FROM t), (SELECT now FROM t)
  FROM item WHERE coalesce(id IN (SELECT execution FROM held), false))
SELECT (SELECT now FROM t), ARRAY(SELECT id FROM draining), '{}'::uuid[], ARRAY(SELECT execution FROM held))";

// Queues in which an execution may be born running, and the sessions it may be born for, computed once for the batch. A
// queue has something due when it has a ready row, or a delayed one whose time has come; each check is one probe of a
// partial index.
constexpr const char* free_part = R"(
free AS MATERIALIZED (
  SELECT q.id FROM {s}.queues q
  WHERE q.id = ANY (ARRAY(SELECT DISTINCT queue_id FROM item WHERE born_session IS NOT NULL))
    AND NOT q.paused AND NOT q.limited
    AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 0 AND l.lost = 0)
    AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 0 AND l.lost > 0)
    AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 2
                                             AND l.run_at <= (SELECT now FROM t))),
here AS MATERIALIZED (
  SELECT x.id FROM {s}.sessions x
  WHERE x.id = ANY (ARRAY(SELECT DISTINCT born_session FROM item WHERE born_session IS NOT NULL))),
)";

constexpr const char* born_rest = R"(
made AS (
  INSERT INTO {s}.live ({columns}, state, run_at, created_at, attempt, fence, session, claim_number, claimed_at)
  SELECT {columns}, born, now, now, born, born, CASE born WHEN 1 THEN born_session END,
         CASE born WHEN 1 THEN born_claim END, CASE born WHEN 1 THEN now END
  FROM (SELECT i.*, t.now, CASE WHEN born_session IS NOT NULL AND i.queue_id IN (SELECT id FROM free)
                                     AND i.born_session IN (SELECT id FROM here) THEN 1 ELSE 0 END AS born
        FROM item i, t WHERE coalesce(i.id IN (SELECT execution FROM held), false) OFFSET 0) row
  RETURNING id, state)
SELECT (SELECT now FROM t), ARRAY(SELECT id FROM draining), ARRAY(SELECT id FROM made WHERE state = 1),
       ARRAY(SELECT execution FROM held))";

// Inserts executions with any fields. OFFSET 0 keeps `born` from being computed again for every column that uses it.
constexpr const char* items_part = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
{draining}
item AS MATERIALIZED (
  SELECT u.*, coalesce(u.at, t.now + u.delay) AS due, t.now FROM t, unnest({arrays}) u({all})
  WHERE u.queue_id <> ALL (ARRAY(SELECT id FROM draining)){current}),
)";

// hold_for is model::hold_for. A name that another identity has is a unique violation.
constexpr const char* identities_part = R"(
held AS (
  INSERT INTO {s}.identities (identity, execution, run, fingerprint, created_at, hold_for, name)
  SELECT identity, id, run, fingerprint, now,
         greatest(coalesce(dedup_window, (SELECT q.dedup_window_us FROM {s}.queues q WHERE q.id = item.queue_id)),
                  throttle), name
  FROM item WHERE takes_identity ORDER BY identity
  ON CONFLICT (identity) DO NOTHING RETURNING execution),
)";

constexpr const char* live_part = R"(
made AS (
  INSERT INTO {s}.live ({general columns}) SELECT {general values}
  FROM (
    SELECT i.*, CASE WHEN born_session IS NULL OR due > now THEN false ELSE
        i.queue_id IN (SELECT id FROM free) AND i.born_session IN (SELECT id FROM here) END AS born
    FROM item i {condition} OFFSET 0) row
  RETURNING id, state)
SELECT (SELECT now FROM t), ARRAY(SELECT id FROM draining), ARRAY(SELECT id FROM made WHERE state = 1), {held})";

// Inserts guards, which run whatever else is in their queue, but not for a session that is gone.
constexpr const char* guards_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
draining AS MATERIALIZED (SELECT id FROM {s}.queues WHERE draining),
here AS MATERIALIZED (
  SELECT x.id FROM {s}.sessions x
  WHERE x.id = ANY (ARRAY(SELECT DISTINCT s FROM unnest({session}[]) s)) AND x.expires_at > (SELECT now FROM t)),
item AS MATERIALIZED (
  SELECT u.* FROM unnest({arrays}) u({all})
  WHERE u.queue_id <> ALL (ARRAY(SELECT id FROM draining)) AND u.session = ANY (ARRAY(SELECT id FROM here))),
held AS (
  INSERT INTO {s}.identities (identity, execution, run, fingerprint, created_at, hold_for)
  SELECT identity, id, run, fingerprint, (SELECT now FROM t), 0 FROM item WHERE takes_identity ORDER BY identity
  ON CONFLICT (identity) DO NOTHING RETURNING execution),
made AS (
  INSERT INTO {s}.live ({columns}, kind, state, run_at, created_at, attempt, fence, claimed_at)
  SELECT {columns}, 2, 1, (SELECT now FROM t), (SELECT now FROM t), 1, 1, (SELECT now FROM t)
  FROM item WHERE NOT takes_identity OR coalesce(id IN (SELECT execution FROM held), false)
  RETURNING id)
SELECT (SELECT now FROM t), ARRAY(SELECT id FROM draining), ARRAY(SELECT id FROM made), ARRAY(SELECT execution FROM held),
       ARRAY(SELECT id FROM here))";

// An insert with its parameters, made once.
struct InsertStatement {
  InsertParams params;
  Statement statement;
};

using Marks = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Never destroyed (keep_text). The versions of catalogues are the parameters after those of the insert.
const InsertStatement& make(const char* name, const std::string& text, InsertParams params, Marks marks = {}) {
  const std::string whole = fill(fill(text, marks), {{"{columns}", params.columns()},
                                                     {"{all}", params.all()},
                                                     {"{arrays}", params.arrays()},
                                                     {"{general columns}", general_columns()},
                                                     {"{general values}", general_values()},
                                                     {"{draining}", draining_text(params.last())},
                                                     {"{current}", current_text}});
  return *new InsertStatement{std::move(params), Statement{name, keep_text(whole).c_str()}};
}

InsertParams general_params() {
  return InsertParams(Insert::general, {&inputs::delay, &inputs::at, &inputs::fingerprint, &inputs::takes_identity,
                                        &inputs::dedup_window, &inputs::throttle, &inputs::name, &inputs::born_session,
                                        &inputs::born_claim});
}

const InsertStatement& insert_plain() {
  static const InsertStatement& made = make("hapax_insert_plain", insert_plain_text, InsertParams(Insert::plain));
  return made;
}

const InsertStatement& insert_labelled() {
  static const InsertStatement& made = make("hapax_insert_labelled", insert_plain_text, InsertParams(Insert::labelled));
  return made;
}

const InsertStatement& insert_keyed() {
  static const InsertStatement& made = make("hapax_insert_held", std::string(keyed_part) + keyed_rest,
                                            InsertParams(Insert::keyed, {&inputs::fingerprint, &inputs::dedup_window}));
  return made;
}

const InsertStatement& insert_keyed_born() {
  static const InsertStatement& made = make("hapax_insert_held_born", std::string(keyed_part) + free_part + born_rest,
                                            InsertParams(Insert::keyed, {&inputs::fingerprint, &inputs::dedup_window,
                                                                         &inputs::born_session, &inputs::born_claim}));
  return made;
}

const InsertStatement& insert_full() {
  static const InsertStatement& made = make("hapax_insert_full", std::string(items_part) + free_part + live_part,
                                            general_params(), {{"{condition}", ""}, {"{held}", "'{}'::uuid[]"}});
  return made;
}

const InsertStatement& insert_identity() {
  static const InsertStatement& made =
      make("hapax_insert_identity", std::string(items_part) + identities_part + free_part + live_part, general_params(),
           {{"{condition}", "WHERE NOT i.takes_identity OR i.id IN (SELECT execution FROM held)"},
            {"{held}", "ARRAY(SELECT execution FROM held)"}});
  return made;
}

const InsertStatement& insert_past_draining() {
  static const InsertStatement& made =
      make("hapax_insert_past_draining", std::string(items_part) + free_part + live_part, general_params(),
           {{"  WHERE u.queue_id <> ALL (ARRAY(SELECT id FROM draining)){current}", ""},
            {"{draining}", "draining AS MATERIALIZED (SELECT id FROM {s}.queues WHERE draining),"},
            {"{condition}", ""},
            {"{held}", "'{}'::uuid[]"}});
  return made;
}

const InsertStatement& insert_guards() {
  static const InsertStatement& made = []() -> const InsertStatement& {
    InsertParams params(Insert::guards, {&inputs::takes_identity, &inputs::fingerprint});
    const std::string session = params.value("session");
    return make("hapax_insert_guards", guards_text, std::move(params), {{"{session}", session}});
  }();
  return made;
}

bool is_plain(const NewRow& row) {
  const NewExecution& item = *row.item;
  return is_usual(item) && item.kind == model::Kind::task && !item.identity && !item.parent && !item.born_running;
}

bool has_no_labels(const NewRow& row) { return row.item->labels == model::Labels{}; }

bool is_plainly_keyed(const NewRow& row) {
  return row.takes_identity && row.run == 1 && is_usual(*row.item) && !throttle_of(*row.item->identity) &&
         !row.item->identity->name;
}

Call call_of(const InsertStatement& insert, const std::vector<NewRow>& rows, std::int64_t offset_us,
             const model::CatalogueVersions* made_by) {
  Params params;
  params.int8(offset_us);
  insert.params.add_arrays(params, rows);
  if (made_by != nullptr) { add_catalogue_params(params, *made_by); }
  return {&insert.statement, std::move(params)};
}

void mark_may_be_born_running(std::vector<NewRow>& rows) {
  std::vector<const NewExecution*> items;
  items.reserve(rows.size());
  for (const NewRow& row : rows) { items.push_back(row.item); }
  const std::vector<bool> may = may_be_born_running(items);
  for (std::size_t i = 0; i < rows.size(); ++i) { rows[i].may_be_born_running = may[i]; }
}

}  // namespace

std::vector<bool> may_be_born_running(const std::vector<const NewExecution*>& items) {
  std::vector<bool> may(items.size(), false);
  std::set<model::QueueRef> occupied;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const NewExecution& item = *items[i];
    if (item.born_running && !item.limit_key) {
      may[i] = !occupied.contains(item.queue);
    } else if (item.delay <= Duration{0} && !item.run_at) {
      occupied.insert(item.queue);
    }
  }
  return may;
}

Call insert_call(std::vector<NewRow> rows, const QueueIds& queues, std::int64_t offset_us,
                 const model::CatalogueVersions& made_by) {
  set_queue_ids(rows, queues);
  if (!rows.empty() && is_guard(*rows.front().item)) { return call_of(insert_guards(), rows, offset_us, nullptr); }
  static const bool inserts_plain = !base::takes_plain_path("pg-plain-rows");
  static const bool inserts_plainly_keyed = !base::takes_plain_path("pg-plainly-held");
  if (inserts_plain && std::ranges::all_of(rows, is_plain)) {
    const bool bare = std::ranges::all_of(rows, has_no_labels);
    return call_of(bare ? insert_plain() : insert_labelled(), rows, offset_us, &made_by);
  }
  const bool born = std::ranges::any_of(rows, [](const NewRow& row) { return row.item->born_running.has_value(); });
  if (born) { mark_may_be_born_running(rows); }
  if (inserts_plainly_keyed && std::ranges::all_of(rows, is_plainly_keyed)) {
    return call_of(born ? insert_keyed_born() : insert_keyed(), rows, offset_us, &made_by);
  }
  const bool identity = std::ranges::any_of(rows, [](const NewRow& row) { return row.takes_identity; });
  return call_of(identity ? insert_identity() : insert_full(), rows, offset_us, &made_by);
}

Call insert_past_draining_call(std::vector<NewRow> rows, const QueueIds& queues, std::int64_t offset_us) {
  set_queue_ids(rows, queues);
  mark_may_be_born_running(rows);
  return call_of(insert_past_draining(), rows, offset_us, nullptr);
}

Inserted read_inserted(const Result& result) {
  RowReader reader(result, 0);
  Inserted inserted;
  inserted.now = reader.time();
  for (const std::int32_t id : reader.int4s()) {
    if (id == catalogue_changed) { throw_catalogue_changed(); }
    inserted.draining.insert(id);
  }
  for (const Uuid& id : reader.uuids()) { inserted.born_running.insert(id); }
  for (const Uuid& id : reader.uuids()) { inserted.took_identity.insert(id); }
  if (result.columns() > 4) {
    for (const Uuid& id : reader.uuids()) { inserted.sessions.insert(id); }
  }
  return inserted;
}

}  // namespace hapax::store::postgres
