// Worker sessions. A beat: 1 UPDATE of the session, 1 SELECT of its running executions by index, 1 UPDATE for each
// progress report and each release; 1 fdatasync.
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/sqlite/claim_order.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/verbs.hpp"

#include <limits>
#include <unordered_map>

namespace hapax::store::sqlite {

namespace {

constexpr const char* open_sql =
    "INSERT INTO sessions(id, worker, host, pid, lease, queues, tasks, build, started_at, expires_at)"
    " VALUES (?,?,?,?,?,?,?,?,?,?)"
    " ON CONFLICT(id) DO UPDATE SET worker = excluded.worker, host = excluded.host, pid = excluded.pid,"
    " lease = excluded.lease, queues = excluded.queues, tasks = excluded.tasks, build = excluded.build,"
    " expires_at = excluded.expires_at";
constexpr const char* renew_sql =
    "UPDATE sessions SET expires_at = ?1 + CASE WHEN ?2 > 0 THEN ?2 ELSE lease END,"
    " lease = CASE WHEN ?2 > 0 THEN ?2 ELSE lease END WHERE id = ?3";
constexpr const char* held_sql =
    "SELECT id, fence, claim_number, cancel_requested FROM live INDEXED BY live_line WHERE line = ? AND session = ?";
constexpr const char* claimed_sql =
    "SELECT id FROM live INDEXED BY live_line WHERE line = ? AND session = ? AND kind <> 2 LIMIT ?";
constexpr const char* abandon_sql = "UPDATE live SET line = ?1, session = ?2 WHERE id = ?3";
constexpr const char* progress_sql =
    "UPDATE live SET progress = ?, progress_message = ? WHERE id = ? AND fence = ? AND state = 1 AND session = ?";
constexpr const char* close_sql = "DELETE FROM sessions WHERE id = ?";
constexpr const char* cancel_requested_sql =
    "SELECT id FROM live INDEXED BY live_line WHERE line = ? AND session = ? AND cancel_requested = 1 ORDER BY id";
constexpr const char* sessions_list_sql =
    "SELECT id, worker, host, pid, lease, queues, tasks, build, started_at, expires_at FROM sessions ORDER BY id";
constexpr const char* sessions_count_sql =
    "SELECT count(*) FROM live INDEXED BY live_line WHERE line = ? AND session = ?";

std::string encode_queues(const std::vector<QueueRef>& queues) {
  std::string text = "[";
  for (const QueueRef& queue : queues) {
    text += text.size() > 1 ? "," : "";
    text += "[" + base::json_quote(queue.namespace_name) + "," + base::json_quote(queue.name) + "]";
  }
  return text + "]";
}

std::vector<QueueRef> decode_queues(std::string_view text) {
  std::vector<QueueRef> queues;
  for (const std::string_view pair : base::json_items(text, "queues")) {
    const auto parts = base::json_items(pair, "queues");
    if (parts.size() == 2) {
      queues.push_back({base::json_string(parts[0], "queues"), base::json_string(parts[1], "queues")});
    }
  }
  return queues;
}

std::string encode_names(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) { text += (text.size() > 1 ? "," : "") + base::json_quote(name); }
  return text + "]";
}

std::vector<std::string> decode_names(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view name : base::json_items(text, "tasks")) {
    names.push_back(base::json_string(name, "tasks"));
  }
  return names;
}

void write_progress(WriteTransaction& tx, const Beat& beat) {
  Cursor cursor = tx.db().use(progress_sql);
  for (const Progress& progress : beat.progress) {
    const std::string message = base::keep_head(base::escape_invalid(progress.message), limits::progress_message_bytes);
    cursor.bind(progress.fraction, message, progress.id, progress.fence, beat.session).run();
  }
}

struct RunningRow {
  std::int64_t fence = 0;
  std::int64_t claim_number = 0;
  bool cancel_requested = false;
  bool known = false;
};

