// The verbs of the seam as functions: those that write on a WriteTransaction, those that read on a ReadTransaction.
#pragma once

#include "model/holder.hpp"
#include "store/set_aside.hpp"
#include "store/sqlite/guard_hints.hpp"
#include "store/sqlite/line.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/read_transaction.hpp"
#include "store/sqlite/retention.hpp"
#include "store/sqlite/write_transaction.hpp"
#include "store/store.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hapax::store::sqlite {

// admit.cpp
[[nodiscard]] Admission admit(WriteTransaction& tx, const NewExecution& item);
[[nodiscard]] std::vector<Admission> admit(WriteTransaction& tx, std::span<const NewExecution> items);
// For somebody who waits for its end: a row that is made is marked as waited for, and `waited` turns true.
[[nodiscard]] Admission admit(WriteTransaction& tx, const NewExecution& item, bool* waited);
// The row of a new execution; false when its id is live already. 1 INSERT.
struct Birth {
  int run = 1;
  Time run_at{};
  std::optional<Time> deadline;
  const BornRunning* running = nullptr;
  bool waited = false;
  std::string identity_key;  // told, though a later run holds the identity
};
[[nodiscard]] bool insert_live(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue,
                               const Birth& birth);

// admit_many.cpp
struct NewHolder {
  const NewExecution* item;
  const QueueRow* queue;
};
// hold_new_identity, and insert_live of such as go together, with identities that are theirs; so many as many_rows.hpp says.
// How many rows were made, from the first on, before one was there already. 1 INSERT.
[[nodiscard]] std::size_t hold_new_identities(WriteTransaction& tx, std::span<const NewHolder> holders);
[[nodiscard]] std::size_t insert_live_together(WriteTransaction& tx, std::span<const NewExecution> items,
                                               std::span<const QueueRow* const> queues, bool born_running);
// Whether both are nothing but a row in live, the same but for its id, queue, task, identity, parent, labels, input and
// claim; if they may be born running, for one session and in one queue.
[[nodiscard]] bool go_together(const NewExecution& one, const NewExecution& other);

// Ends a live one as cancelled, whatever it does; what has ended is passed over. 1 SELECT and the moves of an ending.
void terminate(WriteTransaction& tx, const Uuid& id, std::string_view reason);

// identities.cpp
[[nodiscard]] std::optional<IdentityRow> find_identity(Connection& db, const base::Digest& identity);
// Who holds an identity now. 2 or 3 SELECTs, 1 less with its row at hand.
[[nodiscard]] std::optional<Holding> find_holding(Connection& db, const base::Digest& identity, Time now);
// Store::has_expired. 1 or 2 SELECTs.
[[nodiscard]] bool has_expired(ReadTransaction& tx, std::string_view ns, const Uuid& id);
[[nodiscard]] std::optional<Holder> find_holder(Connection& db, const IdentityRow& row, Time now);
// The execution is the holder from now on, with the run, fingerprint and hold_for of `row`. 1 INSERT or UPDATE.
void hold_identity(WriteTransaction& tx, const base::Digest& identity, const Uuid& execution, const IdentityRow& row);
// The same for an identity that is not in the table; false, and nothing done, if it is. 1 INSERT.
[[nodiscard]] bool hold_new_identity(WriteTransaction& tx, const base::Digest& identity, const Uuid& execution,
                                     const IdentityRow& row);
// The identity that has the name (IdentityClaim::name).
[[nodiscard]] std::optional<base::Digest> name_owner(WriteTransaction& tx, const base::Digest& name);
void unhold_identity(WriteTransaction& tx, const base::Digest& identity);
void change_fingerprint(WriteTransaction& tx, const base::Digest& identity,
                        const std::optional<base::Digest>& fingerprint);
