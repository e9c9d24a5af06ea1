#include "store/postgres/connection.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/postgres_store.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"

#include <nlohmann/json.hpp>

#include <set>

namespace hapax::store::postgres {

namespace {

constexpr Statement open_statement{"hapax_session_open", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
INSERT INTO {s}.sessions (id, started_at, expires_at, lease_us, pid, worker, host, build, queues, tasks)
SELECT $2::uuid, t.now, t.now + $3::bigint, $3::bigint, $4::bigint, $5::text, $6::text, $7::text, $8::text, $9::text
FROM t
ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at, lease_us = excluded.lease_us, pid = excluded.pid,
  worker = excluded.worker, host = excluded.host, build = excluded.build, queues = excluded.queues,
  tasks = excluded.tasks)"};

constexpr Statement renew_session{"hapax_session_renew", R"(
UPDATE {s}.sessions SET expires_at = {now} + $1::bigint + CASE WHEN $3::bigint > 0 THEN $3::bigint ELSE lease_us END,
                       lease_us = CASE WHEN $3::bigint > 0 THEN $3::bigint ELSE lease_us END
WHERE id = $2::uuid RETURNING id)"};

constexpr Statement progress_statement{"hapax_session_progress", R"(
UPDATE {s}.live l SET progress = u.fraction, progress_message = u.message
FROM unnest($2::uuid[], $3::bigint[], $4::float8[], $5::text[]) u(id, fence, fraction, message)
WHERE l.id = ANY (ARRAY[u.id]) AND l.fence = u.fence AND l.state + 0 = 1 AND l.session = $1::uuid)"};

constexpr Statement running_statement{"hapax_session_running", R"(
SELECT id, fence, claim_number, cancel_requested, kind = 2 FROM {s}.live WHERE session = $1::uuid AND state = 1)"};

// Takes guards that the session no longer knows from it. The next caller takes them over.
constexpr Statement abandon_statement{"hapax_abandon", R"(
UPDATE {s}.live SET session = '00000000-0000-0000-0000-000000000000'
WHERE id = ANY ($1::uuid[]) AND session = $2::uuid AND state = 1 AND kind = 2)"};

// Counts only for a session that exists: a beat that finds its session gone is repeated with a new session and the same
// counts.
constexpr Statement count_statement{"hapax_queue_stats", R"(
INSERT INTO {s}.queue_stats AS q (queue_id, at, completed, failed, retried)
SELECT u.queue_id, ({now} + $1::bigint) / 1000000 * 1000000, u.completed, u.failed, u.retried
FROM unnest($2::int[], $3::bigint[], $4::bigint[], $5::bigint[]) u(queue_id, completed, failed, retried)
WHERE EXISTS (SELECT FROM {s}.sessions x WHERE x.id = $6::uuid)
ORDER BY u.queue_id
ON CONFLICT (queue_id, at) DO UPDATE SET completed = q.completed + excluded.completed,
  failed = q.failed + excluded.failed, retried = q.retried + excluded.retried)"};

constexpr Statement cancel_requests_statement{"hapax_cancel_requests", R"(
SELECT id FROM {s}.live WHERE session = $1::uuid AND state = 1 AND cancel_requested)"};

constexpr Statement lock_statement{"hapax_session_lock", "SELECT id FROM {s}.sessions WHERE id = $1::uuid FOR UPDATE"};
constexpr Statement delete_statement{"hapax_session_delete", "DELETE FROM {s}.sessions WHERE id = $1::uuid"};

constexpr const char* list_statement = R"(
SELECT s.id, s.worker, s.host, s.pid, s.lease_us, s.queues, s.tasks, s.build, s.started_at, s.expires_at,
       (SELECT count(*) FROM {s}.live l WHERE l.session = s.id AND l.state = 1)
FROM {s}.sessions s ORDER BY s.id)";

Call progress_call(const Beat& beat) {
  Array ids(Type::uuid), fences(Type::int8), fractions(Type::float8), messages(Type::text);
  for (const Progress& progress : beat.progress) {
    ids.uuid(progress.id);
    fences.int8(progress.fence);
    fractions.float8(progress.fraction);
    messages.bytes(base::keep_head(base::escape_invalid(progress.message), limits::progress_message_bytes));
  }
  Params params;
  params.uuid(beat.session).array(std::move(ids)).array(std::move(fences)).array(std::move(fractions));
  params.array(std::move(messages));
  return {&progress_statement, std::move(params)};
}

Call count_call(const Beat& beat, const QueueIds& queues, std::int64_t offset_us) {
  std::map<std::int32_t, QueueCount> sums;  // one statement must not update a row twice
  for (const QueueCount& count : beat.counts) {
    QueueCount& sum = sums[queues.id(count.queue)];
    sum.completed += count.completed;
    sum.failed += count.failed;
    sum.retried += count.retried;
  }
  Array ids(Type::int4), completed(Type::int8), failed(Type::int8), retried(Type::int8);
  for (const auto& [id, sum] : sums) {
    ids.int4(id);
    completed.int8(sum.completed);
    failed.int8(sum.failed);
    retried.int8(sum.retried);
  }
  Params params;
  params.int8(offset_us).array(std::move(ids)).array(std::move(completed)).array(std::move(failed));
  params.array(std::move(retried)).uuid(beat.session);
  return {&count_statement, std::move(params)};
}

// Without this lock, a cancellation requested between the two statements of release() would be seen by neither.
constexpr Statement lock_held{"hapax_session_lock_held",
                              "SELECT id FROM {s}.live WHERE id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE"};

// Requeues executions that a session holds but does not know, or ends them as cancelled if that was requested. Returns
// the limit keys that this frees.
FreedKeys release(Connection& connection, const std::vector<model::Held>& forgotten, std::int64_t offset_us) {
  std::vector<Ending> endings;
  std::vector<Waiting> waiting;
  EndingBatch batch;
  for (const model::Held& one : forgotten) {
    batch.later.push_back(one.id);
    endings.push_back({.id = one.id, .fence = one.fence});
    waiting.push_back({.id = one.id, .fence = one.fence, .why = BackInLine::forgotten});
  }
  const std::vector<Call> calls{{&lock_held, Params().array(uuid_array(batch.later))},
                                end_call(endings, offset_us, std::move(batch)),
                                wait_call(waiting, offset_us)};
  const std::vector<Result> results = connection.pipeline(calls);
  FreedKeys freed;
  freed.add_ended(results[1]);
  freed.add_waiting(results[2]);
  return freed;
}

}  // namespace

