// The audit. A line costs 1 INSERT in the transaction of its act; a read costs 1 SELECT.
#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

#define HAPAX_AUDIT_LINES "SELECT at, ns, actor, action, subject, detail FROM audit "
#define HAPAX_AUDIT_REST                                                                                              \
  " AND (?2 IS NULL OR action = ?2) AND (?3 IS NULL OR at >= ?3) AND (?4 IS NULL OR at < ?4) ORDER BY id DESC LIMIT " \
  "?5"

constexpr const char* note_sql = "INSERT INTO audit(at, ns, actor, action, subject, detail) VALUES (?, ?, ?, ?, ?, ?)";
constexpr const char* note_act_sql =
    "INSERT INTO audit(at, ns, actor, action, subject, detail) SELECT ?1, queues.ns, ?2, ?3, ?4, ?5 FROM queues"
    " WHERE queues.id = coalesce((SELECT queue_id FROM live WHERE id = ?6), (SELECT queue_id FROM history WHERE id = "
    "?6))";
constexpr const char* all_sql = HAPAX_AUDIT_LINES "INDEXED BY audit_ns WHERE ns = ?1" HAPAX_AUDIT_REST;
constexpr const char* subject_sql =
    HAPAX_AUDIT_LINES "INDEXED BY audit_subject WHERE ns = ?1 AND subject = ?6" HAPAX_AUDIT_REST;
constexpr const char* sweep_sql =
    "DELETE FROM audit WHERE id IN (SELECT id FROM audit INDEXED BY audit_at WHERE at <= ? ORDER BY at LIMIT ?)";

#undef HAPAX_AUDIT_LINES
#undef HAPAX_AUDIT_REST

}  // namespace

std::vector<AuditLine> audit(ReadTransaction& tx, const AuditQuery& query) {
  std::vector<AuditLine> lines;
  Cursor cursor = tx.db().use(query.subject ? subject_sql : all_sql);
  cursor.bind(query.namespace_name, query.action, query.from, query.before, std::max(query.limit, 0));
  if (query.subject) { cursor.put(6, *query.subject); }
  while (cursor.next()) {
    lines.push_back({.at = cursor.time(0),
                     .namespace_name = cursor.string(1),
                     .actor = cursor.string(2),
                     .action = cursor.string(3),
                     .subject = cursor.string(4),
                     .detail = cursor.string(5)});
  }
  return lines;
}

void write_audit(WriteTransaction& tx, const AuditLine& line) {
  tx.db().use(note_sql).bind(tx.now(), line.namespace_name, line.actor, line.action, line.subject, line.detail).run();
}

void write_act(WriteTransaction& tx, const Act& act) {
  if (!act.by.is_known()) { return; }
  const std::string subject = act.execution.to_string();
  const std::string detail = base::escape_invalid(act.detail);
  tx.db().use(note_act_sql).bind(tx.now(), act.by.name, act.action, subject, detail, act.execution).run();
}

int sweep_audit(WriteTransaction& tx, int limit) {
  tx.db().use(sweep_sql).bind(tx.now() - limits::audit_kept, limit).run();
  return tx.db().changes();
}

}  // namespace hapax::store::sqlite
