#include "store/postgres/retention.hpp"

#include "store/postgres/result.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace hapax::store::postgres {

namespace {

// A partition's name and bounds, in microseconds since the epoch at day boundaries.
struct Day {
  std::string name;
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool in_default = false;  // rows of that day are in the default partition
};

// Days without a partition: for each retention in use (including the defaults) the day it reaches from today, and three
// days more. The workflows' default of 30 days counts once a workflow went to the default partition, and from then on:
// every partition is one more probe for each look-up in history. Stubs expire today. Returns nothing for a role that
// does not own history, whose sweeps leave partitions to the owner (docs/operating/security.md); until then rows go to
// the default partition.
constexpr const char* missing_days = R"(
WITH day AS (SELECT 86400000000::bigint AS us),
t AS (SELECT ({now} + $1::bigint) / day.us AS today FROM day),
retention AS (
  SELECT retention_us AS us FROM {s}.queues UNION SELECT failed_retention_us FROM {s}.queues
  UNION SELECT 604800000000::bigint
  UNION SELECT 2592000000000::bigint FROM t, day
  WHERE to_regclass(format('%I.%I', $2::text, 'history_' ||
          to_char(to_timestamp((t.today + 30) * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD'))) IS NOT NULL
     OR EXISTS (SELECT FROM {s}.history_default h WHERE h.expires_at >= (t.today + 29) * day.us AND h.kind = 1)),
wanted AS (
  SELECT DISTINCT t.today + r.us / day.us + ahead AS number
  FROM t, day, retention r, generate_series(0, 3) ahead WHERE r.us IS NOT NULL)
SELECT 'history_' || to_char(to_timestamp(w.number * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD'),
       w.number * day.us, (w.number + 1) * day.us,
       EXISTS (SELECT FROM {s}.history_default h WHERE h.expires_at >= w.number * day.us
                                                   AND h.expires_at < (w.number + 1) * day.us)
FROM wanted w, day
WHERE to_regclass(format('%I.%I', $2::text,
        'history_' || to_char(to_timestamp(w.number * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD'))) IS NULL
  AND (SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class c WHERE c.oid = format('%I.history', $2::text)::regclass)
ORDER BY w.number LIMIT 100)";

// Partitions that ended before now, oldest first, and whether this role may drop them. The name contains the day.
constexpr const char* past_days = R"(
SELECT c.relname::text, pg_has_role(c.relowner, 'USAGE') FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = format('%I.history', $2::text)::regclass AND c.relname ~ '^history_[0-9]{8}$'
  AND extract(epoch FROM to_date(substr(c.relname, 9), 'YYYYMMDD') + 1) * 1000000 <= {now} + $1::bigint
ORDER BY c.relname LIMIT 30)";

// A wait for a lock on history blocks every later finish, so the wait is at most 50 ms. False when the lock was not
// free.
bool under_short_lock(Connection& connection, const std::string& sql) {
  connection.command("BEGIN; SET LOCAL lock_timeout = '50ms'");
  try {
    connection.command(sql);
    connection.command("COMMIT");
    return true;
  } catch (const SqlError& error) {
    connection.command("ROLLBACK");
    // The lock is taken, another process made the partition meanwhile, or rows of that day just went into the default
    // partition. (relation, type or catalogue row exists; overlapping bounds; no such table; rows outside the bounds)
    static constexpr std::array<std::string_view, 6> benign{"42P07", "42710", "23505", "42P17", "42P01", "23514"};
    if (error.is_lock_timeout() || error.is_transient() ||
        std::find(benign.begin(), benign.end(), error.sqlstate()) != benign.end()) {
      return false;
    }
    throw;
  }
}

void make_partition(Connection& connection, const Day& day) {
  const std::string table = connection.sql("{s}.") + day.name;
  // ATTACH takes a weaker lock on history than CREATE … PARTITION OF.
  under_short_lock(connection, connection.sql("CREATE TABLE " + table +
                                              " (LIKE {s}.history INCLUDING ALL); ALTER TABLE {s}.history ATTACH "
                                              "PARTITION " +
                                              table + " FOR VALUES FROM (" + std::to_string(day.from) + ") TO (" +
                                              std::to_string(day.to) + ")"));
}

// Deletes at most `limit` rows of `table` whose execution is in the partition. Rows are locked before they are deleted
// by ctid: an identity that an admission takes over meanwhile has another row version by then, and is not deleted.
std::int64_t delete_dependents(Connection& connection, const std::string& table, const std::string& match,
                               const std::string& partition, int limit) {
  const std::string sql =
      connection.sql("DELETE FROM {s}." + table + " WHERE ctid = ANY (ARRAY(SELECT x.ctid FROM {s}." + table +
                     " x JOIN {s}." + partition + " p ON " + match + " LIMIT $1 FOR UPDATE OF x SKIP LOCKED))");
  return connection.query_text(sql, Params().int8(limit)).affected();
}

// Turns identities whose window is not over into tombstones (model::tombstone_until), which no longer depend on the
// partition.
std::int64_t make_tombstones(Connection& connection, const std::string& partition, std::int64_t offset_us, int limit) {
  const std::string sql = connection.sql(
      "WITH due AS MATERIALIZED (SELECT x.ctid AS tid, p.id, p.run, p.created_at, p.finished_at, p.status, p.queue_id"
      " FROM {s}.identities x JOIN {s}." +
      partition +
      " p ON x.identity = p.identity AND x.execution = p.id"
      " WHERE x.hold_until IS NULL AND p.finished_at + x.hold_for > {now} + $2::bigint"
      " LIMIT $1 FOR UPDATE OF x SKIP LOCKED)"
      " UPDATE {s}.identities x SET hold_until = due.finished_at + x.hold_for, ended_as = due.status,"
      " ended_at = due.finished_at, run = due.run, created_at = due.created_at, queue_id = due.queue_id"
      " FROM due WHERE x.ctid = due.tid AND x.execution = due.id");
  return connection.query_text(sql, Params().int8(limit).int8(offset_us)).affected();
}

// Whether no identity refers to the partition any more. An identity that another transaction had locked is still there;
// its window would be lost with the partition.
bool has_no_identities(Connection& connection, const std::string& partition) {
  const Result left = connection.query_text(
      connection.sql("SELECT EXISTS (SELECT FROM {s}.identities x JOIN {s}." + partition +
                     " p ON x.identity = p.identity AND x.execution = p.id WHERE x.hold_until IS NULL)"),
      Params());
  return !RowReader(left, 0).boolean();
}

void drop_partition(Connection& connection, const std::string& name, std::int64_t offset_us, int limit,
                    Dropped& dropped) {
  if (make_tombstones(connection, name, offset_us, limit) >= limit) {
    dropped.more = true;
    return;
  }
  const std::string passed = connection.sql(
      "x.identity = p.identity AND x.execution = p.id AND x.hold_until IS NULL"
      " AND (x.hold_for IS NULL OR p.finished_at + x.hold_for <= {now} + " +
      std::to_string(offset_us) + ")");
  const std::int64_t dependents = delete_dependents(connection, "identities", passed, name, limit) +
                                  delete_dependents(connection, "attempts", "x.execution = p.id", name, limit) +
                                  delete_dependents(connection, "journal", "x.execution = p.id", name, limit) +
                                  delete_dependents(connection, "events", "x.execution = p.id", name, limit);
  if (dependents >= limit) {
    dropped.more = true;
    return;
  }
  if (!has_no_identities(connection, name)) { return; }
  const Result count = connection.query_text(connection.sql("SELECT count(*) FROM {s}." + name), Params());
  if (!under_short_lock(connection, connection.sql("DROP TABLE {s}." + name))) { return; }
  dropped.executions += RowReader(count, 0).int8();
}

constexpr const char* delete_default = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
gone AS (
  DELETE FROM {s}.history_default WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {s}.history_default WHERE expires_at <= (SELECT now FROM t)
    ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
  RETURNING id, identity, run, status, created_at, finished_at, queue_id),
buried AS (
  UPDATE {s}.identities x SET hold_until = gone.finished_at + x.hold_for, ended_as = gone.status,
         ended_at = gone.finished_at, run = gone.run, created_at = gone.created_at, queue_id = gone.queue_id
  FROM gone, t
  WHERE x.identity = gone.identity AND x.execution = gone.id AND gone.finished_at + x.hold_for > t.now),
i AS (
  DELETE FROM {s}.identities x USING gone, t
  WHERE x.identity = gone.identity AND x.execution = gone.id
    AND (x.hold_for IS NULL OR gone.finished_at + x.hold_for <= t.now)),
a AS (DELETE FROM {s}.attempts x USING gone WHERE x.execution = gone.id),
j AS (DELETE FROM {s}.journal x USING gone WHERE x.execution = gone.id),
e AS (DELETE FROM {s}.events x USING gone WHERE x.execution = gone.id)
SELECT count(*) FROM gone)";

constexpr const char* delete_tombstones = R"(
DELETE FROM {s}.identities WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM {s}.identities WHERE hold_until <= {now} + $1::bigint
  ORDER BY hold_until LIMIT $2 FOR UPDATE SKIP LOCKED)))";

}  // namespace

void make_partitions(Connection& connection, std::int64_t offset_us) {
  const Result result =
      connection.query_text(connection.sql(missing_days), Params().int8(offset_us).text(connection.schema()));
  std::vector<Day> days;
  for (RowReader reader : result) {
    Day day;
    day.name = reader.bytes();
    day.from = reader.int8();
    day.to = reader.int8();
    day.in_default = reader.boolean();
    days.push_back(std::move(day));
  }
  for (const Day& day : days) {
    if (!day.in_default) { make_partition(connection, day); }
  }
}

Dropped drop_expired(Connection& connection, std::int64_t offset_us, int limit) {
  Dropped dropped;
  const Result gone = connection.query_text(connection.sql(delete_default), Params().int8(offset_us).int8(limit));
  dropped.executions = RowReader(gone, 0).int8();
  const std::int64_t tombstones =
      connection.query_text(connection.sql(delete_tombstones), Params().int8(offset_us).int8(limit)).affected();
  dropped.more = dropped.executions >= limit || tombstones >= limit;
  const Result past =
      connection.query_text(connection.sql(past_days), Params().int8(offset_us).text(connection.schema()));
  for (int row = 0; row < past.rows() && !dropped.more; ++row) {
    RowReader reader(past, row);
    const std::string name = reader.bytes();
    if (reader.boolean()) { drop_partition(connection, name, offset_us, limit, dropped); }
  }
  return dropped;
}

int past_partitions(Connection& connection, std::int64_t offset_us) {
  return connection.query_text(connection.sql(past_days), Params().int8(offset_us).text(connection.schema())).rows();
}

}  // namespace hapax::store::postgres
