#include "store/postgres/admit_many.hpp"

#include "model/claim_limits.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"

#include <algorithm>
#include <map>

namespace hapax::store::postgres {

namespace {

using model::NewExecution;

// Rows due at once with default settings, as most enqueues are. Enqueues over HTTP have labels too, which name the
// actor.
constexpr const char* insert_rows_plain_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
{draining}
made AS (
  INSERT INTO {s}.live (id, queue_id, task, input, priority, max_attempts, state, run_at, created_at{labels})
  SELECT u.id, u.queue_id, u.task, u.input, u.priority, u.max_attempts, 0, t.now, t.now{labels}
  FROM t, unnest($2::uuid[], $3::int[], $4::text[], $5::bytea[], $6::smallint[], $7::int[]{label array})
         u(id, queue_id, task, input, priority, max_attempts{labels})
  WHERE u.queue_id <> ALL (ARRAY(SELECT id FROM draining)){current})
SELECT (SELECT now FROM t), ARRAY(SELECT id FROM draining), '{}'::uuid[], '{}'::uuid[])";

// Rows that are as plain, each with an identity to take: keyed enqueues, starts of workflows, runs of activities. Each
// array is a function scan for the server, so fewer arrays cost proportionally less. coalesce keeps the planner from
// turning IN into a join, which would be nested loops because the planner expects few rows.
constexpr const char* held_part = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
{draining}
windows AS MATERIALIZED (SELECT id, dedup_window_us FROM {s}.queues WHERE dedup_window_us IS NOT NULL),
item AS MATERIALIZED (
  SELECT u.*
  FROM unnest($2::uuid[], $3::int[], $4::text[], $5::bytea[], $6::smallint[], $7::int[], $8::smallint[], $9::bytea[],
              $10::text[], $11::bytea[], $12::bigint[], $13::uuid[], $14::text[]{born arrays})
         u(id, queue_id, task, input, priority, max_attempts, kind, identity, identity_key, fingerprint, dedup_window,
           parent, labels{born names})
  WHERE u.queue_id <> ALL (ARRAY(SELECT id FROM draining)){current}),
held AS (
  INSERT INTO {s}.identities (identity, execution, run, fingerprint, created_at, hold_for)
  SELECT identity, id, 1, fingerprint, (SELECT now FROM t),
         coalesce(dedup_window, (SELECT w.dedup_window_us FROM windows w WHERE w.id = item.queue_id))
  FROM item ORDER BY identity
  ON CONFLICT (identity) DO NOTHING RETURNING execution),
)";

constexpr const char* held_rest = R"(
made AS (
  INSERT INTO {s}.live (id, queue_id, task, input, priority, max_attempts, kind, state, run_at, created_at, identity,
                        identity_key, parent, labels)
  SELECT id, queue_id, task, input, priority, max_attempts, kind, 0, (SELECT now FROM t), (SELECT now FROM t), identity,
         identity_key, parent, labels
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
  INSERT INTO {s}.live (id, queue_id, task, input, priority, max_attempts, kind, state, run_at, created_at, identity,
                        identity_key, parent, labels, attempt, fence, session, claim_number, claimed_at)
  SELECT id, queue_id, task, input, priority, max_attempts, kind, born, now, now, identity, identity_key, parent, labels,
         born, born, CASE born WHEN 1 THEN born_session END, CASE born WHEN 1 THEN born_claim END,
         CASE born WHEN 1 THEN now END
  FROM (SELECT i.*, t.now, CASE WHEN born_session IS NOT NULL AND i.queue_id IN (SELECT id FROM free)
                                     AND i.born_session IN (SELECT id FROM here) THEN 1 ELSE 0 END AS born
        FROM item i, t WHERE coalesce(i.id IN (SELECT execution FROM held), false) OFFSET 0) row
  RETURNING id, state)
SELECT (SELECT now FROM t), ARRAY(SELECT id FROM draining), ARRAY(SELECT id FROM made WHERE state = 1),
       ARRAY(SELECT execution FROM held))";

