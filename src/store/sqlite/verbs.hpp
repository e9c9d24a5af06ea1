// The verbs of store.hpp as functions: verbs that write take a WriteTransaction, verbs that read a ReadTransaction. A
// cost such as "1 SELECT" counts SQL statements.
#pragma once

#include "model/holder.hpp"
#include "store/set_aside.hpp"
#include "store/sqlite/claim_order.hpp"
#include "store/sqlite/guard_hints.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/read_transaction.hpp"
#include "store/sqlite/retention.hpp"
#include "store/sqlite/writer.hpp"
#include "store/store.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hapax::store::sqlite {

// admit.cpp
[[nodiscard]] Admission admit(WriteTransaction& tx, const NewExecution& item);
[[nodiscard]] std::vector<Admission> admit(WriteTransaction& tx, std::span<const NewExecution> items);
// Admits an execution whose end a workflow waits for. If a row is made, it is marked as waited for and `waited` becomes
// true.
[[nodiscard]] Admission admit(WriteTransaction& tx, const NewExecution& item, bool* waited);
// Called before an admission: throws CatalogueChanged when an item was made by an older catalogue. 1 SELECT per
// namespace.
void check_catalogues(WriteTransaction& tx, std::span<const NewExecution> items);
// StoredCatalogue::version of the namespace. 1 SELECT.
[[nodiscard]] std::int32_t catalogue_version(Connection& db, std::string_view namespace_name);
struct NewRow {
  int run = 1;
  Time run_at{};
  std::optional<Time> deadline;
  const BornRunning* running = nullptr;
  bool waited = false;
  std::string identity_key;  // shown for the execution, even when a later run holds the identity
};
// Inserts the row of a new execution; false when its id is live already. 1 INSERT.
[[nodiscard]] bool insert_live(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue,
                               const NewRow& fresh);

// admit_identity.cpp
// Ends a live execution as cancelled, running or not; an execution that has ended is left as it is. 1 SELECT and the
// cost of end_execution.
void terminate(WriteTransaction& tx, const Uuid& id, std::string_view reason);

// identities.cpp
[[nodiscard]] std::optional<IdentityRow> find_identity(Connection& db, const base::Digest& identity);
// The present holder of an identity. 2 or 3 SELECTs; 1 fewer when the identity's row is given.
[[nodiscard]] std::optional<Holding> find_holding(Connection& db, const base::Digest& identity, Time now);
// Store::has_expired. 1 or 2 SELECTs.
[[nodiscard]] bool has_expired(ReadTransaction& tx, std::string_view namespace_name, const Uuid& id);
[[nodiscard]] std::optional<Holder> find_holder(Connection& db, const IdentityRow& row, Time now);
// Makes the execution the holder, with the run, fingerprint and hold_for of `row`. 1 INSERT or UPDATE.
void hold_identity(WriteTransaction& tx, const base::Digest& identity, const Uuid& execution, const IdentityRow& row);
// The identity that has the name (IdentityClaim::name).
[[nodiscard]] std::optional<base::Digest> name_owner(WriteTransaction& tx, const base::Digest& name);
void unhold_identity(WriteTransaction& tx, const base::Digest& identity);
void change_fingerprint(WriteTransaction& tx, const base::Digest& identity,
                        const std::optional<base::Digest>& fingerprint);
// Marks a holder whose identity a later run has taken over. The holder has ended (1 UPDATE), or runs on without the
// identity (1 UPDATE, 1 INSERT).
void mark_superseded(WriteTransaction& tx, const base::Digest& identity, const Holder& holder);
struct Released {
  Uuid execution;
  std::int64_t queue_id = 0;
  Status ended_as = Status::completed;
  Time ended_at{};
};
// Called when the record of an execution with that identity is deleted. 1 SELECT, and 1 DELETE or UPDATE if that
// execution is the holder.
void release_identity(WriteTransaction& tx, const base::Digest& identity, const Released& released);
// Deletes up to `limit` tombstones whose time is over; returns how many were deleted.
int sweep_tombstones(WriteTransaction& tx, int limit);

// claim.cpp
[[nodiscard]] ClaimReply claim(WriteTransaction& tx, const ClaimRequest& request);
void promote_due(WriteTransaction& tx, const QueueRow& queue);

// claim_limited.cpp Adds the claimable executions of one line range of a queue with limits to `claims`, up to `limit`
// in all and at most `idle` of them. The limits count these claims as started; the rows in live are not changed yet.
// Returns how long until a rate limit allows more.
[[nodiscard]] std::optional<Duration> take_limited(WriteTransaction& tx, claim_order::Range range,
                                                   const QueueRow& queue, const ClaimRequest& request,
                                                   std::size_t limit, int idle, std::vector<Claim>& claims);
