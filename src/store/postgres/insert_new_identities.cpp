// Executions with identities that are all new, in one statement.
//
// Most batches with identities share queue, task and kind and are entirely new: starts of workflows, keyed enqueues,
// runs of activities. Then the shared values are sent once, no question about holders is needed, and the statement
// costs a third of the general one. The statement admits all items or none: it fails with a division by zero when the
// queue drains, and with a unique violation when an identity is already in the table.

#include "model/labels.hpp"
#include "store/postgres/admit.hpp"
#include "store/postgres/admit_many.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace hapax::store::postgres {

namespace {

using namespace model;

// set_config is in the same CTE as the time, which the identities need, so the lock timeout is set before the first
// identity is inserted. Identities are inserted in sorted order, so that two batches with common identities wait for
// each other instead of deadlocking. A taken identity fails the statement: ON CONFLICT would look up each identity
// before it is written and confirm it afterwards. Counting the identities forces their insert to come first: a batch
// that waits for one of them has written nothing else. All items are of one namespace, so there is one version to
// compare; the logarithm fails the statement when the catalogue is newer.
constexpr const char* fresh_text = R"(
WITH t AS MATERIALIZED (
  SELECT {now} + $1::bigint AS now, set_config('lock_timeout', $2::text, true) AS patience),
q AS MATERIALIZED (SELECT draining, dedup_window_us{free} FROM {s}.queues q WHERE q.id = $3::int),
held AS (
  INSERT INTO {s}.identities (identity, execution, run, fingerprint, created_at, hold_for{name})
  SELECT u.identity, u.execution, 1, u.fingerprint, t.now, coalesce($8::bigint, q.dedup_window_us){name}
  FROM t, q, unnest($11::bytea[], $12::uuid[], $13::bytea[]{names}) u(identity, execution, fingerprint{name}) RETURNING 1),
made AS (
  INSERT INTO {s}.live (id, queue_id, task, input, priority, max_attempts, kind, state, run_at, created_at, identity,
                        identity_key, parent, labels{born columns})
  SELECT u.id, $3::int, $4::text, u.input, $5::smallint, $6::int, $7::smallint, {state}, now, now, u.identity,
         u.identity_key, $9::uuid, $10::text{born values}
  FROM {rows})
SELECT t.now, {is free},
       1 / CASE WHEN q.draining OR (SELECT count(*) FROM held) <> cardinality($11::bytea[]) THEN 0 ELSE 1 END,
       ln(CASE WHEN EXISTS (SELECT FROM {s}.catalogue_versions v
                            WHERE v.ns = ANY ({namespaces}::text[]) AND v.version > ALL ({versions}::int[]))
               THEN 0 ELSE 1 END)
FROM t, q)";

constexpr const char* plain_rows =
    "t, unnest($14::uuid[], $15::bytea[], $16::bytea[], $17::text[]) u(id, input, identity, identity_key)";

// Like free_part in admit_many.cpp, for the one queue and the one session. Each condition is one probe of a partial
// index.
constexpr const char* free_column = R"(,
       NOT q.paused AND NOT q.limited
         AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 0 AND l.lost = 0)
         AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 0 AND l.lost > 0)
         AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 2
                                                  AND l.run_at <= (SELECT now FROM t))
         AND EXISTS (SELECT FROM {s}.sessions x WHERE x.id = $18::uuid) AS free)";

// OFFSET 0 keeps `born` from being computed again for every column that uses it.
constexpr const char* born_rows = R"((
    SELECT i.*, t.now, CASE WHEN i.claim IS NOT NULL AND q.free THEN 1 ELSE 0 END AS born
    FROM t, q, unnest($14::uuid[], $15::bytea[], $16::bytea[], $17::text[], $19::bigint[])
           i(id, input, identity, identity_key, claim) OFFSET 0) u)";

std::string fill(const std::vector<std::pair<std::string_view, std::string_view>>& marks) {
  std::string text = fresh_text;
  for (const auto& [mark, by] : marks) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
      text.replace(at, mark.size(), by);
    }
  }
  return text;
}

// The statement of items that are not born running; with `names`, any of them may have a name.
std::string plain_text(std::string_view name, std::string_view names, std::string_view namespaces,
                       std::string_view versions) {
  return fill({{"{free}", ""},
               {"{name}", name},
               {"{names}", names},
               {"{born columns}", ""},
               {"{state}", "0"},
               {"{born values}", ""},
               {"{rows}", plain_rows},
               {"{is free}", "false"},
               {"{namespaces}", namespaces},
               {"{versions}", versions}});
}

const Statement& fresh_statement() {
  static const std::string& text = keep_text(plain_text("", "", "$18", "$19"));
  static const Statement statement{"hapax_insert_fresh", text.c_str()};
  return statement;
}

const Statement& named_statement() {
  static const std::string& text = keep_text(plain_text(", name", ", $18::bytea[]", "$19", "$20"));
  static const Statement statement{"hapax_insert_fresh_named", text.c_str()};
  return statement;
}

const Statement& born_statement() {
  static const std::string& text =
      keep_text(fill({{"{free}", free_column},
                      {"{name}", ""},
                      {"{names}", ""},
                      {"{born columns}", ", attempt, fence, session, claim_number, claimed_at"},
                      {"{state}", "u.born"},
                      {"{born values}",
                       ", u.born, u.born, CASE u.born WHEN 1 THEN $18::uuid END, "
                       "CASE u.born WHEN 1 THEN u.claim END, CASE u.born WHEN 1 THEN now END"},
                      {"{rows}", born_rows},
                      {"{is free}", "q.free"},
                      {"{namespaces}", "$20"},
                      {"{versions}", "$21"}}));
  static const Statement statement{"hapax_insert_fresh_born", text.c_str()};
  return statement;
}