// A later run has taken over the identity of this holder, which has ended (1 UPDATE) or goes on without it (1 UPDATE,
// 1 INSERT).
void mark_superseded(WriteTransaction& tx, const base::Digest& identity, const Holder& holder);
// The record of an execution with that identity is being deleted. 1 SELECT, and 1 DELETE or UPDATE if it is the holder.
struct Released {
  Uuid execution;
  std::int64_t queue_id = 0;
  Status ended_as = Status::completed;
  Time ended_at{};
};
void release_identity(WriteTransaction& tx, const base::Digest& identity, const Released& released);
// Deletes up to `limit` tombstones whose time is over; returns how many.
int sweep_tombstones(WriteTransaction& tx, int limit);

// claim.cpp
[[nodiscard]] ClaimReply claim(WriteTransaction& tx, const ClaimRequest& request);
void promote_due(WriteTransaction& tx, const QueueRow& queue);

// claim_limited.cpp
// Adds what the request may have of one line of a queue with limits to `claims`, up to `limit` in all and at most `idle`.
// They count as started, but for their rows in live. Returns how long until a rate limit allows more.
[[nodiscard]] std::optional<Duration> take_limited(WriteTransaction& tx, line::Range range, const QueueRow& queue,
                                                   const ClaimRequest& request, std::size_t limit, int idle,
                                                   std::vector<Claim>& claims);
// Whether the queue's limits let anything start.
[[nodiscard]] bool limits_are_open(WriteTransaction& tx, const QueueRow& queue, const ClaimRequest& request, int idle);
// One parked execution of each key whose rate allows it now goes back into the line.
void unpark_allowed(WriteTransaction& tx, const QueueRow& queue);
// Until the rate of a key with parked executions allows its next start.
[[nodiscard]] std::optional<Duration> next_key_start(WriteTransaction& tx, const QueueRow& queue);
void sweep_key_rates(WriteTransaction& tx);

// finish.cpp
[[nodiscard]] FinishVerdict finish(WriteTransaction& tx, const Finish& finish);
[[nodiscard]] std::vector<FinishVerdict> finish(WriteTransaction& tx, std::span<const Finish> finishes);

// finish_many.cpp
// Whether it may be one of many that complete together: nothing but an outcome, and entries that start nothing.
[[nodiscard]] bool completes_plainly(const Finish& finish);
// So many as many_rows.hpp says. False, and nothing done, unless all run under their fences, in one queue, for one session,
// and nothing hangs on their ends: whoever adds to what end_execution does sees to it that this is looked at here. 2 SELECTs
// (1 more for each queue and session of the transaction), 1 INSERT, 1 DELETE, and those of their entries.
[[nodiscard]] bool complete_together(WriteTransaction& tx, std::span<const Finish> finishes);

// rehearsal.cpp
// In a transaction that is rolled back.
void rehearse(WriteTransaction& tx);

// sessions.cpp
void open_session(WriteTransaction& tx, const NewSession& session);
[[nodiscard]] BeatReply beat(WriteTransaction& tx, const Beat& beat);
void close_session(WriteTransaction& tx, const Uuid& session);
// What goes back into the line when the session goes: all that it runs but guards.
[[nodiscard]] std::vector<Uuid> claimed_by(Connection& db, const Uuid& session, int limit);
[[nodiscard]] std::vector<Uuid> cancel_requests(ReadTransaction& tx, const Uuid& session);
[[nodiscard]] std::vector<SessionInfo> sessions(ReadTransaction& tx);

// sweep.cpp
[[nodiscard]] SweepReport sweep(WriteTransaction& tx, const SweepRequest& request, RetentionCursor& cursor,
                                SetAside& aside);

// read.cpp
[[nodiscard]] std::optional<Execution> get(ReadTransaction& tx, const Uuid& id);
[[nodiscard]] std::optional<Outcome> outcome(ReadTransaction& tx, const Uuid& id);
[[nodiscard]] std::vector<Attempt> attempts(ReadTransaction& tx, const Uuid& id);

