// Signals: 1 SELECT and the cost of send_event() (events.hpp); a signal with a `once` key 1 INSERT more. For a run that was
// continued: 2 SELECTs more for each run up to the last. One fdatasync per call.
#include "store/sqlite/events.hpp"
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* signal_ended_sql =
    "SELECT kind, status, continued_as FROM history WHERE id = ? AND expires_at > ?";

SignalVerdict verdict_of(Kind kind, SignalVerdict otherwise) {
  return kind == Kind::workflow ? otherwise : SignalVerdict::not_a_workflow;
}

SignalResult send(WriteTransaction& tx, const Recipient& recipient, const Signal& signal, const Actor& by) {
  SignalResult result{.verdict = verdict_of(recipient.kind, SignalVerdict::accepted),
                      .status = recipient.state == LiveState::running ? Status::running : Status::pending,
                      .execution = recipient.id};
  if (result.verdict != SignalVerdict::accepted) { return result; }
  write_act(tx, {.by = by, .action = "execution.signal", .execution = recipient.id, .detail = signal.name});
  if (signal.once && !is_first_signal(tx, recipient.id, *signal.once)) { return result; }
  send_event(tx, recipient, {.kind = EventKind::signal, .name = signal.name, .data = signal.data});
  if (recipient.sleeps) { result.woken = tx.queues().by_id(recipient.queue_id).ref; }
  return result;
}

}  // namespace

SignalResult signal(WriteTransaction& tx, const Signal& signal, const Actor& by) {
  for (Uuid id = signal.execution;;) {
    if (const std::optional<Recipient> recipient = find_recipient(tx, id)) { return send(tx, *recipient, signal, by); }
    Cursor ended = tx.db().use(signal_ended_sql);
    if (!ended.bind(id, tx.now()).next()) { return {}; }
    if (ended.is_null(2)) {
      return {.verdict = verdict_of(static_cast<Kind>(ended.small(0)), SignalVerdict::finished),
              .status = static_cast<Status>(ended.small(1)),
              .execution = id};
    }
    // Each run of a chain has the id of the next run; the last run gets the signal.
    id = ended.uuid(2);
  }
}

}  // namespace hapax::store::sqlite
