// Store: the seam between the engine and a database.
//
// Blocking, batch-shaped, one transaction a call, domain verbs. Time is the store's own: callers pass durations. Every
// verb may be called from any thread; a store serialises its writers inside. A call returns after commit (durably: an
// acknowledgement survives power loss on the SQL stores) or throws, having changed nothing, with two exceptions:
// CommitUnknown, when the connection broke at commit and reading back failed too; and an exchange whose claim meets
// queues with limits, where outcomes are committed first and each such queue is a transaction of its own.
//
// The three implementations behave alike: tests/conformance/ runs on all, and the memory store is the model that the
// property tests compare the others with. What they do not share is a flag in Capabilities, never an
// `if (sqlite)` above the seam.
//
// The rules all stores follow, in one place:
// - A live execution is ready (due, claimable), delayed (run_at in the future; also after a retry or snooze) or running.
//   Due delayed ones become ready within the claim that looks for them. Both ready and delayed are Status::pending.
// - Claim order within a queue: priority descending, run_at, id. Queues are looked at in the order the request names.
//   Paused queues are passed over. attempt and fence are raised by one at claim.
// - A finish is accepted only if the execution is running under exactly that fence. A repeated finish whose effect is
//   already recorded under that fence answers accepted and changes nothing.
// - released: attempt - 1, ready at once, run_at as before. snoozed: attempt - 1, run_at = now + delay. retry: run_at =
//   now + delay. In all three the fence stays, the session is cleared and cancel_requested turns into cancelled: a
//   retry, snooze or release of an execution whose cancellation was asked for ends it as cancelled.
// - A finish that ends an execution moves it from live to history with expires_at = now + the queue's retention (or
//   failed_retention for failed, cancelled, timed_out).
// - Failed, retried, lost and snoozed attempts are written to attempts; the last attempt of a finished execution is
//   told by its history row, so that a task that just works costs no attempts row.
// - A session whose lease is over is lost when a sweep sees it: its running executions become ready again (lost + 1,
//   fence unchanged, an attempts row "lost"), or failed with error type "WorkerLost" when lost reaches max_lost; with
//   cancel_requested they become cancelled. lost attempts do count in `attempt`, but never make an execution fail by
//   max_attempts. The session's row is deleted; a later beat of it answers session_lost.
// - A deadline that passes makes a pending or running execution timed_out at the next sweep, error type
//   "DeadlineExceeded"; a due deadline is also checked at claim: such an execution is never handed out.
// - Executions that were lost before (lost > 0) are claimed alone (ClaimRequest::alone).
// - Identities: a row per held identity. holder_of (model/holder.hpp) says whether it is held: while its execution is
//   live, or in history and neither expired nor a stub, or for hold_for after its end (compared on read; hold_for is
//   made at admission, by the request or else its queue). decide_admission (model/admission.hpp) is the rule for a taken
//   one. Two items of one batch with the same identity are admitted in order, the second meets the first. A holder that
//   holds no more is no holder: the new execution's run is 1. A live holder that is terminated ends as cancelled
//   ("terminated by a newer request") in the admitting transaction, also when it runs (its worker's later writes are
//   stale). A pending holder that is replaced keeps id, run, fence, created_at and place among its limit key; it gets the
//   request's input, run_at and deadline, and its identity the request's fingerprint; one of another task or queue is
//   terminated instead. A new run beside a live holder (throttle, debounce) takes the identity over; the earlier one runs
//   on and no longer holds it. Under debounce and keep_last it is overtaken: a retry, snooze, release or loss ends it as
//   cancelled, as if that had been asked for, but its worker is not told.
// - Retention (model/retention.hpp is the rule, by the settings when it ends): under 0, what completes is a stub: its
//   input is told as "null", and it holds no identity but for hold_for.
// - An admit whose id is live already, or whose identity is held by that very id, is an earlier one asked again: it
//   answers created with the present status and changes nothing.
// - Draining queues answer queue_draining only where a new execution would have been made: a held identity answers as
//   always. retry and move are an operator's acts and ignore draining.
// - The ids in one call are distinct, in every verb; only identities may repeat inside one admit.
// - A repeated finish is one whose execution no longer runs, still has that fence, and left it by a finish of the same
//   kind (the store keeps the kind until the next claim, in history too). What the store itself took back or ended (lost
//   session, beat, close, deadline, termination) was not a finish: any finish under that fence is stale.
// - completed and failed stand even if cancellation was asked for. A finish that turns into cancelled does not lower
//   attempt and is the last attempt, "cancelled"; its error is {"Cancelled", the reason cancel() gave}. A cancelled
//   finish gets the same, with the detail of its error, if it has one; but of a workflow, and where no reason was given,
//   its error stands. The first reason counts.
// - Dead letters are the failed ones only (not cancelled, not timed_out). retry and discard take one off the list.
// - session, worker and started_at: of the running attempt, or of the one that ended the execution; none while pending
//   and for what ended while pending or lost. started_at is the claim's time while running and now - ran_for after a
//   finish. progress is told only while running and starts anew with each claim. error is told only of what finished.
// - attempts() goes by fence: snoozed attempts share their number with the one that follows. A lost one is always a row
//   of its own, also when the loss ends the execution. Released ones (finish, beat, close) leave no trace.
// - Nothing runs under a session that is not there: a claim for an unknown session gives nothing, born running for one
//   is admitted as pending. Born running needs run_at <= now and no pending execution of the queue with run_at <= now,
//   whatever its deadline, task or losses. open_session of a known id renews it.
// - Guards (SPEC §8) are executions of kind guard, always with an identity and born running, whatever their queue: never
//   pending, so never claimed; finished as completed or failed only. One whose session is not there, or its lease over,
//   gets session_gone where it would have been made, or would have taken over. A guard that is lost is not queued again:
//   when its session goes (sweep, close), or a beat does not know it, it runs on under none, with no attempts row and no
//   loss counted. A request that meets a running guard whose session is gone, or its lease over by the store's clock at
//   that moment, takes it over, unless it has no attempt_timeout: same execution, attempt + 1, fence + 1, lost + 1, an
//   attempts row "lost", the request's session, input, attempt_timeout and fingerprint. Of many who ask, one does.
//   open_session of a session that was lost makes what still runs under it its own again. Finish::keep outranks the
//   queue's retention; what does not hold its identity is a stub. A guard is no dead letter, and retry answers guarded.
// - beat: `held` is compared by id and fence. An unknown session answers session_lost and nothing else. Progress under
//   another fence or session is ignored; lease 0 means the last one asked for. Throughput figures come from beats' counts.
// - claim: suspects_due is told only when `alone` is false, next_due only when fewer than `limit` were given and no
//   suspect was; it may ignore `tasks`. Suspects are looked for in all queues first. A passed deadline (<= now) is passed
//   over, the sweep ends it. In an exchange the claim sees what the finishes made ready.
// - sweep: lost sessions, then deadlines, then retention. requeued and dead count as said; the cancelled in neither.
// - Expired (expires_at <= now) means absent to every read and act, swept or not. A swept execution takes its attempts,
//   journal and, if it is the holder, its identity with it; unless hold_for is not over: then the identity becomes a
//   tombstone (hold_until, ended_as, ended_at) that a later sweep deletes. holding() tells of tombstones too.
// - Limits (model/claim_limits.hpp is the rule): a queue has them when its settings do, or once an execution with a limit
//   key was admitted to it. A claim looks at such a queue in its place among the request's queues, takes at most
//   ClaimRequest::idle from it (all such queues together), and locks it against other claims meanwhile. Counted are the
//   executions that run, whatever their session. One that only its key holds back is parked: pending, not in the line,
//   told as parked. Parked executions of a key go back into the line (by claim order the first of each task among
//   parked_look; of an ordered key one that has been claimed before, else the lowest sequence) when one of that key ends or
//   is moved away; an unordered one's also when one stops running; and, with a key rate, at each claim for each key whose
//   numbers have room. None goes back that would only be parked again. When a queue's limits change, all its parked ones
//   do; when a rate changes, what was spent under the old one counts as arrival_under (model/rate.hpp) says. Ordered keys: the sequence is given at admission, at retry and at move to
//   another queue. A suspect of a queue with limits is claimed alone as ever, and only if the limits allow it. Nothing is
//   born running in a queue with limits, nor with a limit key. next_due is also when a rate limit allows more.
// - retry: identity_held if the identity's holder is another execution, whatever its status. The new run's deadline is
//   as long from now as the old one's was from its creation. `existing` of created is the new id.
// - move from a queue to itself moves nothing (0). Both queues are in one namespace. Of an ordered key the lowest sequences
//   go first, whatever state they are in, and join the tail of their key in that order; so does each batch of it.
// - Text that comes from handlers and operators (errors, notes, progress messages, reasons) is made storable by the
//   store (encode_error; escape_invalid and keep_head): it never makes a call fail.
// - Workflows (kind workflow). The store never ends one that has been claimed before for a cancellation: cancel() sends it
//   an event, sets cancel_requested and answers requested; a retry, snooze, release or loss under cancel_requested is what
//   it would be without. One that was never claimed is cancelled at once, like a task.
// - Events: each raises the live row's inbox by one, which is the event's number, and makes its execution due at once if
//   it left its last fence by `waiting` and is not due. Events of ended executions are dropped. expired: as journal.
// - Waiters: an execution started by a journal entry, or met by it, is waited for by that entry. When it ends, however,
//   each of its waiters that is live gets `ended` with status, result and error. One that has already ended when it is met
//   tells so at once, in the same transaction; a tombstone is refused with ResultExpired. Every other answer than created
//   and deduplicated is refused, with the error's name as its type (TaskAlreadyExists, TaskAlreadyCompleted,
//   TaskAlreadyFinished, IdempotencyMismatch, QueueDraining). A retried or replaced run is not waited for; a continued
//   one passes its waiters on. An execution may wait for another twice, at two positions.
// - waiting: pending, attempt - 1, lost = 0, no attempts row; run_at as Turn says (never_due when it says nothing),
//   `waiting` told while pending. Progress is kept. continued: like completed, with continued_as; next's identity is the
//   old one's, no fingerprint, run + 1; parent, labels, waiters, unused signals and a cancel it has not seen pass on.
//   A waiting, continued, or any other finish with a turn whose entries cannot be appended (a taken position) is stale.
// - Advance: as journal_append, all entries of one or none; clears_lost sets lost to 0.
// - Seed: entries and events stand in journal and inbox when the execution is admitted.
// - Audit: a verb that is told who acts writes a line for each execution it did something to (cancelled or requested,
//   created, discarded, annotated, accepted), in the same transaction; purge and move one for the call, if it did
//   anything. Lines are kept for limits::audit_kept and then deleted by the sweep with retention.
// - Activities (model/activity_state.hpp): the store keeps their state and does not read their definitions. A change whose
//   revision is not the present one does nothing. One that is removed is absent to every read; made again it goes on with
//   its uuid, versions, counts and revisions. An applied change with a revision raises it by one; one without a revision is
//   applied if the activity is there. `admit` is done first; who belongs to a run that is there already is not started
//   again, and others are stopped only for a run that was created. Of `admit`, the runs are counted (model::tally); with one that was created,
//   or with `started` in `add`, last_started is now. A paused one and one of kind event has no next_due, whatever a change says. A run whose `continued_as`
//   is set gave no result. The generation of a namespace grows with every definition, pause and removal there.
// - Listener: what happened between listen() and wait() counts; interrupt() ends the present wait or else the next one.
#pragma once

