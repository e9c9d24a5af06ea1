// Admission. Without identity: 1 INSERT an item, and 1 SELECT for each queue of the batch; no identity table is touched
// (SPEC I14). With identity: 1 SELECT and 1 INSERT more for a new one, up to 3 SELECTs for a held one.
#include "model/labels.hpp"
#include "model/retry.hpp"
#include "store/sqlite/line.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* insert_sql =
    "INSERT INTO live(id, queue_id, line, state, priority, run_at, lost, fence, attempt, session, claim_number, "
    "claimed_at,"
    " cancel_requested, deadline, task, kind, created_at, max_attempts, max_lost, run, attempt_timeout, retry, "
    "identity,"
    " identity_key, effect_key, parent, labels, input)"
    " VALUES (?1,?2,?3,?4,?5,?6,0,?7,?7,?8,?9,?10,0,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23,?24,?25)";
constexpr const char* present_sql = "SELECT state, run, created_at FROM live WHERE id = ?";
constexpr const char* any_due_sql = "SELECT 1 FROM live INDEXED BY live_line WHERE line BETWEEN ? AND ? LIMIT 1";
constexpr const char* any_delayed_due_sql =
    "SELECT 1 FROM live INDEXED BY live_line WHERE line = ? AND run_at <= ? LIMIT 1";

bool has_row(Cursor& cursor) { return cursor.next(); }

// Whether nothing is in the way of an execution that is to be born running.
bool may_be_born_running(WriteTransaction& tx, const BornRunning& born, const QueueRow& queue, Time run_at) {
  return !queue.settings.paused && run_at <= tx.now() && tx.worker_of(born.session) != nullptr &&
         !has_row(tx.db().use(any_due_sql).bind(line::ready(queue.id).first, line::suspect(queue.id).last)) &&
         !has_row(tx.db().use(any_delayed_due_sql).bind(line::delayed(queue.id), tx.now()));
}

Admission created(const Uuid& id, Status status, int run, Time created_at) {
  return {.verdict = AdmissionVerdict::created, .id = id, .status = status, .run = run, .created_at = created_at};
}

// The id is live already: an earlier request asked again.
std::optional<Admission> present(WriteTransaction& tx, const Uuid& id) {
  Cursor cursor = tx.db().use(present_sql);
  if (!cursor.bind(id).next()) { return std::nullopt; }
  return created(id, cursor.small(0) == 1 ? Status::running : Status::pending, cursor.small(1), cursor.time(2));
}

void terminate(WriteTransaction& tx, const Uuid& id) {
  FoundLive found(tx, id);
  if (found) {
    end_execution(tx, found,
                  {.status = Status::cancelled,
                   .error = cancelled_error("terminated by a newer request"),
                   .started_at = found->session ? found->claimed_at : std::nullopt});
  }
}

Admission insert(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue, int run) {
  Birth birth;
  birth.run = run;
  birth.run_at = item.run_at.value_or(tx.now() + item.delay);
  if (item.deadline) { birth.deadline = tx.now() + *item.deadline; }
  if (item.born_running && may_be_born_running(tx, *item.born_running, queue, birth.run_at)) {
    birth.running = &*item.born_running;
  }
  if (!insert_live(tx, item, queue, birth)) { return present(tx, item.id).value_or(Admission{}); }
  Admission admission = created(item.id, birth.running != nullptr ? Status::running : Status::pending, run, tx.now());
  if (birth.running != nullptr) { admission.fence = 1; }
  return admission;
}

Admission admit_with_identity(WriteTransaction& tx, const NewExecution& item) {
  if (std::optional<Admission> again = present(tx, item.id)) { return *again; }
  const IdentityClaim& identity = *item.identity;
  const std::optional<Holder> holder = find_holder(tx.db(), identity.hash, tx.now());
  AdmissionDecision decision;
  if (holder) {
    if (holder->id == item.id) { return created(holder->id, holder->status, holder->run, holder->created_at); }
    decision = decide_admission(*holder, identity);
    if (decision.step == AdmissionStep::answer) { return decision.admission; }
  }
  const QueueRow& queue = tx.queues().get(item.queue);
  if (queue.settings.draining) { return {.verdict = AdmissionVerdict::queue_draining}; }
  if (decision.step == AdmissionStep::terminate_and_new_run) { terminate(tx, holder->id); }
  if (holder) { mark_superseded(tx, holder->id); }
  const int run = holder ? holder->run + 1 : 1;
  hold_identity(tx, identity.hash, item.id, run, identity.fingerprint);
  return insert(tx, item, queue, run);
}

}  // namespace

bool insert_live(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue, const Birth& birth) {
  LiveState state = LiveState::ready;
  std::int64_t place = line::due(queue.id, item.priority, 0);
  if (birth.running != nullptr) {
    state = LiveState::running;
    place = line::running(birth.running->session);
  } else if (birth.run_at > tx.now()) {
    state = LiveState::delayed;
    place = line::delayed(queue.id);
  }
  const int claims = birth.running != nullptr ? 1 : 0;
  std::optional<Uuid> session;
  std::optional<Time> claimed_at;
  std::int64_t claim_number = 0;
  if (birth.running != nullptr) {
    session = birth.running->session;
    claim_number = birth.running->claim_number;
    claimed_at = tx.now();
  }
  std::optional<std::string> retry;
  if (item.retry) { retry = encode_retry(*item.retry); }
  std::optional<base::Digest> identity;
  std::optional<std::string_view> identity_key;
  if (item.identity) {
    identity = item.identity->hash;
    identity_key = item.identity->key;
  }
  const std::optional<std::string> labels = encode_labels(item.labels);
  Cursor cursor = tx.db().use(insert_sql);
  cursor.bind(item.id, queue.id, place, static_cast<int>(state), item.priority, birth.run_at, claims, session,
              claim_number, claimed_at, birth.deadline, item.task, static_cast<int>(item.kind), tx.now(),
              item.max_attempts, item.max_lost, birth.run, item.attempt_timeout, retry, identity, identity_key,
              item.effect_key, item.parent, labels, item.input);
  return cursor.run_unless_taken();
}

Admission admit(WriteTransaction& tx, const NewExecution& item) {
  if (item.identity) { return admit_with_identity(tx, item); }
  const QueueRow& queue = tx.queues().get(item.queue);
  if (queue.settings.draining) {
    return present(tx, item.id).value_or(Admission{.verdict = AdmissionVerdict::queue_draining});
  }
  return insert(tx, item, queue, 1);
}

}  // namespace hapax::store::sqlite
