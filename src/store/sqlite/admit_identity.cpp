// Admissions whose identity is in the table already. A held identity: up to 4 SELECTs; for a pending holder that is
// replaced, 1 SELECT and 2 or 3 UPDATEs; for a guard that takes a holder over, the cost of take_over. A name: 1 SELECT.
#include "store/sqlite/admit.hpp"
#include "store/sqlite/park.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* replace_sql =
    "UPDATE live SET line = ?, state = ?, priority = ?, run_at = ?, deadline = ?, max_attempts = ?, max_lost = ?,"
    " attempt_timeout = ?, retry = ?, labels = ?, weight = ?, input = ? WHERE id = ?";
constexpr const char* place_sql = "SELECT queue_id, limit_key, task FROM live WHERE id = ?";
constexpr const char* overtake_sql = "UPDATE live SET cancel_reason = ? WHERE id = ? AND cancel_reason IS NULL";

// Gives the pending holder every field of the request except its id, identity and effect key.
void replace(WriteTransaction& tx, const Uuid& id, const NewExecution& by) {
  FoundLive found(tx, id);
  Waiting held = as_pending(*found, by.run_at.value_or(tx.now() + by.delay), found->attempt);
  held.priority = by.priority;
  found.close();
  const Place place = place_of(held.queue_id, held.priority, held.lost, held.run_at, tx.now());
  const std::optional<Time> deadline = by.deadline ? std::optional(tx.now() + *by.deadline) : std::nullopt;
  tx.db()
      .use(replace_sql)
      .bind(place.line, static_cast<int>(place.state), by.priority, held.run_at, deadline, by.max_attempts, by.max_lost,
            by.attempt_timeout, columns::RetryText::put(by.retry), columns::LabelsText::put(by.labels),
            columns::Weight::put(by.weight), by.input, id)
      .run();
  if (held.limit_key) {
    // Another execution of the key may now become claimable in its place.
    key_waits(
        tx,
        {.id = id, .queue_id = held.queue_id, .key = *held.limit_key, .priority = held.priority, .run_at = held.run_at},
        true);
  }
  change_fingerprint(tx, by.identity->hash, by.identity->fingerprint);
}

HolderPlace place_of_holder(WriteTransaction& tx, const Uuid& id, const NewExecution& item) {
  const QueueRow* const queue = tx.queues().find(item.queue);
  Cursor cursor = tx.db().use(place_sql);
  if (queue == nullptr || !cursor.bind(id).next() || cursor.integer(0) != queue->id) {
    return HolderPlace::other_queue;
  }
  const std::optional<std::string> key = columns::LimitKeyText::put(item.limit_key);
  if (cursor.optional(1, &Cursor::string) != key) { return HolderPlace::other_key; }
  return cursor.text(2) == item.task ? HolderPlace::same : HolderPlace::other_task;
}

}  // namespace

Admission admit_held_identity(WriteTransaction& tx, const NewExecution& item, bool* waited) {
  if (std::optional<Admission> again = already_live(tx, item.id)) { return *again; }
  const IdentityClaim& identity = *item.identity;
  const std::optional<IdentityRow> before = find_identity(tx.db(), identity.hash);
  std::optional<Holder> holder = before ? find_holder(tx.db(), *before, tx.now()) : std::nullopt;
  AdmissionDecision decision;
  if (holder) {
    if (holder->id == item.id) { return created(holder->id, holder->status, holder->run, holder->created_at); }
    if (latest_counts(identity.mode) && !is_terminal(holder->status)) {
      holder->place = place_of_holder(tx, holder->id, item);
    }
    decision = decide_admission(*holder, identity, tx.now());
    if (decision.step == AdmissionStep::take_over) {
      if (!may_run(tx, item)) { return {.verdict = AdmissionVerdict::session_gone, .id = item.id}; }
      decision.admission.fence = take_over(tx, holder->id, item);
      return decision.admission;
    }
    if (decision.step == AdmissionStep::replace) { replace(tx, holder->id, item); }
    if (decision.step == AdmissionStep::answer || decision.step == AdmissionStep::replace) {
      decision.admission.holds_name = !identity.name || name_owner(tx, *identity.name) == identity.hash;
      return decision.admission;
    }
  }
  if (identity.name && name_owner(tx, *identity.name).value_or(identity.hash) != identity.hash) {
    return {.verdict = AdmissionVerdict::name_taken};
  }
  const QueueRow& queue = tx.queues().get(item.queue);
  if (queue.settings.draining) { return {.verdict = AdmissionVerdict::queue_draining}; }
  if (!may_run(tx, item)) { return {.verdict = AdmissionVerdict::session_gone, .id = item.id}; }
  IdentityRow row;
  row.fingerprint = identity.fingerprint;
  row.hold_for = hold_for(identity, queue.settings);
  row.name = identity.name;
  if (holder) {
    row.run = holder->run + 1;
    if (decision.step == AdmissionStep::terminate_and_new_run) {
      terminate(tx, holder->id, terminated_reason);
      if (audits_termination(item)) {
        write_act(tx, {{item.labels.actor}, "execution.cancel", holder->id, terminated_reason});
      }
      holder->status = Status::cancelled;
    }
    if (decision.overtakes) { tx.db().use(overtake_sql).bind(overtaken_reason, holder->id).run(); }
    mark_superseded(tx, identity.hash, *holder);
  } else if (before) {
    // The earlier execution no longer holds the identity, but its record may still exist: a stub.
    mark_superseded(tx, identity.hash, {.id = before->execution, .status = Status::completed});
  }
  hold_identity(tx, identity.hash, item.id, row);
  IdleQueue none;
  return insert_execution(tx, item, queue, row.run, waited, none);
}

void terminate(WriteTransaction& tx, const Uuid& id, std::string_view reason) {
  FoundLive found(tx, id);
  if (found) {
    end_and_close_children(tx, found,
                           {.status = Status::cancelled,
                            .error = cancelled_error(reason),
                            .started_at = found->session ? found->claimed_at : std::nullopt});
  }
}

}  // namespace hapax::store::sqlite