#include <hapax/error.hpp>

#include "model/activity_state.hpp"
#include "model/audit.hpp"
#include "model/guard.hpp"
#include "model/holder.hpp"
#include "model/token.hpp"
#include "model/turn.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::store {

using namespace hapax::model;

struct Capabilities {
  bool durable = false;               // survives the process
  bool shared = false;                // several processes may use it
  bool lends_transaction = false;     // transaction(fn): SQLite, PostgreSQL
  bool attaches_transaction = false;  // attach(connection): PostgreSQL
  bool speaks_sql = false;            // sql(): SQLite, PostgreSQL
  bool remote = false;                // a server: a call is a round trip, and serves others meanwhile
};

struct StoreInfo {
  std::string backend;   // "memory", "sqlite", "postgresql"
  std::string version;   // of the database library or server
  std::string location;  // for people; passwords removed
  int schema_version = 0;
  Capabilities capabilities;
  std::string durability;  // a setting of the database that is weaker than what this store states for itself; or empty
};

// A transaction of the store's database in which a caller writes too (SPEC D9, D10). Used by the thread that has it,
// while its transaction is open.
class Transaction {
 public:
  virtual ~Transaction() = default;
  [[nodiscard]] virtual std::vector<Admission> admit(std::span<const NewExecution> items) = 0;
  // A stale finish leaves the transaction uncommittable and throws StaleLease.
  virtual void finish(const Finish& finish) = 0;
  // Likewise.
  virtual void advance(const Advance& turn) = 0;
  // sqlite3* or PGconn*.
  [[nodiscard]] virtual void* native() = 0;
};

