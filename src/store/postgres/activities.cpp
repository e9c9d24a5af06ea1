#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "store/postgres/activity_batch.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/postgres_store.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

constexpr std::string_view activity_columns =
    "a.ns, a.id, a.uuid, a.revision, a.version, a.definition, a.kind, a.paused, a.note, a.cursor, a.next_due,"
    " a.last_started, a.started, a.duplicates, a.missed, a.overlapped, a.refused, a.trouble, a.created_at, "
    "a.updated_at";

std::string with_columns(std::string_view text) { return fill(text, {{"{columns}", activity_columns}}); }

constexpr std::string_view page_text = R"(
SELECT {columns} FROM {s}.activities a
WHERE a.ns = $1::text AND a.id > $2::text AND NOT a.removed AND ($3::smallint IS NULL OR a.kind = $3::smallint)
ORDER BY a.id LIMIT $4::bigint)";

constexpr std::string_view one_text = R"(
SELECT {columns} FROM {s}.activities a
WHERE a.ns = $1::text AND a.id > $2::text AND NOT a.removed AND ($3::smallint IS NULL OR a.kind = $3::smallint)
  AND a.id = $5::text
LIMIT $4::bigint)";

constexpr Statement versions_statement{"hapax_activity_versions", R"(
SELECT version, definition, actor, at FROM {s}.activity_versions
WHERE ns = $1::text AND id = $2::text ORDER BY version DESC)"};

constexpr Statement generation_statement{"hapax_activity_generation",
                                         "SELECT generation FROM {s}.activity_generations WHERE ns = $1::text"};

// Reads one activity more than `limit`: its due time is DueActivities::next. When nothing is due the result still has
// one row, with the clock and the next due time.
constexpr std::string_view due_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
due AS MATERIALIZED (
  SELECT {columns} FROM {s}.activities a WHERE a.next_due <= (SELECT now FROM t)
  ORDER BY a.next_due, a.ns, a.id LIMIT $2::bigint + 1),
later AS MATERIALIZED (SELECT min(x.next_due) AS at FROM {s}.activities x WHERE x.next_due > (SELECT now FROM t))
SELECT t.now, later.at, due.id IS NOT NULL, due.* FROM t CROSS JOIN later LEFT JOIN due ON true
ORDER BY due.next_due, due.ns, due.id)";

constexpr Statement live_statement{"hapax_activity_live", R"(
SELECT u.place, r.id FROM unnest($1::uuid[]) WITH ORDINALITY u(parent, place)
CROSS JOIN LATERAL (SELECT l.id FROM {s}.live l WHERE l.parent = u.parent ORDER BY l.id LIMIT 1002) r)"};

// Searches the newest 1,000 runs only, so that the search ends for an activity which has failed for weeks.
constexpr Statement results_statement{"hapax_activity_results", R"(
WITH t AS MATERIALIZED (SELECT {now} + $2::bigint AS now)
SELECT u.place, r.result FROM unnest($1::uuid[]) WITH ORDINALITY u(parent, place)
CROSS JOIN LATERAL (
  SELECT h.result FROM (
    SELECT x.id, x.status, x.continued_as, x.result, x.expires_at FROM {s}.history x
    WHERE x.parent = u.parent ORDER BY x.id DESC LIMIT 1000) h
  WHERE h.status = 2 AND h.continued_as IS NULL AND h.result IS NOT NULL AND h.expires_at > (SELECT now FROM t)
  ORDER BY h.id DESC LIMIT 1) r)"};

const Statement& page_statement() {
  static const Statement& statement = made_statement("hapax_activity_page", with_columns(page_text));
  return statement;
}

const Statement& one_statement() {
  static const Statement& statement = made_statement("hapax_activity_one", with_columns(one_text));
  return statement;
}

const Statement& due_statement() {
  static const Statement& statement = made_statement("hapax_activity_due", with_columns(due_text));
  return statement;
}

ActivityState read_state(RowReader& reader) {
  ActivityState state;
  state.namespace_name = reader.bytes();
  state.id = reader.bytes();
  state.uuid = reader.uuid();
  state.revision = reader.int8();
  state.version = reader.int4();
  state.definition = reader.bytes();
  state.kind = static_cast<ActivityKind>(reader.int2());
  state.paused = reader.boolean();
  state.note = reader.bytes();
  state.cursor = reader.time();
  state.next_due = reader.optional_time();
  state.last_started = reader.optional_time();
  state.counts.started = reader.int8();
  state.counts.duplicates = reader.int8();
  state.counts.missed = reader.int8();
  state.counts.overlapped = reader.int8();
  state.counts.refused = reader.int8();
  state.trouble = reader.bytes();
  state.created_at = reader.time();
  state.updated_at = reader.time();
  return state;
}