// Rows with any fields. OFFSET 0 keeps `born` from being computed again for every column that uses it.
constexpr const char* items_part = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
{draining}
item AS MATERIALIZED (
  SELECT u.*, coalesce(u.at, t.now + u.delay) AS due, t.now
  FROM t, unnest($2::uuid[], $3::int[], $4::text[], $5::bytea[], $6::smallint[], $7::int[], $8::smallint[], $9::int[],
                 $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::text[], $15::bytea[], $16::text[],
                 $17::int[], $18::text[], $19::uuid[], $20::text[], $21::uuid[], $22::bigint[], $23::bytea[],
                 $24::boolean[], $25::bigint[], $26::bigint[], $27::text[], $28::bigint[], $29::int[], $30::bytea[])
         u(id, queue_id, task, input, priority, max_attempts, kind, max_lost, delay, at, deadline, attempt_timeout,
           retry, identity, identity_key, run, effect_key, parent, labels, born_session, born_claim, fingerprint,
           takes_identity, dedup_window, throttle, limit_key, sequence, weight, name)
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
  INSERT INTO {s}.live (id, queue_id, task, input, priority, max_attempts, kind, max_lost, run_at, created_at, state,
                        deadline, attempt_timeout, retry, identity, identity_key, run, effect_key, parent, labels,
                        attempt, fence, session, claim_number, claimed_at, limit_key, sequence, weight)
  SELECT id, queue_id, task, input, priority, max_attempts, kind, max_lost, due, now,
         CASE WHEN born THEN 1 WHEN due > now THEN 2 ELSE 0 END,
         now + deadline, attempt_timeout, retry, identity, identity_key, run, effect_key, parent, labels,
         CASE WHEN born THEN 1 ELSE 0 END, CASE WHEN born THEN 1 ELSE 0 END,
         CASE WHEN born THEN born_session END, CASE WHEN born THEN born_claim END, CASE WHEN born THEN now END,
         limit_key, CASE WHEN limit_key IS NOT NULL THEN coalesce(sequence, {next}) END, weight
  FROM (
    SELECT i.*, CASE WHEN born_session IS NULL OR due > now THEN false ELSE
        i.queue_id IN (SELECT id FROM free) AND i.born_session IN (SELECT id FROM here) END AS born
    FROM item i {condition} OFFSET 0) row
  RETURNING id, state)
SELECT (SELECT now FROM t), ARRAY(SELECT id FROM draining), ARRAY(SELECT id FROM made WHERE state = 1), {held})";

// Guards run whatever else is in their queue, but not for a session that is gone.
constexpr Statement insert_guards{"hapax_insert_guards", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
draining AS MATERIALIZED (SELECT id FROM {s}.queues WHERE draining),
here AS MATERIALIZED (
  SELECT x.id FROM {s}.sessions x
  WHERE x.id = ANY (ARRAY(SELECT DISTINCT s FROM unnest($12::uuid[]) s)) AND x.expires_at > (SELECT now FROM t)),
item AS MATERIALIZED (
  SELECT u.*
  FROM unnest($2::uuid[], $3::int[], $4::text[], $5::bytea[], $6::int[], $7::boolean[], $8::bytea[], $9::text[],
              $10::bytea[], $11::bigint[], $12::uuid[], $13::bigint[])
         u(id, queue_id, task, input, run, takes_identity, identity, identity_key, fingerprint, takeover_after, session,
           claim_number)
  WHERE u.queue_id <> ALL (ARRAY(SELECT id FROM draining)) AND u.session = ANY (ARRAY(SELECT id FROM here))),
held AS (
  INSERT INTO {s}.identities (identity, execution, run, fingerprint, created_at, hold_for)
  SELECT identity, id, run, fingerprint, (SELECT now FROM t), 0 FROM item WHERE takes_identity ORDER BY identity
  ON CONFLICT (identity) DO NOTHING RETURNING execution),
made AS (
  INSERT INTO {s}.live (id, queue_id, task, input, kind, state, run_at, created_at, identity, identity_key, run,
                        attempt_timeout, attempt, fence, session, claim_number, claimed_at)
  SELECT id, queue_id, task, input, 2, 1, (SELECT now FROM t), (SELECT now FROM t), identity, identity_key, run,
         takeover_after, 1, 1, session, claim_number, (SELECT now FROM t)
  FROM item WHERE NOT takes_identity OR coalesce(id IN (SELECT execution FROM held), false)
  RETURNING id)
SELECT (SELECT now FROM t), ARRAY(SELECT id FROM draining), ARRAY(SELECT id FROM made), ARRAY(SELECT execution FROM held),
       ARRAY(SELECT id FROM here))"};

void fill_in(std::string& text, std::string_view mark, std::string_view by) {
  text.replace(text.find(mark), mark.size(), by);
}

// Fills in the comparison with the catalogues' versions.
std::string with_catalogues(std::string text, int last) {
  fill_in(text, "{draining}", draining_text(last));
  fill_in(text, "{current}", current_text);
  return text;
}

std::string live_text(std::string_view condition, std::string_view held) {
  std::string text = std::string(free_part) + live_part;
  fill_in(text, "{condition}", condition);
  fill_in(text, "{held}", held);
  return text;
}