// Tells of changes that other processes made. A hint: polling is what is correct. One thread waits; any may interrupt.
class Listener {
 public:
  virtual ~Listener() = default;
  // Returns true when something may have changed, false after `at_most` with no sign of it or after interrupt().
  virtual bool wait(Duration at_most) = 0;
  virtual void interrupt() = 0;
};

struct TextTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::optional<std::string>>> rows;
  std::vector<bool> plain;  // columns of numbers or of true and false, by their type in the database
  bool truncated = false;
};

struct Finding {
  enum class Level : std::uint8_t { ok, note, warning, problem };
  Level level = Level::ok;
  std::string subject;
  std::string detail;
  std::string advice;
};

// From try_admit(): somebody's open transaction has an identity that was asked for. Nothing was changed.
class Blocked : public Error {
 public:
  explicit Blocked(const std::string& message) : Error("StoreBusy", message) {}
};

// From the verbs that admit: a request was made by an older catalogue than the store's (NewExecution::catalogue_version).
// Nothing was changed. The caller reads the catalogue, makes its requests again and admits those.
class CatalogueChanged : public Error {
 public:
  explicit CatalogueChanged(const std::string& message) : Error("StoreBusy", message) {}
};

class Store {
 public:
  virtual ~Store() = default;

  [[nodiscard]] virtual StoreInfo info() = 0;
  [[nodiscard]] virtual Time now() = 0;

