// Turns of workflows. An advance: 1 SELECT and 1 INSERT per entry; 1 UPDATE more if it clears losses. Eight or more
// advances that start and clear nothing share 1 SELECT for 32 or 8 of them; eight or more entries share INSERTs of 32
// or 8 rows. A new child: its admission and 1 INSERT. An existing child: 1 UPDATE more, and the cost of wait_for
// (waiters.hpp). A refused child: 1 UPDATE, 1 SELECT and the cost of send_event() (events.hpp). One fdatasync per call.
#include "base/plain_path.hpp"
#include "model/labels.hpp"
#include "model/refusal.hpp"
#include "store/sqlite/events.hpp"
#include "store/sqlite/many_rows.hpp"
#include "store/sqlite/verbs.hpp"
#include "store/sqlite/waiters.hpp"

#include <algorithm>
#include <array>

namespace hapax::store::sqlite {

namespace {

constexpr const char* turn_running_sql = "SELECT 1 FROM live WHERE id = ? AND state = 1 AND fence = ?";
constexpr const char* turn_append_sql =
    "INSERT INTO journal(execution, position, fence, kind, name, data, at, child) VALUES (?,?,?,?,?,?,?,?)";
constexpr const char* take_back_sql = "DELETE FROM journal WHERE execution = ? AND position = ?";
constexpr const char* child_sql = "UPDATE journal SET child = ? WHERE execution = ? AND position = ?";
constexpr const char* clear_lost_sql = "UPDATE live SET lost = 0 WHERE id = ?";

const ManyRows& running_many() {
  static const ManyRows& many = *new ManyRows(
      "SELECT count(*) FROM {rows} v CROSS JOIN live l ON l.id = v.column1 AND l.fence = v.column2 AND l.state = 1", 0,
      2);
  return many;
}

const ManyRows& append_many() {
  static const ManyRows& many = *new ManyRows(
      "INSERT OR FAIL INTO journal(execution, position, fence, kind, name, data, at, child)"
      " SELECT column1, column2, column3, column4, column5, column6, ?1, column7 FROM {rows}",
      1, 7);
  return many;
}

bool takes_turns_one_by_one() {
  static const bool plain = base::takes_plain_path("sqlite-many-turns");
  return plain;
}

// The child is assumed to be new, as almost all are; start_child corrects the others.
std::optional<Uuid> child_of(const JournalEntry& entry) {
  return entry.start ? std::optional(entry.start->id) : entry.child;
}

bool append_one(WriteTransaction& tx, const JournalRow& row) {
  const JournalEntry& entry = *row.entry;
  const std::optional<Uuid> child = child_of(entry);
  Cursor cursor = tx.db().use(turn_append_sql);
  cursor.bind(row.execution, entry.position, row.fence, entry.kind, entry.name, entry.data, tx.now(), child);
  return cursor.run_unless_taken();
}

// Returns how many rows were appended before a taken position.
std::size_t append_together(WriteTransaction& tx, std::span<const JournalRow> rows) {
  std::array<std::optional<Uuid>, rows_max> children;
  Cursor cursor = tx.db().use(append_many().sql(rows.size()));
  cursor.bind(tx.now());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const JournalEntry& entry = *rows[i].entry;
    children[i] = child_of(entry);
    int parameter = append_many().before(i);
    cursor.put(++parameter, rows[i].execution);
    cursor.put(++parameter, entry.position);
    cursor.put(++parameter, rows[i].fence);
    cursor.put(++parameter, entry.kind);
    cursor.put(++parameter, entry.name);
    cursor.put(++parameter, entry.data);
    cursor.put(++parameter, children[i]);
  }
  return cursor.run_unless_taken() ? rows.size() : static_cast<std::size_t>(tx.db().changes());
}

bool all_run(WriteTransaction& tx, std::span<const Advance> turns) {
  Cursor cursor = tx.db().use(running_many().sql(turns.size()));
  for (std::size_t i = 0; i < turns.size(); ++i) {
    cursor.put(running_many().before(i) + 1, turns[i].execution);
    cursor.put(running_many().before(i) + 2, turns[i].fence);
  }
  return cursor.next() && cursor.integer(0) == std::ssize(turns);
}

// Appends the entries of all turns; false, and nothing done, unless all can be appended.
bool advance_together(WriteTransaction& tx, std::span<const Advance> turns) {
  if (!all_run(tx, turns)) { return false; }
  std::vector<JournalRow> rows;
  for (const Advance& turn : turns) { add_rows(rows, turn.execution, turn.fence, turn.entries); }
  return append_rows(tx, rows);
}

void start_child(WriteTransaction& tx, const Uuid& execution, const JournalEntry& entry) {
  bool marked = false;
  const Admission admission = admit(tx, *entry.start, &marked);
  if (is_refused(admission)) {
    tx.db().use(child_sql).bind(nullptr, execution, entry.position).run();
    const std::string error = encode_error(refusal_of(admission));
    NewEvent event{.kind = EventKind::refused, .position = entry.position, .status = admission.status, .error = error};
    if (admission.verdict != AdmissionVerdict::queue_draining) { event.child = admission.id; }
    send_event(tx, execution, event);
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

void add_rows(std::vector<JournalRow>& rows, const Uuid& execution, std::int64_t fence,
              std::span<const JournalEntry> entries) {
  for (const JournalEntry& entry : entries) { rows.push_back({execution, fence, &entry}); }
}

bool append_rows(WriteTransaction& tx, std::span<const JournalRow> rows) {
  for (std::size_t done = 0; done < rows.size();) {
    const std::size_t together = takes_turns_one_by_one() ? 0 : rows_of_next(rows.size() - done);
    const std::size_t made = together > 0 ? append_together(tx, rows.subspan(done, together))
                                          : static_cast<std::size_t>(append_one(tx, rows[done]));
    done += made;
    if (made < std::max<std::size_t>(together, 1)) {
      take_back_rows(tx, rows.first(done));
      return false;
    }
  }
  return true;
}

void take_back_rows(WriteTransaction& tx, std::span<const JournalRow> rows) {
  for (const JournalRow& row : rows) { tx.db().use(take_back_sql).bind(row.execution, row.entry->position).run(); }
}

bool append_entries(WriteTransaction& tx, const Uuid& execution, std::int64_t fence,
                    std::span<const JournalEntry> entries) {
  std::vector<JournalRow> rows;
  add_rows(rows, execution, fence, entries);
  return append_rows(tx, rows);
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
    Cursor running = tx.db().use(turn_running_sql);
    if (!running.bind(turn.execution, turn.fence).next()) { return {}; }
  }
  if (!append_entries(tx, turn.execution, turn.fence, turn.entries)) { return {}; }
  start_children(tx, turn.execution, turn.entries);
  if (turn.clears_lost) { tx.db().use(clear_lost_sql).bind(turn.execution).run(); }
  return {.verdict = FinishVerdict::accepted, .at = tx.now()};
}

std::vector<AdvanceReply> advance(WriteTransaction& tx, std::span<const Advance> turns) {
  std::vector<AdvanceReply> replies;
  replies.reserve(turns.size());
  const auto is_plain = [](const Advance& turn) { return !turn.clears_lost && !starts_something(turn.entries); };
  for_chunks(turns, is_plain, [&](std::span<const Advance> chunk) {
    if (chunk.size() > 1 && !takes_turns_one_by_one() && advance_together(tx, chunk)) {
      replies.resize(replies.size() + chunk.size(), {.verdict = FinishVerdict::accepted, .at = tx.now()});
      return;
    }
    for (const Advance& turn : chunk) { replies.push_back(advance(tx, turn)); }
  });
  return replies;
}

void seed_journal(WriteTransaction& tx, const Uuid& execution, const Seed& seed) {
  Cursor cursor = tx.db().use(turn_append_sql);
  for (const JournalEntry& entry : seed.entries) {
    cursor.bind(execution, entry.position, 0, entry.kind, entry.name, entry.data, entry.at, entry.child);
    static_cast<void>(cursor.run_unless_taken());
  }
  seed_events(tx, execution, seed.events);
}

void continue_run(WriteTransaction& tx, FoundLive& found, Ending ending, const Turn& turn) {
  const LiveRow& row = *found;
  NewExecution next = *turn.next;
  next.identity.reset();
  next.parent = row.parent;
  next.labels = row.labels ? decode_labels(*row.labels) : Labels{};
  next.effect_key = row.effect_key ? std::optional<std::string>(*row.effect_key) : std::nullopt;
  NewRow fresh{
      .run = row.run + 1, .run_at = next.run_at.value_or(tx.now() + next.delay), .waited = row.waited.has_value()};
  if (next.deadline) { fresh.deadline = tx.now() + *next.deadline; }
  fresh.identity_key = row.identity_key.value_or("");
  std::optional<IdentityRow> held = row.identity ? find_identity(tx.db(), *row.identity) : std::nullopt;
  // A newer run may have taken the identity over.
  if (held && held->execution == row.id) {
    next.identity = IdentityClaim{.hash = *row.identity, .key = fresh.identity_key};
    held->run = fresh.run;
    held->fingerprint.reset();
  }
  ending.continued_as = next.id;
  end_execution(tx, found, ending);
  const QueueRow& queue = tx.queues().get(next.queue);
  static_cast<void>(insert_live(tx, next, queue, fresh));
  if (next.identity) {
    mark_superseded(tx, *row.identity, {.id = row.id, .status = Status::completed});
    hold_identity(tx, *row.identity, next.id, *held);
  }
  // Called even when the run has no events: its signal keys may have come from the run before it.
  carry_signals(tx, row.id, next.id, turn);
  tx.note_woken(queue.id);
}

}  // namespace hapax::store::sqlite