void read_runs(Connection& connection, std::vector<DueActivity>& due, std::int64_t offset_us) {
  std::vector<Uuid> parents;
  for (const DueActivity& one : due) { parents.push_back(one.state.uuid); }
  std::vector<Call> calls;
  calls.push_back({&live_statement, Params().array(uuid_array(parents))});
  calls.push_back({&results_statement, Params().array(uuid_array(parents)).int8(offset_us)});
  const std::vector<Result> results = connection.pipeline(calls);
  const auto at = [&](RowReader& reader) -> DueActivity& { return due[static_cast<std::size_t>(reader.int8() - 1)]; };
  for (RowReader reader : results[0]) {
    DueActivity& one = at(reader);
    one.live.push_back(reader.uuid());
  }
  for (RowReader reader : results[1]) {
    DueActivity& one = at(reader);
    one.last_result = reader.optional_bytes();
  }
}

}  // namespace

// 1 round trip, as in the next two functions.
std::vector<ActivityState> PostgresStore::activities(const ActivityQuery& query) {
  return read([&](Connection& connection) {
    Params params;
    params.text(query.namespace_name).text(query.after.value_or(""));
    query.kind ? params.int2(static_cast<int>(*query.kind)) : params.null(Type::int2);
    params.int8(std::clamp(query.limit, 0, limits::list_page));
    if (query.id) { params.text(*query.id); }
    const Result result = connection.query(query.id ? one_statement() : page_statement(), params);
    std::vector<ActivityState> page;
    for (RowReader reader : result) { page.push_back(read_state(reader)); }
    return page;
  });
}

std::vector<ActivityVersion> PostgresStore::activity_versions(std::string_view namespace_name, std::string_view id) {
  return read([&](Connection& connection) {
    const Result result = connection.query(versions_statement, Params().text(namespace_name).text(id));
    std::vector<ActivityVersion> versions;
    for (RowReader reader : result) {
      ActivityVersion version;
      version.version = reader.int4();
      version.definition = reader.bytes();
      version.actor = reader.bytes();
      version.at = reader.time();
      versions.push_back(std::move(version));
    }
    return versions;
  });
}

std::int64_t PostgresStore::activity_generation(std::string_view namespace_name) {
  return read([&](Connection& connection) {
    const Result result = connection.query(generation_statement, Params().text(namespace_name));
    return result.rows() == 0 ? std::int64_t{0} : RowReader(result, 0).int8();
  });
}

// 1 round trip when nothing is due, else 2, however many activities are due. If an activity changes between the two
// round trips, its revision differs, so a change based on this reply is not applied.
DueActivities PostgresStore::due_activities(int limit) {
  return read([&](Connection& connection) {
    const auto most = static_cast<std::size_t>(std::clamp(limit, 0, limits::list_page));
    const Result result =
        connection.query(due_statement(), Params().int8(offset_us()).int8(static_cast<std::int64_t>(most)));
    DueActivities report;
    for (int row = 0; row < result.rows(); ++row) {
      RowReader reader(result, row);
      report.now = reader.time();
      const std::optional<Time> later = reader.optional_time();
      if (row == 0) { report.next = later; }
      if (!reader.boolean()) { continue; }
      ActivityState state = read_state(reader);
      if (report.due.size() == most) {
        report.next = state.next_due;
      } else {
        report.due.emplace_back().state = std::move(state);
      }
    }
    if (!report.due.empty()) { read_runs(connection, report.due, offset_us()); }
    return report;
  });
}

namespace {

// How long to wait for any lock: another ticker's, or that of a caller's open transaction which has one of the runs.
constexpr Duration patience = std::chrono::seconds(5);

constexpr Statement transaction_number{"hapax_activity_transaction", "SELECT pg_current_xact_id()::text"};
constexpr Statement transaction_status{"hapax_activity_status", "SELECT pg_xact_status($1::text::xid8)"};
// After a crash the server may give a lost transaction's id to another one, so the raised revision is checked too.
constexpr Statement revision_raised{"hapax_activity_raised", R"(
SELECT $1::text IS NULL OR EXISTS (
  SELECT FROM {s}.activities WHERE ns = $1::text AND id = $2::text AND revision >= $3::bigint))"};

Items items_of(std::span<const ActivityChange> changes) {
  Items items;
  for (const ActivityChange& change : changes) {
    for (const NewExecution& item : change.admit) { items.push_back(&item); }
  }
  return items;
}

// Admits the items that depend on no other item, and then the dependants of runs that were created.
std::vector<Admission> admit_runs(const AdmissionWork& work, const Items& items) {
  const std::vector<std::optional<std::size_t>> of = dependants(items);
  std::vector<Admission> admissions(items.size());
  for (const bool dependent : {false, true}) {
    Items now;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (of[i].has_value() != dependent) { continue; }
      if (dependent && !admissions[*of[i]].created()) {
        admissions[i] = admissions[*of[i]];
      } else {
        now.push_back(items[i]);
        places.push_back(i);
      }
    }
    if (now.empty()) { continue; }
    std::vector<Admission> answers = admit_in_transaction(work, now);
    for (std::size_t n = 0; n < places.size(); ++n) { admissions[places[n]] = std::move(answers[n]); }
  }
  return admissions;
}