  // ---- The path: admission → claim → outcome -------------------------------------------------------------------
  // One transaction for the whole span (at most limits::bulk_batch items): all of it or none. Queues are made on first
  // use. When somebody's open transaction is about to take one of the identities, the whole span waits for it, up to 30 s,
  // and then throws StoreBusy. Throws CatalogueChanged when one of the items was made by an older catalogue.
  [[nodiscard]] virtual std::vector<Admission> admit(std::span<const NewExecution> items) = 0;
  // The same for a batch that must not be held up by one item (SPEC D10): throws Blocked rather than wait for somebody's
  // open transaction. The caller then admits each item alone, where only the blocked one waits.
  [[nodiscard]] virtual std::vector<Admission> try_admit(std::span<const NewExecution> items) { return admit(items); }
  // Outcomes and the next claim in one transaction (and one round trip where the store can). `claim` may be null.
  [[nodiscard]] virtual Exchange exchange(std::span<const Finish> finishes, const ClaimRequest* claim) = 0;

  [[nodiscard]] ClaimReply claim(const ClaimRequest& request) { return exchange({}, &request).claim; }
  [[nodiscard]] std::vector<FinishVerdict> finish(std::span<const Finish> finishes) {
    return exchange(finishes, nullptr).verdicts;
  }

  // Does ahead what the first calls of a worker would have to do first. Changes nothing that anybody could see; may throw,
  // and then has done less.
  virtual void warm_up() {}

  // ---- Sessions --------------------------------------------------------------------------------------------------
  virtual void open_session(const NewSession& session) = 0;
  [[nodiscard]] virtual BeatReply beat(const Beat& beat) = 0;
  // Which of the session's running executions are asked to be cancelled. A cheap read, made about once a second.
  [[nodiscard]] virtual std::vector<Uuid> cancel_requests(const Uuid& session) = 0;
  // Releases what it still holds (attempts not spent) and forgets it. Unknown sessions are ignored.
  virtual void close_session(const Uuid& session) = 0;
  [[nodiscard]] virtual std::vector<SessionInfo> sessions() = 0;

  // ---- Background ------------------------------------------------------------------------------------------------
  // Takes back what lost sessions held, ends what passed its deadline and, if asked to, deletes what has expired. A row that
  // cannot be read or changed is left, counted in the report and passed over for limits::sweep_set_aside_for; all other rows
  // are swept. Throws only what concerns the whole store (StoreUnavailable and its kin).
  [[nodiscard]] virtual SweepReport sweep(const SweepRequest& request) = 0;