std::string held_text(std::string_view born_arrays, std::string_view born_names) {
  std::string text = held_part;
  fill_in(text, "{born arrays}", born_arrays);
  fill_in(text, "{born names}", born_names);
  return text;
}

std::string plain_text_with(std::string_view labels, std::string_view label_array) {
  std::string text = insert_rows_plain_text;
  fill_in(text, "{label array}", label_array);
  while (text.find("{labels}") != std::string::npos) { fill_in(text, "{labels}", labels); }
  return text;
}

const Statement& insert_plain() {
  static const std::string& text = keep_text(with_catalogues(plain_text_with("", ""), 7));
  static const Statement statement{"hapax_insert_plain", text.c_str()};
  return statement;
}

const Statement& insert_labelled() {
  static const std::string& text = keep_text(with_catalogues(plain_text_with(", labels", ", $8::text[]"), 8));
  static const Statement statement{"hapax_insert_labelled", text.c_str()};
  return statement;
}

const Statement& insert_held() {
  static const std::string& text = keep_text(with_catalogues(held_text("", "") + held_rest, 14));
  static const Statement statement{"hapax_insert_held", text.c_str()};
  return statement;
}

const Statement& insert_held_born() {
  static const std::string& text = keep_text(with_catalogues(
      held_text(", $15::uuid[], $16::bigint[]", ", born_session, born_claim") + free_part + born_rest, 16));
  static const Statement statement{"hapax_insert_held_born", text.c_str()};
  return statement;
}

const Statement& insert_full() {
  static const std::string& text = keep_text(with_catalogues(items_part + live_text("", "'{}'::uuid[]"), 30));
  static const Statement statement{"hapax_insert_full", text.c_str()};
  return statement;
}

const Statement& insert_identity() {
  static const std::string& text =
      keep_text(with_catalogues(std::string(items_part) + identities_part +
                                    live_text("WHERE NOT i.takes_identity OR i.id IN (SELECT execution FROM held)",
                                              "ARRAY(SELECT execution FROM held)"),
                                30));
  static const Statement statement{"hapax_insert_identity", text.c_str()};
  return statement;
}

const Statement& insert_past_draining() {
  static constexpr std::string_view condition = "WHERE u.queue_id <> ALL (ARRAY(SELECT id FROM draining)){current}";
  static const std::string& text = keep_text([] {
    std::string whole = items_part + live_text("", "'{}'::uuid[]");
    fill_in(whole, "{draining}", "draining AS MATERIALIZED (SELECT id FROM {s}.queues WHERE draining),");
    return whole.erase(whole.find(condition), condition.size());
  }());
  static const Statement statement{"hapax_insert_past_draining", text.c_str()};
  return statement;
}

bool is_plain(const NewRow& row) {
  const NewExecution& item = *row.item;
  return is_usual(item) && item.kind == model::Kind::task && !item.identity && !item.parent && !item.born_running;
}

bool has_no_labels(const NewRow& row) { return row.item->labels == model::Labels{}; }

bool is_plainly_held(const NewRow& row) {
  return row.takes_identity && row.run == 1 && is_usual(*row.item) && !throttle_of(*row.item->identity) &&
         !row.item->identity->name;
}

std::vector<bool> rows_that_may_be_born(const std::vector<NewRow>& rows) {
  std::vector<const NewExecution*> items;
  items.reserve(rows.size());
  for (const NewRow& row : rows) { items.push_back(row.item); }
  return may_be_born_running(items);
}

Params plain_params(const std::vector<NewRow>& rows, const QueueIds& queues, std::int64_t offset_us) {
  const std::size_t n = rows.size();
  Array ids(Type::uuid, n);
  Array queue_ids(Type::int4, n);
  Array tasks(Type::text, n);
  Array inputs(Type::bytea, n);
  Array priorities(Type::int2, n);
  Array max_attempts(Type::int4, n);
  BatchQueueIds numbers(queues);
  for (const NewRow& row : rows) {
    ids.uuid(row.item->id);
    queue_ids.int4(numbers.id(row.item->queue));
    tasks.bytes(row.item->task);
    inputs.bytes(row.item->input);
    priorities.int2(row.item->priority);
    max_attempts.int4(row.item->max_attempts);
  }
  Params params;
  params.int8(offset_us).array(std::move(ids)).array(std::move(queue_ids)).array(std::move(tasks));
  params.array(std::move(inputs)).array(std::move(priorities)).array(std::move(max_attempts));
  return params;
}

