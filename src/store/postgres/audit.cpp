#include "store/postgres/audit.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/admission.hpp"
#include "store/postgres/postgres_store.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

constexpr Statement note{"hapax_audit", R"(
INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
VALUES ($2::text, {now} + $1::bigint, $3::text, $4::text, $5::text, $6::text))"};

// Finds each execution in live or history; it is in exactly one. There is one detail for each.
constexpr Statement note_acts{"hapax_audit_acts", R"(
INSERT INTO {s}.audit (ns, at, actor, action, subject, detail)
SELECT q.ns, {now} + $1::bigint, $2::text, $3::text, u.id::text, u.detail
FROM unnest($4::uuid[], $5::text[]) WITH ORDINALITY u(id, detail, place)
CROSS JOIN LATERAL (
  SELECT l.queue_id FROM {s}.live l WHERE l.id = u.id
  UNION ALL SELECT h.queue_id FROM {s}.history h WHERE h.id = u.id LIMIT 1) e
JOIN {s}.queues q ON q.id = e.queue_id ORDER BY u.place)"};

constexpr Statement lines_of_all{"hapax_audit_lines", R"(
SELECT at, actor, action, subject, detail FROM {s}.audit
WHERE ns = $1::text AND ($2::text IS NULL OR action = $2::text) AND ($3::bigint IS NULL OR at >= $3::bigint)
  AND ($4::bigint IS NULL OR at < $4::bigint)
ORDER BY id DESC LIMIT $5::bigint)"};

constexpr Statement lines_of_subject{"hapax_audit_of", R"(
SELECT at, actor, action, subject, detail FROM {s}.audit
WHERE ns = $1::text AND ($2::text IS NULL OR action = $2::text) AND ($3::bigint IS NULL OR at >= $3::bigint)
  AND ($4::bigint IS NULL OR at < $4::bigint) AND subject = $6::text
ORDER BY id DESC LIMIT $5::bigint)"};

constexpr Statement old_lines{"hapax_audit_old", R"(
DELETE FROM {s}.audit WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM {s}.audit WHERE at <= {now} + $1::bigint - $2::bigint ORDER BY at LIMIT $3::bigint
  FOR UPDATE SKIP LOCKED)))"};

Params& put(Params& params, const std::optional<Time>& time) {
  return time ? params.int8(time->time_since_epoch().count()) : params.null(Type::int8);
}

}  // namespace

Call audit_call(const model::AuditLine& line, std::int64_t offset_us) {
  Params params;
  params.int8(offset_us).text(line.namespace_name).text(base::escape_invalid(line.actor)).text(line.action);
  params.text(line.subject).text(base::escape_invalid(line.detail));
  return {&note, std::move(params)};
}

Call act_call(const Acts& acts, std::int64_t offset_us) {
  Array ids(Type::uuid, acts.done.size());
  Array details(Type::text, acts.done.size());
  for (const Acts::One& one : acts.done) {
    ids.uuid(one.execution);
    details.bytes(base::escape_invalid(one.detail));
  }
  Params params;
  params.int8(offset_us).text(base::escape_invalid(acts.by.name)).text(acts.action);
  params.array(std::move(ids)).array(std::move(details));
  return {&note_acts, std::move(params)};
}

void audit_terminated(Connection& connection, const Uuid& holder, const model::NewExecution& request,
                      std::int64_t offset_us) {
  if (!model::audits_termination(request)) { return; }
  const model::Actor by{request.labels.actor};
  const Acts acts{
      .by = by, .action = "execution.cancel", .done = {{.execution = holder, .detail = model::terminated_reason}}};
  const Call call = act_call(acts, offset_us);
  connection.query(*call.statement, call.params);
}

bool sweep_audit(Connection& connection, int limit, std::int64_t offset_us) {
  Params params;
  params.int8(offset_us).int8(limits::audit_kept.count()).int8(limit);
  return connection.query(old_lines, params).affected() >= limit;
}

// 1 round trip.
std::vector<AuditLine> PostgresStore::audit(const AuditQuery& query) {
  return read([&](Connection& connection) {
    Params params;
    params.text(query.namespace_name);
    query.action ? params.text(*query.action) : params.null(Type::text);
    put(params, query.from);
    put(params, query.before);
    params.int8(std::max(query.limit, 0));
    if (query.subject) { params.text(*query.subject); }
    const Result result = connection.query(query.subject ? lines_of_subject : lines_of_all, params);
    std::vector<AuditLine> lines;
    for (RowReader reader : result) {
      AuditLine line;
      line.at = reader.time();
      line.namespace_name = query.namespace_name;
      line.actor = reader.bytes();
      line.action = reader.bytes();
      line.subject = reader.bytes();
      line.detail = reader.bytes();
      lines.push_back(std::move(line));
    }
    return lines;
  });
}

}  // namespace hapax::store::postgres