  // ---- Reading ---------------------------------------------------------------------------------------------------
  [[nodiscard]] virtual std::optional<Execution> get(const Uuid& id) = 0;
  // Whether the store knows that the namespace had this execution and keeps no record of it: the record has expired, or it
  // was deleted and its identity is still held (a tombstone). False for one that is there, and for one that nothing is
  // left of.
  [[nodiscard]] virtual bool has_expired(std::string_view ns, const Uuid& id) = 0;
  // For those who wait: one entry per id in order, nullopt where the id is unknown (or expired).
  [[nodiscard]] virtual std::vector<std::optional<Outcome>> outcomes(std::span<const Uuid> ids) = 0;
  // Who holds an identity now and until when, with the fingerprint that a request is compared by. The result may be left
  // out.
  [[nodiscard]] virtual std::optional<Holding> holding(const base::Digest& identity) = 0;
  [[nodiscard]] std::optional<Uuid> holder(const base::Digest& identity) {
    const std::optional<Holding> found = holding(identity);
    return found ? std::optional(found->holder.id) : std::nullopt;
  }
  [[nodiscard]] virtual std::vector<Execution> list(const ListQuery& query) = 0;
  // The guard that holds an identity, with its result; what is expired or a stub holds none.
  [[nodiscard]] virtual std::optional<Guard> guard(const base::Digest& identity) = 0;
  // Likewise for a call that may be a repeated one: of one that has ended, id, task, key, worker and takeover_after may lack.
  [[nodiscard]] virtual std::optional<Guard> guard_outcome(const base::Digest& identity) { return guard(identity); }
  // All attempts in order, the running or last one included.
  [[nodiscard]] virtual std::vector<Attempt> attempts(const Uuid& id) = 0;

  // ---- Acting on executions --------------------------------------------------------------------------------------
  // One result per id, in order. `reason` is kept as the error's message (type "Cancelled").
  [[nodiscard]] virtual std::vector<CancelResult> cancel(std::span<const Uuid> ids, std::string_view reason,
                                                         const Actor& by = {}) = 0;
  // A new run of each: same task, queue, input, options and identity; run + 1; the effect key kept unless asked.
  [[nodiscard]] virtual std::vector<RetryResult> retry(std::span<const RetryRequest> requests,
                                                       const Actor& by = {}) = 0;
  // Deletes guards with all that hangs on them, running ones too: their callers' outcomes are stale then. Others of these
  // ids are left alone. Returns how many there were.
  virtual int forget_guards(std::span<const Uuid> ids) = 0;
  // Takes dead letters off their list; their history stays. Returns how many were on it.
  virtual int discard(std::span<const Uuid> ids, const Actor& by = {}) = 0;
  // Sets the note of finished executions. Returns how many there were.
  virtual int annotate(std::span<const Uuid> ids, std::string_view note, const Actor& by = {}) = 0;

  // ---- Queues ----------------------------------------------------------------------------------------------------
  // With an actor, writes an audit line in the same transaction.
  virtual void configure_queue(const QueueRef& queue, const QueuePatch& patch) = 0;
  [[nodiscard]] virtual std::vector<QueueInfo> queues(std::string_view ns) = 0;
  // Cancels (reason "purged") or moves at most `limit` pending executions; returns how many. Call until 0. purge passes over
  // workflows that have begun (engine/purging.hpp asks them to end); move throws InvalidArgument, and moves none of them,
  // when one holds a key of scope queue (model/queue_key.hpp).
  [[nodiscard]] virtual int purge(const QueueRef& queue, int limit, const Actor& by = {}) = 0;
  [[nodiscard]] virtual int move(const QueueRef& from, const QueueRef& to, int limit, const Actor& by = {}) = 0;

  // ---- Catalogue (SPEC I3), settings and audit ---------------------------------------------------------------------
  // The version is at most that of the entries: a request that is made by them and is up to date is never refused for long.
  [[nodiscard]] virtual StoredCatalogue catalogue(std::string_view ns) = 0;
  // Adds the entry if the task has none; gives back the entry that is there then. An audit line if it was added.
  [[nodiscard]] virtual TaskEntry declare_task(const TaskEntry& entry) = 0;
  // Adds or replaces; false when it was there just so. An audit line, by `actor`, unless it was.
  virtual bool put_task(const TaskEntry& entry, std::string_view actor) = 0;
  virtual bool remove_task(std::string_view ns, std::string_view name, std::string_view actor) = 0;
  // An empty value removes it.
  virtual bool put_setting(std::string_view ns, const Setting& setting, std::string_view actor) = 0;
  [[nodiscard]] virtual std::vector<AuditLine> audit(const AuditQuery& query) = 0;
  [[nodiscard]] std::vector<AuditLine> audit(std::string_view ns, int limit) {
    return audit(AuditQuery{.ns = std::string(ns), .limit = limit});
  }