std::optional<std::int64_t> count(const std::optional<Duration>& duration) {
  return duration ? std::optional(duration->count()) : std::nullopt;
}

Params guard_params(const std::vector<NewRow>& rows, const QueueIds& queues, std::int64_t offset_us) {
  const std::size_t n = rows.size();
  Array ids(Type::uuid, n), queue_ids(Type::int4, n), tasks(Type::text, n), inputs(Type::bytea, n), runs(Type::int4, n);
  Array takes(Type::boolean, n), identities(Type::bytea, n), keys(Type::text, n), fingerprints(Type::bytea, n);
  Array takeovers(Type::int8, n), sessions(Type::uuid, n), claims(Type::int8, n);
  BatchQueueIds numbers(queues);
  for (const NewRow& row : rows) {
    const NewExecution& item = *row.item;
    ids.uuid(item.id);
    queue_ids.int4(numbers.id(item.queue));
    tasks.bytes(item.task);
    inputs.bytes(item.input);
    runs.int4(row.run);
    takes.boolean(row.takes_identity);
    identities.digest(item.identity->hash);
    keys.bytes(item.identity->key);
    item.identity->fingerprint ? fingerprints.digest(*item.identity->fingerprint) : fingerprints.null();
    takeovers.optional_int8(item.attempt_timeout ? std::optional(item.attempt_timeout->count()) : std::nullopt);
    sessions.uuid(item.born_running->session);
    claims.int8(item.born_running->claim_number);
  }
  Params params;
  params.int8(offset_us);
  for (Array* array : {&ids, &queue_ids, &tasks, &inputs, &runs, &takes, &identities, &keys, &fingerprints, &takeovers,
                       &sessions, &claims}) {
    params.array(std::move(*array));
  }
  return params;
}

void add_born_params(Params& params, const std::vector<NewRow>& rows) {
  const std::size_t n = rows.size();
  Array born_sessions(Type::uuid, n), born_claims(Type::int8, n);
  const std::vector<bool> may_be_born = rows_that_may_be_born(rows);
  for (std::size_t i = 0; i < n; ++i) {
    if (may_be_born[i]) {
      born_sessions.uuid(rows[i].item->born_running->session);
      born_claims.int8(rows[i].item->born_running->claim_number);
    } else {
      born_sessions.null();
      born_claims.null();
    }
  }
  params.array(std::move(born_sessions)).array(std::move(born_claims));
}

void add_held_params(Params& params, const std::vector<NewRow>& rows) {
  const std::size_t n = rows.size();
  Array kinds(Type::int2, n), identities(Type::bytea, n), identity_keys(Type::text, n), fingerprints(Type::bytea, n);
  Array windows(Type::int8, n), parents(Type::uuid, n), labels(Type::text, n);
  for (const NewRow& row : rows) {
    const model::IdentityClaim& identity = *row.item->identity;
    kinds.int2(static_cast<int>(row.item->kind));
    identities.digest(identity.hash);
    identity_keys.bytes(identity.key);
    identity.fingerprint ? fingerprints.digest(*identity.fingerprint) : fingerprints.null();
    windows.optional_int8(count(identity.dedup_window));
    parents.optional_uuid(row.item->parent);
    labels.optional_bytes(model::encode_labels(row.item->labels));
  }
  for (Array* array : {&kinds, &identities, &identity_keys, &fingerprints, &windows, &parents, &labels}) {
    params.array(std::move(*array));
  }
}

