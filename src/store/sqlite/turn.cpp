// Turns of workflows. An advance: 1 SELECT, 1 INSERT an entry; 1 UPDATE more if it forgives losses. A new child: its
// admission and 1 INSERT. One that was there already: 1 UPDATE more, and the waiting (waiters.hpp). A refused one:
// 1 UPDATE, 1 SELECT and the telling (events.hpp). One fdatasync a call.
#include "model/labels.hpp"
#include "model/refusal.hpp"
#include "store/sqlite/events.hpp"
#include "store/sqlite/verbs.hpp"
#include "store/sqlite/waiters.hpp"

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

constexpr const char* running_sql = "SELECT 1 FROM live WHERE id = ? AND state = 1 AND fence = ?";
constexpr const char* append_sql =
    "INSERT INTO journal(execution, position, fence, kind, name, data, at, child) VALUES (?,?,?,?,?,?,?,?)";
constexpr const char* take_back_sql = "DELETE FROM journal WHERE execution = ? AND position = ?";
constexpr const char* child_sql = "UPDATE journal SET child = ? WHERE execution = ? AND position = ?";
constexpr const char* forgive_sql = "UPDATE live SET lost = 0 WHERE id = ?";

void start_child(WriteTransaction& tx, const Uuid& execution, const JournalEntry& entry) {
  bool marked = false;
  const Admission admission = admit(tx, *entry.start, &marked);
  if (is_refused(admission)) {
    tx.db().use(child_sql).bind(nullptr, execution, entry.position).run();
    const std::string error = encode_error(refusal_of(admission));
    NewEvent event{.kind = EventKind::refused, .position = entry.position, .status = admission.status, .error = error};
    if (admission.verdict != AdmissionVerdict::queue_draining) { event.child = admission.id; }
    tell(tx, execution, event);
    return;
  }
  const Waiter waiter{.execution = execution, .position = entry.position};
  if (marked) {
    add_waiter(tx, admission.id, waiter);
    tx.note_woken(tx.queues().get(entry.start->queue).id);
    return;
  }
  if (admission.id != entry.start->id) { tx.db().use(child_sql).bind(admission.id, execution, entry.position).run(); }
  wait_for(tx, admission.id, waiter);
}

}  // namespace

bool append_entries(WriteTransaction& tx, const Uuid& execution, std::int64_t fence,
                    std::span<const JournalEntry> entries) {
  Cursor cursor = tx.db().use(append_sql);
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const JournalEntry& entry = entries[index];
    // Most often what starts is new. If not, start_child puts it right.
    const std::optional<Uuid> child = entry.start ? std::optional(entry.start->id) : entry.child;
    cursor.bind(execution, entry.position, fence, entry.kind, entry.name, entry.data, tx.now(), child);
    if (cursor.run_unless_taken()) { continue; }
    for (const JournalEntry& before : entries.first(index)) {
      tx.db().use(take_back_sql).bind(execution, before.position).run();
    }
    return false;
  }
  return true;
}

bool starts_something(std::span<const JournalEntry> entries) {
  return std::ranges::any_of(entries, [](const JournalEntry& entry) { return entry.start != nullptr; });
}

void start_children(WriteTransaction& tx, const Uuid& execution, std::span<const JournalEntry> entries) {
  for (const JournalEntry& entry : entries) {
    if (entry.start) { start_child(tx, execution, entry); }
  }
}

AdvanceReply advance(WriteTransaction& tx, const Advance& turn) {
  {
    Cursor running = tx.db().use(running_sql);
    if (!running.bind(turn.execution, turn.fence).next()) { return {}; }
  }
  if (!append_entries(tx, turn.execution, turn.fence, turn.entries)) { return {}; }
  start_children(tx, turn.execution, turn.entries);
  if (turn.clears_lost) { tx.db().use(forgive_sql).bind(turn.execution).run(); }
  return {.verdict = FinishVerdict::accepted, .at = tx.now()};
}

void plant(WriteTransaction& tx, const Uuid& execution, const Seed& seed) {
  Cursor cursor = tx.db().use(append_sql);
  for (const JournalEntry& entry : seed.entries) {
    cursor.bind(execution, entry.position, 0, entry.kind, entry.name, entry.data, entry.at, entry.child);
    static_cast<void>(cursor.run_unless_taken());
  }
  plant_events(tx, execution, seed.events);
}

void continue_run(WriteTransaction& tx, FoundLive& found, Ending ending, const Turn& turn) {
  const LiveRow& row = *found;
  NewExecution next = *turn.next;
  next.identity.reset();
  next.parent = row.parent;
  next.labels = row.labels ? decode_labels(*row.labels) : Labels{};
  next.effect_key = row.effect_key ? std::optional<std::string>(*row.effect_key) : std::nullopt;
  Birth birth{.run = row.run + 1, .run_at = next.run_at.value_or(tx.now() + next.delay), .waited = row.waited};
  if (next.deadline) { birth.deadline = tx.now() + *next.deadline; }
  birth.identity_key = row.identity_key.value_or("");
  std::optional<IdentityRow> held = row.identity ? find_identity(tx.db(), *row.identity) : std::nullopt;
  // Another run may have taken it over.
  if (held && held->execution == row.id) {
    next.identity = IdentityClaim{.hash = *row.identity, .key = birth.identity_key};
    held->run = birth.run;
    held->fingerprint.reset();
  }
  ending.continued_as = next.id;
  end_execution(tx, found, ending);
  const QueueRow& queue = tx.queues().get(next.queue);
  static_cast<void>(insert_live(tx, next, queue, birth));
  if (next.identity) {
    mark_superseded(tx, *row.identity, {.id = row.id, .status = Status::completed});
    hold_identity(tx, *row.identity, next.id, *held);
  }
  // Also without events: keys of signals may have come from the run before.
  carry_signals(tx, row.id, next.id, turn);
  tx.note_woken(queue.id);
}

}  // namespace hapax::store::sqlite
