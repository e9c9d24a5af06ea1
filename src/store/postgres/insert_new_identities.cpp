// Executions with identities that are all new, in one statement.
//
// Most batches with identities share queue, task and kind and are entirely new: starts of workflows, keyed enqueues,
// runs of activities. Then the shared values are sent once, no question about holders is needed, and the statement
// costs a third of the general one. The statement admits all items or none: none when the queue drains, a catalogue is
// newer, or an identity or a name is in the table already. An identity that another transaction commits while the
// statement runs is a unique violation.

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
// each other instead of deadlocking. One scan of the index looks for all identities, and then the insert needs no ON
// CONFLICT, which would look up each of them on its own and confirm it after it is written. Counting the identities
// forces their insert to come first: a batch that waits for one of them has written nothing else. All items are of one
// namespace, so there is one version to compare.
constexpr const char* fresh_text = R"(
WITH t AS MATERIALIZED (
  SELECT {now} + $1::bigint AS now, set_config('lock_timeout', $2::text, true) AS patience),
q AS MATERIALIZED (
  SELECT draining, EXISTS (SELECT FROM {s}.catalogue_versions v WHERE v.ns = ANY ({namespaces}::text[])
                                                                  AND v.version > ALL ({versions}::int[])) AS changed,
         EXISTS (SELECT FROM {s}.identities i WHERE i.identity = ANY ({identities}[])){or named} AS taken,
         dedup_window_us{free}
  FROM {s}.queues q WHERE q.id = {queue}),
held AS (
  INSERT INTO {s}.identities (identity, execution, run, fingerprint, created_at, hold_for{name})
  SELECT u.identity, u.id, 1, u.fingerprint, t.now, coalesce({window}, q.dedup_window_us){name}
  FROM t, q, unnest({taken arrays}) u({taken}) WHERE {goes} RETURNING 1),
made AS (
  INSERT INTO {s}.live ({varying}, {shared}, state, run_at, created_at{born columns})
  SELECT {u.varying}, {values}, {state}, now, now{born values}
  FROM {rows})
SELECT t.now, {is free}, q.changed, q.draining, (SELECT count(*) FROM held) > 0
FROM t, q)";

constexpr const char* goes_text = "NOT q.draining AND NOT q.changed AND NOT q.taken";
constexpr const char* plain_rows = "t, q, unnest({arrays}) u({all}) WHERE {goes}";

constexpr const char* or_named_text = " OR EXISTS (SELECT FROM {s}.identities i WHERE i.name = ANY ({names}[]))";

// free_part of admit_many.cpp for one queue and one session. Each condition is one probe of a partial index.
constexpr const char* free_column = R"(,
       NOT q.paused AND NOT q.limited
         AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 0 AND l.lost = 0)
         AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 0 AND l.lost > 0)
         AND NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 2
                                                  AND l.run_at <= (SELECT now FROM t))
         AND EXISTS (SELECT FROM {s}.sessions x WHERE x.id = {session}::uuid) AS free)";

// OFFSET 0 keeps `born` from being computed again for every column that uses it.
constexpr const char* born_rows = R"((
    SELECT i.*, t.now, CASE WHEN i.born_claim IS NOT NULL AND q.free THEN 1 ELSE 0 END AS born
    FROM t, q, unnest({arrays}) i({all}) WHERE {goes} OFFSET 0) u)";

enum class Fresh : std::uint8_t { plain, named, born };

// The statement with its parameters, made once: the time's offset, the lock timeout, what all items share, their
// identities in the order in which they are taken, the rest of the items, the session for which they may be born
// running, and the versions of catalogues.
struct FreshStatement {
  InsertParams shared;
  InsertParams taken;
  InsertParams varying;
  Statement statement;
};

constexpr int first_shared = 3;