  // ---- Tokens (SPEC X2) ----------------------------------------------------------------------------------------------
  // An audit line by `by`, as with revoke_token. Asked for again with the same id, it changes nothing.
  [[nodiscard]] virtual Token add_token(const NewToken& token, const Actor& by) = 0;
  // All of a namespace, also those that are revoked or over, in the order they were made.
  [[nodiscard]] virtual std::vector<Token> tokens(std::string_view ns) = 0;
  // Of any namespace, also one that is revoked or over: the caller looks at Token::is_good.
  [[nodiscard]] virtual std::optional<Token> find_token(const base::Digest& hash) = 0;
  // Whether any was ever made, in any namespace. A cheap read.
  [[nodiscard]] virtual bool has_tokens() = 0;
  // False when there is none of that id in the namespace, or it is revoked already. It stays, for the audit's readers.
  [[nodiscard]] virtual bool revoke_token(std::string_view ns, const Uuid& id, const Actor& by) = 0;
  // They were used just now. Writes nothing for those that token_touch_every says are fresh.
  virtual void touch_tokens(std::span<const Uuid> ids) = 0;

  // ---- Journal ---------------------------------------------------------------------------------------------------
  // Fenced like finish; all of the span or, for an entry that is stale, not that entry. One verdict each.
  [[nodiscard]] virtual std::vector<FinishVerdict> journal_append(std::span<const JournalEntry> entries) = 0;
  [[nodiscard]] virtual std::vector<JournalEntry> journal_read(const Uuid& execution) = 0;

  // ---- Workflows -------------------------------------------------------------------------------------------------
  // Entries with what they start, fenced; one transaction for the span.
  [[nodiscard]] virtual std::vector<AdvanceReply> advance(std::span<const Advance> turns) = 0;
  // Other labels for a running execution, fenced.
  [[nodiscard]] virtual FinishVerdict relabel(const Held& held, const Labels& labels) = 0;
  // Journal and events, one for each request. Of what is unknown or has expired: nothing. A history that does not open says so
  // in History::unreadable and does not fail the others.
  [[nodiscard]] virtual std::vector<History> histories(std::span<const HistoryRequest> requests) = 0;
  // Sent to a run that was continued, it goes to the last run.
  [[nodiscard]] virtual std::vector<SignalResult> signal(std::span<const Signal> signals, const Actor& by = {}) = 0;

  // ---- Activities (SPEC S1, S7) ------------------------------------------------------------------------------------
  // Each change as a whole or not at all, all of the span in one transaction; no activity is named twice.
  [[nodiscard]] virtual std::vector<ActivityReply> change_activities(std::span<const ActivityChange> changes) = 0;
  [[nodiscard]] virtual std::vector<ActivityState> activities(const ActivityQuery& query) = 0;
  // Newest first; also of one that was removed.
  [[nodiscard]] virtual std::vector<ActivityVersion> activity_versions(std::string_view ns, std::string_view id) = 0;
  // A cheap read: whoever keeps activities in memory asks whether they are still those. 0: there were never any.
  [[nodiscard]] virtual std::int64_t activity_generation(std::string_view ns) = 0;
  // What is due now, at most `limit`. Looks at no others.
  [[nodiscard]] virtual DueActivities due_activities(int limit) = 0;

  // ---- Transactions with the caller's own writes -----------------------------------------------------------------
  // Lends the writer: begins, calls fn, commits; rolls back if fn throws. Throws Unsupported without the capability.
  virtual void transaction(const std::function<void(Transaction&)>& fn) = 0;
  // Works inside the transaction that is open on the caller's PGconn*. Throws Unsupported without the capability.
  [[nodiscard]] virtual std::unique_ptr<Transaction> attach(void* connection) = 0;

  // ---- Wake-ups between processes --------------------------------------------------------------------------------
  [[nodiscard]] virtual std::unique_ptr<Listener> listen() = 0;
  // After commit: tell other processes that these queues may have work. Never blocks for long, never throws.
  virtual void announce(std::span<const QueueRef> queues) = 0;

  // ---- For people ------------------------------------------------------------------------------------------------
  // Read-only SQL; anything that would write is refused. Throws Unsupported without the capability.
  [[nodiscard]] virtual TextTable sql(std::string_view statement, int max_rows) = 0;
  [[nodiscard]] virtual std::vector<Finding> doctor() = 0;
};

}  // namespace hapax::store