// The arrays beyond the plain ones, in the statement's order.
void add_full_params(Params& params, const std::vector<NewRow>& rows) {
  const std::size_t n = rows.size();
  Array kinds(Type::int2, n), max_lost(Type::int4, n), delays(Type::int8, n), at(Type::int8, n);
  Array deadlines(Type::int8, n), timeouts(Type::int8, n), retries(Type::text, n), identities(Type::bytea, n);
  Array identity_keys(Type::text, n), runs(Type::int4, n), effect_keys(Type::text, n), parents(Type::uuid, n);
  Array labels(Type::text, n), born_sessions(Type::uuid, n), born_claims(Type::int8, n);
  Array fingerprints(Type::bytea, n), takes(Type::boolean, n), windows(Type::int8, n), throttles(Type::int8, n);
  Array limit_keys(Type::text, n), sequences(Type::int8, n), weights(Type::int4, n), names(Type::bytea, n);
  const std::vector<bool> may_be_born = rows_that_may_be_born(rows);
  for (std::size_t i = 0; i < n; ++i) {
    const NewExecution& item = *rows[i].item;
    kinds.int2(static_cast<int>(item.kind));
    max_lost.int4(item.max_lost);
    delays.int8(item.delay.count());
    at.optional_int8(item.run_at ? std::optional(item.run_at->time_since_epoch().count()) : std::nullopt);
    deadlines.optional_int8(count(item.deadline));
    timeouts.optional_int8(count(item.attempt_timeout));
    retries.optional_bytes(item.retry ? std::optional(model::encode_retry(*item.retry)) : std::nullopt);
    if (item.identity) {
      identities.digest(item.identity->hash);
      identity_keys.bytes(item.identity->key);
      item.identity->fingerprint ? fingerprints.digest(*item.identity->fingerprint) : fingerprints.null();
      windows.optional_int8(count(item.identity->dedup_window));
      throttles.optional_int8(throttle_of(*item.identity));
    } else {
      for (Array* array : {&identities, &identity_keys, &fingerprints, &windows, &throttles}) { array->null(); }
    }
    runs.int4(rows[i].run);
    effect_keys.optional_bytes(item.effect_key);
    parents.optional_uuid(item.parent);
    labels.optional_bytes(model::encode_labels(item.labels));
    if (may_be_born[i]) {
      born_sessions.uuid(item.born_running->session);
      born_claims.int8(item.born_running->claim_number);
    } else {
      born_sessions.null();
      born_claims.null();
    }
    takes.boolean(rows[i].takes_identity);
    limit_keys.optional_bytes(item.limit_key ? std::optional(model::encode_limit_key(*item.limit_key)) : std::nullopt);
    sequences.optional_int8(rows[i].sequence);
    item.weight == 1 ? weights.null() : weights.int4(item.weight);
    item.identity&& item.identity->name ? names.digest(*item.identity->name) : names.null();
  }
  for (Array* array :
       {&kinds,         &max_lost, &delays,      &at,         &deadlines, &timeouts,      &retries,     &identities,
        &identity_keys, &runs,     &effect_keys, &parents,    &labels,    &born_sessions, &born_claims, &fingerprints,
        &takes,         &windows,  &throttles,   &limit_keys, &sequences, &weights,       &names}) {
    params.array(std::move(*array));
  }
}

}  // namespace

bool is_guard(const NewExecution& item) { return item.kind == model::Kind::guard; }

bool is_usual(const NewExecution& item) {
  static const NewExecution usual;
  return !is_guard(item) && item.delay == Duration{0} && !item.run_at && item.max_lost == usual.max_lost &&
         !item.retry && !item.attempt_timeout && !item.deadline && !item.effect_key && !item.limit_key &&
         item.weight == usual.weight;
}

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

std::optional<std::int64_t> throttle_of(const model::IdentityClaim& claim) {
  return claim.mode == model::IdentityMode::throttle ? std::optional(claim.throttle.count()) : std::nullopt;
}

Call insert_call(const std::vector<NewRow>& rows, const QueueIds& queues, std::int64_t offset_us,
                 const model::CatalogueVersions& made_by) {
  if (!rows.empty() && is_guard(*rows.front().item)) { return {&insert_guards, guard_params(rows, queues, offset_us)}; }
  Params params = plain_params(rows, queues, offset_us);
  if (std::ranges::all_of(rows, is_plain)) {
    if (std::ranges::all_of(rows, has_no_labels)) {
      add_catalogue_params(params, made_by);
      return {&insert_plain(), std::move(params)};
    }
    Array labels(Type::text, rows.size());
    for (const NewRow& row : rows) { labels.optional_bytes(model::encode_labels(row.item->labels)); }
    params.array(std::move(labels));
    add_catalogue_params(params, made_by);
    return {&insert_labelled(), std::move(params)};
  }
  if (std::ranges::all_of(rows, is_plainly_held)) {
    add_held_params(params, rows);
    if (std::ranges::none_of(rows, [](const NewRow& row) { return row.item->born_running.has_value(); })) {
      add_catalogue_params(params, made_by);
      return {&insert_held(), std::move(params)};
    }
    add_born_params(params, rows);
    add_catalogue_params(params, made_by);
    return {&insert_held_born(), std::move(params)};
  }
  add_full_params(params, rows);
  add_catalogue_params(params, made_by);
  const bool identity = std::any_of(rows.begin(), rows.end(), [](const NewRow& row) { return row.takes_identity; });
  return {identity ? &insert_identity() : &insert_full(), std::move(params)};
}

Call insert_past_draining_call(const std::vector<NewRow>& rows, const QueueIds& queues, std::int64_t offset_us) {
  Params params = plain_params(rows, queues, offset_us);
  add_full_params(params, rows);
  return {&insert_past_draining(), std::move(params)};
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