// 1 round trip.
void PostgresStore::open_session(const NewSession& session) {
  nlohmann::json queues = nlohmann::json::array();
  for (const QueueRef& queue : session.queues) { queues.push_back({queue.namespace_name, queue.name}); }
  const nlohmann::json tasks(session.tasks);
  run([&](Connection& connection) {
    Params params;
    params.int8(offset_us()).uuid(session.id).int8(session.lease.count()).int8(session.pid);
    params.text(base::escape_invalid(session.worker)).text(base::escape_invalid(session.host));
    params.text(base::escape_invalid(session.build)).text(queues.dump()).text(tasks.dump());
    connection.query(open_statement, params);
  });
}

// 1 round trip of 2 to 4 statements; 1 more each to abandon guards, to release executions, and for limit keys that this
// frees.
BeatReply PostgresStore::beat(const Beat& beat) {
  return run([&](Connection& connection) {
    BeatReply reply;
    std::vector<Call> calls;
    calls.push_back({&renew_session, Params().int8(offset_us()).uuid(beat.session).int8(beat.lease.count())});
    calls.push_back({&running_statement, Params().uuid(beat.session)});
    if (!beat.progress.empty()) { calls.push_back(progress_call(beat)); }
    if (!beat.counts.empty()) {
      std::vector<QueueRef> names;
      for (const QueueCount& count : beat.counts) { names.push_back(count.queue); }
      queue_ids_.ensure(connection, names);
      calls.push_back(count_call(beat, queue_ids_, offset_us()));
    }
    const std::vector<Result> results = connection.pipeline(calls);
    if (results[0].rows() == 0) {
      reply.session_lost = true;
      return reply;
    }
    std::map<std::pair<Uuid, std::int64_t>, bool> running;  // → cancel requested
    std::map<std::pair<Uuid, std::int64_t>, std::int64_t> unknown;
    std::set<Uuid> guards;
    for (RowReader reader : results[1]) {
      const Uuid id = reader.uuid();
      const std::int64_t fence = reader.int8();
      unknown.emplace(std::pair(id, fence), reader.int8());
      running.emplace(std::pair(id, fence), reader.boolean());
      if (reader.boolean()) { guards.insert(id); }
    }
    for (const model::Held& held : beat.held) {
      const auto found = running.find({held.id, held.fence});
      if (found == running.end()) {
        reply.lost.push_back(held.id);
      } else if (found->second) {
        reply.cancel.push_back(held.id);
      }
      unknown.erase({held.id, held.fence});
    }
    std::vector<model::Held> forgotten;
    std::vector<Uuid> abandoned;
    for (const auto& [key, claim_number] : unknown) {
      if (claim_number > beat.settled_claim_number) { continue; }
      if (guards.contains(key.first)) {
        abandoned.push_back(key.first);
      } else {
        forgotten.push_back({.id = key.first, .fence = key.second});
      }
    }
    if (!abandoned.empty()) {
      connection.query(abandon_statement, Params().array(uuid_array(abandoned)).uuid(beat.session));
      reply.released += static_cast<int>(abandoned.size());
    }
    if (!forgotten.empty()) {
      unpark(connection, release(connection, forgotten, offset_us()));
      reply.released += static_cast<int>(forgotten.size());
    }
    return reply;
  });
}