// guards.cpp
[[nodiscard]] std::optional<Guard> guard(ReadTransaction& tx, const base::Digest& identity);
// The same of one that has completed, without what Store::guard_outcome leaves out, or that was never begun; false when it
// may be there and is anything else. 1 SELECT without a transaction around it; 2 after a hint in vain.
[[nodiscard]] bool find_outcome(SingleRead& read, GuardHints& hints, const base::Digest& identity,
                                std::optional<Guard>& found);
// 1 SELECT and 5 DELETEs.
[[nodiscard]] bool forget_guard(WriteTransaction& tx, const Uuid& id);
// A running guard goes to another caller, under the next fence; returns that. 1 SELECT, 1 INSERT, 2 UPDATEs.
[[nodiscard]] std::int64_t take_over(WriteTransaction& tx, const Uuid& id, const NewExecution& by);

// list.cpp
[[nodiscard]] std::vector<Execution> list(ReadTransaction& tx, const ListQuery& query);

// act.cpp
// Each with somebody's name: 1 INSERT more for what it did.
[[nodiscard]] CancelResult cancel(WriteTransaction& tx, const Uuid& id, std::string_view reason, const Actor& by);
// end_execution of one that did not end by itself: child workflows that do not outlive it are cancelled. Of a workflow that
// has begun 1 SELECT more, and a cancel for each.
void end_by_others(WriteTransaction& tx, FoundLive& found, const Ending& ending);
[[nodiscard]] RetryResult retry(WriteTransaction& tx, const RetryRequest& request, const Actor& by);
[[nodiscard]] bool discard(WriteTransaction& tx, const Uuid& id, const Actor& by);
[[nodiscard]] bool annotate(WriteTransaction& tx, const Uuid& id, std::string_view note, const Actor& by);

// queues.cpp
void configure_queue(WriteTransaction& tx, const QueueRef& queue, const QueuePatch& patch);
[[nodiscard]] std::vector<QueueInfo> queues(ReadTransaction& tx, std::string_view ns);
[[nodiscard]] int purge(WriteTransaction& tx, const QueueRef& queue, int limit, const Actor& by);
[[nodiscard]] int move(WriteTransaction& tx, const QueueRef& from, const QueueRef& to, int limit, const Actor& by);
void count_finished(WriteTransaction& tx, const QueueCount& count);

// catalogue.cpp
// Before an admission: throws CatalogueChanged when an item was made by an older catalogue. 1 SELECT for each namespace.
void check_catalogues(WriteTransaction& tx, std::span<const NewExecution> items);
[[nodiscard]] StoredCatalogue catalogue(ReadTransaction& tx, std::string_view ns);
// Its tasks alone, as a change sees them.
[[nodiscard]] StoredCatalogue tasks_of(Connection& db, std::string_view ns);
[[nodiscard]] TaskEntry declare_task(WriteTransaction& tx, const TaskEntry& entry);
[[nodiscard]] bool put_task(WriteTransaction& tx, const TaskEntry& entry, std::string_view actor);
[[nodiscard]] bool remove_task(WriteTransaction& tx, std::string_view ns, std::string_view name,
                               std::string_view actor);
[[nodiscard]] bool put_setting(WriteTransaction& tx, std::string_view ns, const Setting& setting,
                               std::string_view actor);
// audit.cpp
[[nodiscard]] std::vector<AuditLine> audit(ReadTransaction& tx, const AuditQuery& query);
// Everything but `at`, which is the transaction's instant. 1 INSERT.
void write_audit(WriteTransaction& tx, const AuditLine& line);
// What somebody did to an execution: nothing of what hapax does itself. Live or not, it is there.
struct Act {
  const Actor& by;
  std::string_view action;
  Uuid execution;
  std::string_view detail;
};
void write_act(WriteTransaction& tx, const Act& act);
// Deletes up to `limit` lines that are older than they are kept; returns how many.
int sweep_audit(WriteTransaction& tx, int limit);