Params raised_params(const std::optional<ActivityBatch::Raised>& raised) {
  if (!raised) { return std::move(Params().null(Type::text).null(Type::text).null(Type::int8)); }
  return std::move(Params().text(raised->change->namespace_name).text(raised->change->id).int8(raised->revision));
}

}  // namespace

// 3 round trips (begin and lock; admit; write and commit) for any number of ticks whose runs are new. More round trips:
// 1 for task instances, 1 to number two or more runs with limit keys, 4 when runs exist already, 1 to 4 to stop other
// runs, 1 for limit keys that were freed. 2 when no change is applied.
std::vector<ActivityReply> PostgresStore::change_once(Connection& connection, std::span<const ActivityChange> changes,
                                                      std::optional<SentChange>& sent) {
  ensure_queues(connection, items_of(changes));
  FreedKeys freed;
  ActivityBatch batch(changes, offset_us());
  {
    TransactionGuard guard(connection, TransactionGuard::Pipelined());
    std::vector<Call> calls;
    calls.push_back(TransactionGuard::begin_call());
    calls.push_back(lock_patience(patience));
    calls.push_back({&transaction_number, Params()});
    for (Call& call : batch.lock_calls()) { calls.push_back(std::move(call)); }
    const std::vector<Result> locked = connection.pipeline(calls);
    batch.read(locked.back());
    if (!batch.applies()) { return batch.replies(); }
    if (const Items items = batch.items(); !items.empty()) {
      batch.count(admit_runs({.connection = connection, .queues = queue_ids_, .offset_us = offset_us(), .freed = freed},
                             items));
    }
    const StopRequest stops = batch.stops();
    if (!stops.cancel.empty() || !stops.terminate.empty()) {
      static_cast<void>(stop(connection, stops, offset_us(), freed));
    }
    sent = SentChange{.transaction = RowReader(locked[2], 0).bytes(),
                      .raised = raised_params(batch.raised()),
                      .replies = batch.replies()};
    calls.clear();
    calls.push_back(batch.write_call());
    calls.push_back(TransactionGuard::commit_call());
    connection.pipeline(calls, "postgres.activities.before_commit");
    guard.committed();
    connection.fault_point("postgres.activities.after_commit");
  }
  unpark(connection, freed);
  return batch.replies();
}

// After a lost answer, asks the server for the transaction's status. The transaction may still be in progress.
bool PostgresStore::was_committed(const SentChange& sent) {
  const auto deadline = std::chrono::steady_clock::now() + settings_.read_back_patience();
  std::string trouble = "it is still under way";
  for (int attempt = 1;; ++attempt) {
    try {
      const Pool::Lease lease = acquire_to_read_back();
      const std::vector<Call> calls{{&transaction_status, Params().text(sent.transaction)},
                                    {&revision_raised, sent.raised}};
      const std::vector<Result> results = lease->pipeline(calls);
      const std::string status = RowReader(results[0], 0).bytes();
      if (status != "in progress") { return status == "committed" && RowReader(results[1], 0).boolean(); }
    } catch (const ConnectionBroken& broken) {
      pool_.drop_idle();
      trouble = broken.what();
    } catch (const SqlError& error) { trouble = error.what(); }
    if (std::chrono::steady_clock::now() >= deadline) {
      throw CommitUnknown(settings_.location +
                          ": the connection broke at commit, and whether it was kept is not known: " + trouble);
    }
    back_off(attempt);
  }
}

std::vector<ActivityReply> PostgresStore::change_activities(std::span<const ActivityChange> changes) {
  check_not_lending();
  if (changes.empty()) { return {}; }
  const auto begun = std::chrono::steady_clock::now();
  for (int attempt = 1;; ++attempt) {
    std::optional<SentChange> sent;
    try {
      const Pool::Lease lease = pool_.acquire();
      return change_once(*lease, changes, sent);
    } catch (const SqlError& error) {
      // A unique violation means that another transaction took the name of one of the runs meanwhile.
      const bool renamed = error.is_unique_violation() && attempt < transient_attempts;
      if (!renamed && !may_repeat(error, attempt)) { throw_mapped(error, settings_.location); }
    } catch (const ConnectionBroken& broken) {
      if (sent) {
        pool_.drop_idle();
        if (was_committed(*sent)) { return std::move(sent->replies); }
      }
      if (!may_reconnect(attempt, begun)) { throw StoreUnavailable(settings_.location + ": " + broken.what()); }
    }
    back_off(attempt);
  }
}

}  // namespace hapax::store::postgres
