#include "store/postgres/admit_identity.hpp"

#include "model/admission.hpp"
#include "store/postgres/admit_many.hpp"
#include "store/postgres/audit.hpp"
#include "store/postgres/cancel_retry.hpp"
#include "store/postgres/finish.hpp"

namespace hapax::store::postgres {

namespace {

using namespace model;

// Repoints identities to new runs. This transaction has locked the rows, so each exists.
constexpr Statement repoint{"hapax_repoint_identities", R"(
UPDATE {s}.identities i
SET execution = u.execution, run = u.run, fingerprint = u.fingerprint, created_at = {now} + $1::bigint,
    hold_for = greatest(coalesce(u.dedup_window, (SELECT q.dedup_window_us FROM {s}.queues q WHERE q.id = u.queue_id)),
                        u.throttle),
    hold_until = NULL, ended_as = NULL, ended_at = NULL, name = coalesce(u.name, i.name)
FROM unnest($2::bytea[], $3::uuid[], $4::int[], $5::bytea[], $6::bigint[], $7::bigint[], $8::int[], $9::bytea[])
       u(identity, execution, run, fingerprint, dedup_window, throttle, queue_id, name)
WHERE i.identity = u.identity)"};

// Marks overtaken holders, which run on but end as cancelled instead of becoming pending again.
constexpr Statement overtake_statement{"hapax_overtake", R"(
UPDATE {s}.live SET cancel_error = $2::text WHERE id = ANY ($1::uuid[]) AND cancel_error IS NULL)"};

}  // namespace

void end_holders(const AdmissionWork& work, const std::vector<Displacement>& displacements) {
  std::vector<Ending> endings;
  std::vector<Uuid> ended, overtaken;
  for (const Displacement& one : displacements) {
    if (one.terminated) {
      endings.push_back(
          {.id = *one.terminated, .status = Status::cancelled, .error = cancelled_error(terminated_reason)});
      ended.push_back(*one.terminated);
    }
    if (one.overtaken) { overtaken.push_back(*one.overtaken); }
  }
  if (!endings.empty()) {
    const Call call = end_call(endings, work.offset_us);
    work.freed.add_ended(work.connection.query(*call.statement, call.params));
    close_children(work.connection, ended, work.offset_us, work.freed);
    for (const Displacement& one : displacements) {
      if (one.terminated) { audit_terminated(work.connection, *one.terminated, *one.by, work.offset_us); }
    }
  }
  if (!overtaken.empty()) {
    const std::string error = cancelled_error(overtaken_reason);
    work.connection.query(overtake_statement, Params().array(uuid_array(overtaken)).text(error));
  }
}

void repoint_identities(const AdmissionWork& work, const std::vector<Displacement>& displacements) {
  Array identities(Type::bytea), executions(Type::uuid), runs(Type::int4), fingerprints(Type::bytea);
  Array windows(Type::int8), throttles(Type::int8), queues(Type::int4), names(Type::bytea);
  for (const Displacement& one : displacements) {
    const NewExecution& item = *one.by;
    identities.digest(item.identity->hash);
    executions.uuid(item.id);
    runs.int4(one.run);
    item.identity->fingerprint ? fingerprints.digest(*item.identity->fingerprint) : fingerprints.null();
    const std::optional<Duration>& window = item.identity->dedup_window;
    windows.optional_int8(window ? std::optional(window->count()) : std::nullopt);
    throttles.optional_int8(throttle_of(*item.identity));
    queues.int4(work.queues.id(item.queue));
    item.identity->name ? names.digest(*item.identity->name) : names.null();
  }
  Params params;
  params.int8(work.offset_us);
  params.arrays({&identities, &executions, &runs, &fingerprints, &windows, &throttles, &queues, &names});
  work.connection.query(repoint, params);
}

}  // namespace hapax::store::postgres
