// Operators' acts on executions. A cancel: 1 SELECT and the cost of an ending, or 1 UPDATE; for a workflow that has
// begun, 1 SELECT more and the cost of send_event() (events.hpp). A retry: 2 to 5 SELECTs, 1 INSERT, 1 UPDATE; with an
// identity 1 INSERT and 1 UPDATE more. A known actor costs 1 INSERT more for the audit line. One fdatasync per call.
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/effect_key.hpp"
#include "model/labels.hpp"
#include "model/parent_close.hpp"
#include "store/sqlite/events.hpp"
#include "store/sqlite/execution_row.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* request_cancel_sql = "UPDATE live SET cancel_requested = 1, cancel_reason = ? WHERE id = ?";
constexpr const char* children_sql =
    "SELECT id, labels, deadline FROM live INDEXED BY live_parent WHERE parent = ? AND kind = 1 ORDER BY id";
constexpr const char* status_sql = "SELECT status FROM history WHERE id = ? AND expires_at > ?";
constexpr const char* live_run_sql = "SELECT state, run FROM live WHERE id = ?";
constexpr const char* ended_run_sql = "SELECT status, run FROM history WHERE id = ? AND expires_at > ?";
constexpr const char* retried_sql = "UPDATE history SET retried_as = ?, dead = 0 WHERE id = ?";
constexpr const char* discard_sql = "UPDATE history SET dead = 0 WHERE id = ? AND dead = 1 AND expires_at > ?";
constexpr const char* annotate_sql = "UPDATE history SET note = ? WHERE id = ? AND expires_at > ?";

struct RunStatus {
  Status status = Status::pending;
  int run = 1;
};

std::optional<RunStatus> find_run(WriteTransaction& tx, const Uuid& id) {
  {
    Cursor live = tx.db().use(live_run_sql);
    if (live.bind(id).next()) {
      return RunStatus{.status = live.small(0) == 1 ? Status::running : Status::pending, .run = live.small(1)};
    }
  }
  Cursor ended = tx.db().use(ended_run_sql);
  if (!ended.bind(id, tx.now()).next()) { return std::nullopt; }
  return RunStatus{.status = static_cast<Status>(ended.small(0)), .run = ended.small(1)};
}

std::optional<Execution> find_ended(WriteTransaction& tx, const Uuid& id) {
  Cursor cursor = tx.db().use(ended_execution_sql());
  return cursor.bind(id, tx.now()).next() ? std::optional(read_ended_execution(cursor)) : std::nullopt;
}

// The new run takes over the columns that execution_row.hpp marks as kept, and queue, identity and effect key. All
// other members start anew.
NewExecution next_run(const Execution& before, const RetryRequest& request) {
  NewExecution item;
  item.id = request.new_id;
  item.queue = before.queue;
  std::apply([&](const auto&... one) { ((item.*(one.request) = before.*(one.execution)), ...); },
             columns::kept_columns);
  if (before.identity) { item.identity = IdentityClaim{.hash = *before.identity, .key = before.identity_key}; }
  item.effect_key = request.new_effect_key ? effect_key(std::nullopt, std::nullopt, request.new_id) : before.effect_key;
  return item;
}

RetryResult create_run(WriteTransaction& tx, const Execution& before, const RetryRequest& request,
                       IdentityRow identity) {
  NewRow fresh{.run = before.run + 1, .run_at = tx.now()};
  if (before.deadline) { fresh.deadline = tx.now() + (*before.deadline - before.created_at); }
  const NewExecution item = next_run(before, request);
  static_cast<void>(insert_live(tx, item, tx.queues().get(item.queue), fresh));
  if (before.identity) {
    identity.run = fresh.run;
    mark_superseded(tx, *before.identity, {.id = before.id, .status = before.status});
    hold_identity(tx, *before.identity, item.id, identity);
  }
  tx.db().use(retried_sql).bind(item.id, before.id).run();
  return {.verdict = RetryVerdict::created, .existing = item.id, .status = Status::pending, .run = fresh.run};
}

}  // namespace