// Whether the queue's limits allow any start now.
[[nodiscard]] bool limits_are_open(WriteTransaction& tx, const QueueRow& queue, const ClaimRequest& request, int idle);
// Returns parked executions of each key whose rate allows a start now to the claim order.
void unpark_allowed(WriteTransaction& tx, const QueueRow& queue);
// How long until the rate of a key with parked executions allows its next start.
[[nodiscard]] std::optional<Duration> next_key_start(WriteTransaction& tx, const QueueRow& queue);
void sweep_key_rates(WriteTransaction& tx);

// finish.cpp
[[nodiscard]] FinishVerdict finish(WriteTransaction& tx, const Finish& finish);
[[nodiscard]] std::vector<FinishVerdict> finish(WriteTransaction& tx, std::span<const Finish> finishes);

// finish_many.cpp
// Whether the finish may be one of many that complete together: a plain outcome, with journal entries that start
// nothing.
[[nodiscard]] bool completes_plainly(const Finish& finish);
// Completes as many executions as many_rows.hpp allows in one statement each. Returns false and does nothing unless all
// run under their fences, in one queue, for one session, and their ends affect nothing else. A change that adds a side
// effect to end_execution must make this function check for it. 2 SELECTs (1 more for each queue and session that is
// new to the transaction), 1 INSERT, 1 DELETE, and the cost of the journal entries.
[[nodiscard]] bool complete_together(WriteTransaction& tx, std::span<const Finish> finishes);

// warm_up.cpp Runs the statements that a worker uses most; the caller rolls the transaction back.
void warm_up(WriteTransaction& tx);

// sessions.cpp
void open_session(WriteTransaction& tx, const NewSession& session);
[[nodiscard]] BeatReply beat(WriteTransaction& tx, const Beat& beat);
void close_session(WriteTransaction& tx, const Uuid& session);
// The executions that become pending again when the session is closed or lost: all that it runs except guards.
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
// Finds a completed guard, without the fields that Store::guard_outcome leaves out. `found` stays empty when no guard
// holds the identity. Returns false when the guard may be in any other state. 1 SELECT without a transaction; 2 after a
// wrong hint.
[[nodiscard]] bool find_outcome(SingleRead& read, GuardHints& hints, const base::Digest& identity,
                                std::optional<Guard>& found);
// 1 SELECT and 5 DELETEs.
[[nodiscard]] bool forget_guard(WriteTransaction& tx, const Uuid& id);
// Gives a running guard to another caller under the next fence, which is returned. 1 SELECT, 1 INSERT, 2 UPDATEs.
[[nodiscard]] std::int64_t take_over(WriteTransaction& tx, const Uuid& id, const NewExecution& by);

// list.cpp
[[nodiscard]] std::vector<Execution> list(ReadTransaction& tx, const ListQuery& query);

// cancel_retry.cpp
// Each act with a known actor costs 1 INSERT more, for the audit line.
[[nodiscard]] CancelResult cancel(WriteTransaction& tx, const Uuid& id, std::string_view reason, const Actor& by);
// Ends an execution that does not end by its worker's finish, and cancels its child workflows, except those that
// outlive their parent. The cost of end_execution; for a workflow that has begun, 1 SELECT more and a cancel for each
// child.
void end_and_close_children(WriteTransaction& tx, FoundLive& found, const Ending& ending);
[[nodiscard]] RetryResult retry(WriteTransaction& tx, const RetryRequest& request, const Actor& by);
[[nodiscard]] bool discard(WriteTransaction& tx, const Uuid& id, const Actor& by);
[[nodiscard]] bool annotate(WriteTransaction& tx, const Uuid& id, std::string_view note, const Actor& by);

// queues.cpp
void configure_queue(WriteTransaction& tx, const QueueRef& queue, const QueuePatch& patch);
[[nodiscard]] std::vector<QueueInfo> queues(ReadTransaction& tx, std::string_view namespace_name);
[[nodiscard]] int purge(WriteTransaction& tx, const QueueRef& queue, int limit, const Actor& by);
[[nodiscard]] int move(WriteTransaction& tx, const QueueRef& from, const QueueRef& to, int limit, const Actor& by);
void count_finished(WriteTransaction& tx, const QueueCount& count);

// catalogue.cpp
[[nodiscard]] StoredCatalogue catalogue(ReadTransaction& tx, std::string_view namespace_name);
// The namespace's tasks alone, as the write transaction sees them.
[[nodiscard]] StoredCatalogue tasks_of(Connection& db, std::string_view namespace_name);
[[nodiscard]] TaskEntry declare_task(WriteTransaction& tx, const TaskEntry& entry);
[[nodiscard]] bool put_task(WriteTransaction& tx, const TaskEntry& entry, std::string_view actor);
[[nodiscard]] bool remove_task(WriteTransaction& tx, std::string_view namespace_name, std::string_view name,
                               std::string_view actor);