// tokens.cpp
[[nodiscard]] Token add_token(WriteTransaction& tx, const NewToken& token, const Actor& by);
[[nodiscard]] std::vector<Token> tokens(ReadTransaction& tx, std::string_view ns);
[[nodiscard]] std::optional<Token> find_token(ReadTransaction& tx, const base::Digest& hash);
[[nodiscard]] bool has_tokens(ReadTransaction& tx);
[[nodiscard]] bool revoke_token(WriteTransaction& tx, std::string_view ns, const Uuid& id, const Actor& by);
[[nodiscard]] bool touch_token(WriteTransaction& tx, const Uuid& id);

// journal.cpp
[[nodiscard]] FinishVerdict journal_append(WriteTransaction& tx, const JournalEntry& entry);
[[nodiscard]] std::vector<JournalEntry> journal_read(ReadTransaction& tx, const Uuid& execution);
[[nodiscard]] FinishVerdict relabel(WriteTransaction& tx, const Held& held, const Labels& labels);

[[nodiscard]] History history(ReadTransaction& tx, const HistoryRequest& request);

// turn.cpp
[[nodiscard]] AdvanceReply advance(WriteTransaction& tx, const Advance& turn);
[[nodiscard]] std::vector<AdvanceReply> advance(WriteTransaction& tx, std::span<const Advance> turns);
// An entry that is to be appended; it must stay.
struct JournalRow {
  Uuid execution;
  std::int64_t fence = 0;
  const JournalEntry* entry = nullptr;
};
void add_rows(std::vector<JournalRow>& rows, const Uuid& execution, std::int64_t fence,
              std::span<const JournalEntry> entries);
// All or, when a position is taken, none. What they start is not started yet. An INSERT for 32, 8 or 1.
[[nodiscard]] bool append_rows(WriteTransaction& tx, std::span<const JournalRow> rows);
// 1 DELETE each.
void take_back_rows(WriteTransaction& tx, std::span<const JournalRow> rows);
// append_rows for one execution.
[[nodiscard]] bool append_entries(WriteTransaction& tx, const Uuid& execution, std::int64_t fence,
                                  std::span<const JournalEntry> entries);
// Admits what the appended entries start, and waits for it. An admission each, and 1 INSERT. It may change or even end
// the row of the execution itself.
[[nodiscard]] bool starts_something(std::span<const JournalEntry> entries);
void start_children(WriteTransaction& tx, const Uuid& execution, std::span<const JournalEntry> entries);
void plant(WriteTransaction& tx, const Uuid& execution, const Seed& seed);
// Ends the run, and makes the next one. What ends it, and an admission with 1 SELECT, 1 INSERT and 1 UPDATE for its
// identity; carry_signals if it was ever sent anything.
void continue_run(WriteTransaction& tx, FoundLive& found, Ending ending, const Turn& turn);

// signal.cpp
[[nodiscard]] SignalResult signal(WriteTransaction& tx, const Signal& signal, const Actor& by);

// activities.cpp
[[nodiscard]] ActivityReply change_activity(WriteTransaction& tx, const ActivityChange& change);
[[nodiscard]] std::vector<ActivityState> activities(ReadTransaction& tx, const ActivityQuery& query);
[[nodiscard]] std::vector<ActivityVersion> activity_versions(ReadTransaction& tx, std::string_view ns,
                                                             std::string_view id);
[[nodiscard]] std::int64_t activity_generation(ReadTransaction& tx, std::string_view ns);
[[nodiscard]] DueActivities due_activities(ReadTransaction& tx, int limit);

// sql_prompt.cpp
[[nodiscard]] TextTable run_sql(const std::string& path, std::string_view statement, int max_rows);

// doctor.cpp
[[nodiscard]] std::vector<Finding> doctor(Writer& writer, ReadTransaction& tx);

}  // namespace hapax::store::sqlite