std::unordered_map<Uuid, RunningRow> read_running(WriteTransaction& tx, const Uuid& session) {
  std::unordered_map<Uuid, RunningRow> rows;
  Cursor cursor = tx.db().use(held_sql);
  cursor.bind(claim_order::running(session), session);
  while (cursor.next()) {
    rows[cursor.uuid(0)] = {
        .fence = cursor.integer(1), .claim_number = cursor.integer(2), .cancel_requested = cursor.flag(3)};
  }
  return rows;
}

void release(WriteTransaction& tx, const Uuid& id) {
  FoundLive found(tx, id);
  if (!found) { return; }
  if (!found->is_guard()) {
    release_running(tx, found);
    return;
  }
  // The guard now runs under no session: the next caller takes it over.
  found.close();
  tx.db().use(abandon_sql).bind(claim_order::running(Uuid{}), Uuid{}, id).run();
}

}  // namespace

void open_session(WriteTransaction& tx, const NewSession& session) {
  tx.db()
      .use(open_sql)
      .bind(session.id, session.worker, session.host, session.pid, session.lease, encode_queues(session.queues),
            encode_names(session.tasks), session.build, tx.now(), tx.now() + session.lease)
      .run();
}

BeatReply beat(WriteTransaction& tx, const Beat& beat) {
  BeatReply reply;
  tx.db().use(renew_sql).bind(tx.now(), beat.lease, beat.session).run();
  if (tx.db().changes() == 0) {
    reply.session_lost = true;
    return reply;
  }
  write_progress(tx, beat);
  auto running = read_running(tx, beat.session);
  for (const Held& held : beat.held) {
    const auto row = running.find(held.id);
    if (row == running.end() || row->second.fence != held.fence) {
      reply.lost.push_back(held.id);
      continue;
    }
    row->second.known = true;
    if (row->second.cancel_requested) { reply.cancel.push_back(held.id); }
  }
  for (const auto& [id, row] : running) {
    if (!row.known && row.claim_number <= beat.settled_claim_number) {
      release(tx, id);
      reply.released += 1;
    }
  }
  for (const QueueCount& count : beat.counts) { count_finished(tx, count); }
  return reply;
}

std::vector<Uuid> claimed_by(Connection& db, const Uuid& session, int limit) {
  std::vector<Uuid> ids;
  Cursor cursor = db.use(claimed_sql);
  cursor.bind(claim_order::running(session), session, limit);
  while (cursor.next()) { ids.push_back(cursor.uuid(0)); }
  return ids;
}

void close_session(WriteTransaction& tx, const Uuid& session) {
  for (const Uuid& id : claimed_by(tx.db(), session, std::numeric_limits<int>::max())) { release(tx, id); }
  tx.db().use(close_sql).bind(session).run();
}

std::vector<Uuid> cancel_requests(ReadTransaction& tx, const Uuid& session) {
  std::vector<Uuid> ids;
  Cursor cursor = tx.db().use(cancel_requested_sql);
  cursor.bind(claim_order::running(session), session);
  while (cursor.next()) { ids.push_back(cursor.uuid(0)); }
  return ids;
}

std::vector<SessionInfo> sessions(ReadTransaction& tx) {
  std::vector<SessionInfo> infos;
  Cursor cursor = tx.db().use(sessions_list_sql);
  while (cursor.next()) {
    SessionInfo info;
    info.id = cursor.uuid(0);
    info.worker = cursor.string(1);
    info.host = cursor.string(2);
    info.pid = cursor.integer(3);
    info.lease = cursor.duration(4);
    info.queues = decode_queues(cursor.text(5));
    info.tasks = decode_names(cursor.text(6));
    info.build = cursor.string(7);
    info.started_at = cursor.time(8);
    info.expires_at = cursor.time(9);
    Cursor running = tx.db().use(sessions_count_sql);
    info.running = running.bind(claim_order::running(info.id), info.id).next() ? running.small(0) : 0;
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace hapax::store::sqlite