// 1 round trip.
std::vector<Uuid> PostgresStore::cancel_requests(const Uuid& session) {
  return read([&](Connection& connection) {
    const Result result = connection.query(cancel_requests_statement, Params().uuid(session));
    std::vector<Uuid> ids;
    for (RowReader reader : result) { ids.push_back(reader.uuid()); }
    return ids;
  });
}

// A claim that commits meanwhile leaves rows whose session is gone, which the sweep requeues. 5 round trips, 1 more
// when something is released.
void PostgresStore::close_session(const Uuid& session) {
  read([&](Connection& connection) {
    FreedKeys freed;
    TransactionGuard guard(connection);
    // The session is deleted last, so that executions which end as cancelled here still name their worker.
    const bool known = connection.query(lock_statement, Params().uuid(session)).rows() > 0;
    const Result result = connection.query(running_statement, Params().uuid(session));
    std::vector<model::Held> held;
    for (int row = 0; known && row < result.rows(); ++row) {
      RowReader reader(result, row);
      const Uuid id = reader.uuid();
      const std::int64_t fence = reader.int8();
      reader.skip(2);
      // Guards run on without the session.
      if (!reader.boolean()) { held.push_back({.id = id, .fence = fence}); }
    }
    if (!held.empty()) {
      std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
      freed = release(connection, held, offset_us());
    }
    if (known) { connection.query(delete_statement, Params().uuid(session)); }
    guard.commit();
    unpark(connection, freed);
  });
}

std::vector<SessionInfo> PostgresStore::sessions() {
  return read(Planning::plain, [&](Connection& connection) {
    const Result result = connection.query_text(connection.sql(list_statement), Params());
    std::vector<SessionInfo> infos;
    for (RowReader reader : result) {
      SessionInfo info;
      info.id = reader.uuid();
      info.worker = reader.bytes();
      info.host = reader.bytes();
      info.pid = reader.int8();
      info.lease = Duration(reader.int8());
      for (const auto& queue : nlohmann::json::parse(reader.bytes())) {
        info.queues.push_back(
            {.namespace_name = queue.at(0).get<std::string>(), .name = queue.at(1).get<std::string>()});
      }
      info.tasks = nlohmann::json::parse(reader.bytes()).get<std::vector<std::string>>();
      info.build = reader.bytes();
      info.started_at = reader.time();
      info.expires_at = reader.time();
      info.running = static_cast<int>(reader.int8());
      infos.push_back(std::move(info));
    }
    return infos;
  });
}

}  // namespace hapax::store::postgres