CancelResult cancel(WriteTransaction& tx, const Uuid& id, std::string_view reason, const Actor& by) {
  FoundLive found(tx, id);
  if (!found) {
    Cursor ended = tx.db().use(status_sql);
    if (!ended.bind(id, tx.now()).next()) { return {}; }
    return {.verdict = CancelVerdict::finished, .status = static_cast<Status>(ended.small(0))};
  }
  // A workflow that has begun ends by itself, so that it can run its compensations.
  const bool begun = found->is_workflow() && found->fence > 0;
  if (found->state == LiveState::running || begun) {
    found.close();
    write_act(tx, {.by = by, .action = "execution.cancel", .execution = id, .detail = reason});
    const CancelResult asked{.verdict = CancelVerdict::requested, .status = found->status()};
    if (found->cancel_requested) { return asked; }
    tx.db().use(request_cancel_sql).bind(base::escape_invalid(reason), id).run();
    if (begun) {
      const std::string error = cancelled_error(reason);
      send_event(tx, id, {.kind = EventKind::cancel, .error = error});
    }
    return asked;
  }
  write_act(tx, {.by = by, .action = "execution.cancel", .execution = id, .detail = reason});
  end_execution(tx, found, {.status = Status::cancelled, .error = cancelled_error(reason)});
  return {.verdict = CancelVerdict::cancelled, .status = Status::cancelled};
}

void end_and_close_children(WriteTransaction& tx, FoundLive& found, const Ending& ending) {
  const Uuid parent = found->id;
  const bool may_have_children = found->is_workflow() && found->fence > 0;
  end_execution(tx, found, ending);
  if (!may_have_children) { return; }
  std::vector<Uuid> children;
  {
    Cursor cursor = tx.db().use(children_sql);
    cursor.bind(parent);
    while (cursor.next()) {
      const Labels labels = cursor.is_null(1) ? Labels{} : decode_labels(cursor.text(1));
      if (closes_with_parent(labels, cursor.optional(2, &Cursor::time), tx.now())) {
        children.push_back(cursor.uuid(0));
      }
    }
  }
  for (const Uuid& id : children) { static_cast<void>(cancel(tx, id, parent_ended, {})); }
}

RetryResult retry(WriteTransaction& tx, const RetryRequest& request, const Actor& by) {
  const std::optional<RunStatus> found = find_run(tx, request.id);
  if (!found) { return {}; }
  RetryResult result{.existing = request.id, .status = found->status, .run = found->run};
  if (!is_terminal(found->status) || found->status == Status::completed) {
    result.verdict = is_terminal(found->status) ? RetryVerdict::completed : RetryVerdict::not_finished;
    return result;
  }
  const Execution before = find_ended(tx, request.id).value();
  if (before.kind == Kind::guard) {
    result.verdict = RetryVerdict::guarded;
    return result;
  }
  if (before.retried_as) {
    const RunStatus later = find_run(tx, *before.retried_as).value_or(*found);
    return {.verdict = RetryVerdict::already_retried,
            .existing = *before.retried_as,
            .status = later.status,
            .run = later.run};
  }
  IdentityRow identity;
  if (before.identity) {
    const std::optional<IdentityRow> row = find_identity(tx.db(), *before.identity);
    const std::optional<Holder> holder = row ? find_holder(tx.db(), *row, tx.now()) : std::nullopt;
    if (holder && holder->id != before.id) {
      return {
          .verdict = RetryVerdict::identity_held, .existing = holder->id, .status = holder->status, .run = holder->run};
    }
    if (holder) {
      identity.fingerprint = row->fingerprint;
      identity.hold_for = row->hold_for;
    }
  }
  const std::string made = request.new_id.to_string();
  write_act(tx, {.by = by, .action = "execution.retry", .execution = request.id, .detail = made});
  return create_run(tx, before, request, identity);
}

bool discard(WriteTransaction& tx, const Uuid& id, const Actor& by) {
  tx.db().use(discard_sql).bind(id, tx.now()).run();
  if (tx.db().changes() == 0) { return false; }
  write_act(tx, {.by = by, .action = "execution.discard", .execution = id, .detail = ""});
  return true;
}

bool annotate(WriteTransaction& tx, const Uuid& id, std::string_view note, const Actor& by) {
  const std::string kept = base::keep_head(base::escape_invalid(note), limits::note_bytes);
  tx.db().use(annotate_sql).bind(kept, id, tx.now()).run();
  if (tx.db().changes() == 0) { return false; }
  write_act(tx, {.by = by, .action = "execution.annotate", .execution = id, .detail = kept});
  return true;
}

}  // namespace hapax::store::sqlite