const FreshStatement& make(const char* name, Fresh which) {
  InsertParams shared(Insert::keyed, {&inputs::dedup_window}, first_shared, InsertParams::Which::shared);
  std::initializer_list<const Column*> identity{&inputs::fingerprint}, named{&inputs::fingerprint, &inputs::name};
  InsertParams taken(&Column::takes, which == Fresh::named ? named : identity, shared.last() + 1);
  std::initializer_list<const Column*> none{}, claims{&inputs::born_claim};
  InsertParams varying(Insert::keyed, which == Fresh::born ? claims : none, taken.last() + 1,
                       InsertParams::Which::varying);
  const int session = varying.last() + 1, namespaces = which == Fresh::born ? session + 1 : session;
  const bool born = which == Fresh::born;
  const std::string text =
      fill(fresh_text, {{"{free}", born ? free_column : ""},
                        {"{name}", which == Fresh::named ? ", name" : ""},
                        {"{born columns}", born ? ", attempt, fence, session, claim_number, claimed_at" : ""},
                        {"{state}", born ? "u.born" : "0"},
                        {"{born values}", born ? ", u.born, u.born, CASE u.born WHEN 1 THEN {session}::uuid END, "
                                                 "CASE u.born WHEN 1 THEN u.born_claim END, "
                                                 "CASE u.born WHEN 1 THEN now END"
                                               : ""},
                        {"{rows}", born ? born_rows : plain_rows},
                        {"{or named}", which == Fresh::named ? or_named_text : ""},
                        {"{goes}", goes_text},
                        {"{is free}", born ? "q.free" : "false"}});
  const std::string& whole = keep_text(fill(text, {{"{queue}", shared.value("queue_id")},
                                                   {"{window}", shared.value("dedup_window")},
                                                   {"{taken arrays}", taken.arrays()},
                                                   {"{taken}", taken.all()},
                                                   {"{varying}", varying.columns()},
                                                   {"{shared}", shared.columns()},
                                                   {"{u.varying}", varying.columns("u.")},
                                                   {"{values}", shared.values()},
                                                   {"{arrays}", varying.arrays()},
                                                   {"{all}", varying.all()},
                                                   {"{identities}", taken.value("identity")},
                                                   {"{names}", which == Fresh::named ? taken.value("name") : ""},
                                                   {"{session}", "$" + std::to_string(session)},
                                                   {"{namespaces}", "$" + std::to_string(namespaces)},
                                                   {"{versions}", "$" + std::to_string(namespaces + 1)}}));
  return *new FreshStatement{std::move(shared), std::move(taken), std::move(varying), {name, whole.c_str()}};
}

const FreshStatement& fresh_statement(Fresh which) {
  static const FreshStatement& plain = make("hapax_insert_fresh", Fresh::plain);
  static const FreshStatement& named = make("hapax_insert_fresh_named", Fresh::named);
  static const FreshStatement& born = make("hapax_insert_fresh_born", Fresh::born);
  return which == Fresh::born ? born : which == Fresh::named ? named : plain;
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

std::optional<Call> insert_fresh_call(const Items& items, const AdmissionWork& work, Duration patience) {
  if (!items.front()->identity ||
      !std::ranges::all_of(items, [&](const NewExecution* item) { return shares(*item, *items.front()); })) {
    return std::nullopt;
  }
  const auto session = one_session(items);
  if (!session || (*session && has_names(items))) { return std::nullopt; }
  const auto order = by_identity(items);
  if (!order) { return std::nullopt; }
  const FreshStatement& fresh = fresh_statement(*session           ? Fresh::born
                                                : has_names(items) ? Fresh::named
                                                                   : Fresh::plain);
  const std::int32_t queue_id = work.queues.id(items.front()->queue);
  const std::vector<bool> may = *session ? may_be_born_running(items) : std::vector<bool>(items.size(), false);
  std::vector<NewRow> rows, taken;
  rows.reserve(items.size());
  taken.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    rows.push_back({.item = items[i], .queue_id = queue_id, .may_be_born_running = may[i]});
    taken.push_back({.item = items[(*order)[i]]});
  }
  Params params;
  params.int8(work.offset_us).text(lock_timeout_text(patience));
  fresh.shared.add_values(params, rows.front());
  fresh.taken.add_arrays(params, taken);
  fresh.varying.add_arrays(params, rows);
  if (*session) { params.uuid(**session); }
  add_catalogue_params(params, made_by(items));
  return Call{&fresh.statement, std::move(params)};
}

// None: there is an obstacle.
std::optional<std::vector<Admission>> read_fresh(const Result& result, const Items& items, Obstacle& obstacle) {
  RowReader reader(result, 0);
  const Time now = reader.time();
  const bool free = reader.boolean();
  if (reader.boolean()) { throw_catalogue_changed(); }
  obstacle = reader.boolean() ? Obstacle::draining : Obstacle::held;
  if (!reader.boolean()) { return std::nullopt; }
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
                                                            Duration patience, Obstacle& obstacle) {
  const std::optional<Call> call = insert_fresh_call(items, work, patience);
  if (!call) { return std::nullopt; }
  try {
    const std::vector<Result> results = work.connection.pipeline({&*call, 1}, "postgres.admit.before_commit");
    if (results.front().rows() > 0) { return read_fresh(results.front(), items, obstacle); }
  } catch (const SqlError& error) {
    // An id that exists already was admitted by an earlier try.
    if (!error.is_unique_violation()) { throw; }
    obstacle = Obstacle::held;
  }
  return std::nullopt;
}

}  // namespace hapax::store::postgres