bool shares(const NewExecution& one, const NewExecution& first) {
  return one.identity && is_usual(one) && !throttle_of(*one.identity) && one.queue == first.queue &&
         one.task == first.task && one.kind == first.kind && one.priority == first.priority &&
         one.max_attempts == first.max_attempts && one.parent == first.parent && one.labels == first.labels &&
         one.identity->dedup_window == first.identity->dedup_window;
}

// The one session for which items may be born running. The inner optional is empty if there is none, the outer if there
// are several.
std::optional<std::optional<Uuid>> one_session(const Items& items) {
  std::optional<Uuid> session;
  for (const NewExecution* item : items) {
    if (!item->born_running) { continue; }
    if (session && *session != item->born_running->session) { return std::nullopt; }
    session = item->born_running->session;
  }
  return session;
}

Params fresh_params(const Items& items, const std::vector<std::size_t>& order, const AdmissionWork& work,
                    Duration patience) {
  const NewExecution& first = *items.front();
  const std::size_t n = items.size();
  Params params;
  params.int8(work.offset_us).text(lock_timeout_text(patience)).int4(work.queues.id(first.queue)).text(first.task);
  params.int2(first.priority).int4(first.max_attempts).int2(static_cast<int>(first.kind));
  const std::optional<Duration>& window = first.identity->dedup_window;
  window ? params.int8(window->count()) : params.null(Type::int8);
  first.parent ? params.uuid(*first.parent) : params.null(Type::uuid);
  const std::optional<std::string> labels = encode_labels(first.labels);
  labels ? params.text(*labels) : params.null(Type::text);
  Array taken(Type::bytea, n), executions(Type::uuid, n), fingerprints(Type::bytea, n);
  for (const std::size_t i : order) {
    const IdentityClaim& identity = *items[i]->identity;
    taken.digest(identity.hash);
    executions.uuid(items[i]->id);
    identity.fingerprint ? fingerprints.digest(*identity.fingerprint) : fingerprints.null();
  }
  Array ids(Type::uuid, n), inputs(Type::bytea, n), identities(Type::bytea, n), keys(Type::text, n);
  for (const NewExecution* item : items) {
    ids.uuid(item->id);
    inputs.bytes(item->input);
    identities.digest(item->identity->hash);
    keys.bytes(item->identity->key);
  }
  for (Array* array : {&taken, &executions, &fingerprints, &ids, &inputs, &identities, &keys}) {
    params.array(std::move(*array));
  }
  return params;
}

std::optional<Call> insert_fresh_call(const Items& items, const AdmissionWork& work, Duration patience) {
  if (!items.front()->identity ||
      !std::ranges::all_of(items, [&](const NewExecution* item) { return shares(*item, *items.front()); })) {
    return std::nullopt;
  }
  const auto session = one_session(items);
  if (!session) { return std::nullopt; }
  const auto order = by_identity(items);
  if (!order) { return std::nullopt; }
  Params params = fresh_params(items, *order, work, patience);
  if (has_names(items)) {
    if (*session) { return std::nullopt; }
    Array names(Type::bytea, items.size());
    for (const std::size_t i : *order) {
      const std::optional<base::Digest>& name = items[i]->identity->name;
      name ? names.digest(*name) : names.null();
    }
    params.array(std::move(names));
    add_catalogue_params(params, made_by(items));
    return Call{&named_statement(), std::move(params)};
  }
  if (!*session) {
    add_catalogue_params(params, made_by(items));
    return Call{&fresh_statement(), std::move(params)};
  }
  params.uuid(**session);
  Array claims(Type::int8, items.size());
  const std::vector<bool> may = may_be_born_running(items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    may[i] ? claims.int8(items[i]->born_running->claim_number) : claims.null();
  }
  params.array(std::move(claims));
  add_catalogue_params(params, made_by(items));
  return Call{&born_statement(), std::move(params)};
}

std::vector<Admission> read_fresh(const Result& result, const Items& items) {
  RowReader reader(result, 0);
  const Time now = reader.time();
  const bool free = reader.boolean();
  const std::vector<bool> may = may_be_born_running(items);
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    Admission admission{.id = items[i]->id, .created_at = now};
    if (free && may[i]) {
      admission.status = Status::running;
      admission.fence = 1;
    }
    admissions.push_back(std::move(admission));
  }
  return admissions;
}

}  // namespace

std::optional<std::vector<std::size_t>> by_identity(const Items& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto hash = [&](std::size_t i) -> const base::Digest& { return items[i]->identity->hash; };
  std::ranges::sort(order, {}, hash);
  if (std::ranges::adjacent_find(order, {}, hash) != order.end()) { return std::nullopt; }
  std::set<base::Digest> names;
  for (const NewExecution* item : items) {
    if (item->identity->name && !names.insert(*item->identity->name).second) { return std::nullopt; }
  }
  return order;
}

std::optional<std::vector<Admission>> insert_new_identities(const AdmissionWork& work, const Items& items,
                                                            Duration patience, bool& met) {
  const std::optional<Call> call = insert_fresh_call(items, work, patience);
  if (!call) { return std::nullopt; }
  try {
    const std::vector<Result> results = work.connection.pipeline({&*call, 1}, "postgres.admit.before_commit");
    if (results.front().rows() > 0) { return read_fresh(results.front(), items); }
  } catch (const SqlError& error) {
    if (error.is_logarithm_of_zero()) { throw_catalogue_changed(); }
    // An id that exists already was admitted by an earlier try.
    met = error.is_division_by_zero() || error.is_unique_violation();
    if (!met) { throw; }
  }
  return std::nullopt;
}

}  // namespace hapax::store::postgres