[[nodiscard]] bool put_setting(WriteTransaction& tx, std::string_view namespace_name, const Setting& setting,
                               std::string_view actor);
// audit.cpp
[[nodiscard]] std::vector<AuditLine> audit(ReadTransaction& tx, const AuditQuery& query);
// Writes every field but `at`, which is the transaction's instant. 1 INSERT.
void write_audit(WriteTransaction& tx, const AuditLine& line);
// An actor's act on an execution. write_act writes nothing when the actor is unknown (hapax itself). The execution must
// be in live or history.
struct Act {
  const Actor& by;
  std::string_view action;
  Uuid execution;
  std::string_view detail;
};
void write_act(WriteTransaction& tx, const Act& act);
// Deletes up to `limit` lines that are older than limits::audit_kept; returns how many were deleted.
int sweep_audit(WriteTransaction& tx, int limit);

// tokens.cpp
[[nodiscard]] Token add_token(WriteTransaction& tx, const NewToken& token, const Actor& by);
[[nodiscard]] std::vector<Token> tokens(ReadTransaction& tx, std::string_view namespace_name);
[[nodiscard]] std::optional<Token> find_token(ReadTransaction& tx, const base::Digest& hash);
[[nodiscard]] bool has_tokens(ReadTransaction& tx);
[[nodiscard]] bool revoke_token(WriteTransaction& tx, std::string_view namespace_name, const Uuid& id, const Actor& by);
[[nodiscard]] bool touch_token(WriteTransaction& tx, const Uuid& id);

// journal.cpp
[[nodiscard]] FinishVerdict journal_append(WriteTransaction& tx, const JournalEntry& entry);
[[nodiscard]] std::vector<JournalEntry> journal_read(ReadTransaction& tx, const Uuid& execution);
[[nodiscard]] FinishVerdict relabel(WriteTransaction& tx, const Held& held, const Labels& labels);

[[nodiscard]] History history(ReadTransaction& tx, const HistoryRequest& request);

// turn.cpp
[[nodiscard]] AdvanceReply advance(WriteTransaction& tx, const Advance& turn);
[[nodiscard]] std::vector<AdvanceReply> advance(WriteTransaction& tx, std::span<const Advance> turns);
// A journal entry to append. The entry must outlive the row.
struct JournalRow {
  Uuid execution;
  std::int64_t fence = 0;
  const JournalEntry* entry = nullptr;
};
void add_rows(std::vector<JournalRow>& rows, const Uuid& execution, std::int64_t fence,
              std::span<const JournalEntry> entries);
// Appends all rows or, when a position is taken, none. Executions that the entries start are not admitted yet. 1 INSERT
// for 32, 8 or 1 rows.
[[nodiscard]] bool append_rows(WriteTransaction& tx, std::span<const JournalRow> rows);
// 1 DELETE per row.
void take_back_rows(WriteTransaction& tx, std::span<const JournalRow> rows);
// append_rows for the entries of one execution.
[[nodiscard]] bool append_entries(WriteTransaction& tx, const Uuid& execution, std::int64_t fence,
                                  std::span<const JournalEntry> entries);
[[nodiscard]] bool starts_something(std::span<const JournalEntry> entries);
// Admits the executions that the appended entries start, and adds the entries as waiters. An admission may change or
// even end `execution` itself. The cost of an admission each, and 1 INSERT.
void start_children(WriteTransaction& tx, const Uuid& execution, std::span<const JournalEntry> entries);
void seed_journal(WriteTransaction& tx, const Uuid& execution, const Seed& seed);
// Ends a workflow's run and makes its next run. The cost of end_execution, and of an admission with 1 SELECT, 1 INSERT
// and 1 UPDATE for its identity, and carry_signals.
void continue_run(WriteTransaction& tx, FoundLive& found, Ending ending, const Turn& turn);

// signals.cpp
[[nodiscard]] SignalResult signal(WriteTransaction& tx, const Signal& signal, const Actor& by);

// activities.cpp
[[nodiscard]] ActivityReply change_activity(WriteTransaction& tx, const ActivityChange& change);
[[nodiscard]] std::vector<ActivityState> activities(ReadTransaction& tx, const ActivityQuery& query);
[[nodiscard]] std::vector<ActivityVersion> activity_versions(ReadTransaction& tx, std::string_view namespace_name,
                                                             std::string_view id);
[[nodiscard]] std::int64_t activity_generation(ReadTransaction& tx, std::string_view namespace_name);
[[nodiscard]] DueActivities due_activities(ReadTransaction& tx, int limit);

// sql_prompt.cpp
[[nodiscard]] TextTable run_sql(const std::string& path, std::string_view statement, int max_rows);

// doctor.cpp
[[nodiscard]] std::vector<Finding> doctor(Writer& writer, ReadTransaction& tx);

}  // namespace hapax::store::sqlite
