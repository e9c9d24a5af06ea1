// Store: the seam between the engine and a database.
//
// Every verb blocks, takes a batch and is one transaction. Time is the store's own: callers pass durations. Any thread
// may call any verb; a store serialises its writers inside. A call returns after its commit (on the SQL stores after
// the commit is on the disk, so that an acknowledgement survives power loss), or throws and has changed nothing. There
// are two exceptions: CommitUnknown, when the connection broke at the commit and reading back failed too; and an
// exchange whose claim meets queues with limits, where the outcomes are committed first and each such queue in a
// transaction of its own.
//
// The rules that concern more than one verb are in docs/architecture/store-rules.md, each with the conformance tests
// that hold it. All stores behave alike: tests/conformance/ runs on each, and the memory store is the model that the
// property tests compare the others with. A difference between stores is a flag in Capabilities, never an `if (sqlite)`
// above the seam.
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
  bool remote = false;                // a server: a call is a round trip, and the server works for others meanwhile
};

struct StoreInfo {
  std::string backend;   // "memory", "sqlite", "postgresql"
  std::string version;   // of the database library or server
  std::string location;  // for messages; passwords removed
  int schema_version = 0;
  Capabilities capabilities;
  std::string durability;  // a database setting that weakens the durability this store promises; empty: there is none
};

// A transaction of the store's database in which the caller writes its own rows too. One thread uses it, while the
// transaction is open.
class Transaction {
 public:
  virtual ~Transaction() = default;
  [[nodiscard]] virtual std::vector<Admission> admit(std::span<const NewExecution> items) = 0;
  // A stale finish leaves the transaction uncommittable and throws StaleLease.
  virtual void finish(const Finish& finish) = 0;
  // A stale turn leaves the transaction uncommittable and throws StaleLease.
  virtual void advance(const Advance& turn) = 0;
  // sqlite3* or PGconn*.
  [[nodiscard]] virtual void* native() = 0;
};

// Wakes a thread when another process has changed the store. Only a hint: callers must poll all the same. One thread
// waits; any thread may interrupt.
class Listener {
 public:
  virtual ~Listener() = default;
  // Returns true when the store may have changed; false after `at_most` without a sign of a change, or after
  // interrupt().
  virtual bool wait(Duration at_most) = 0;
  virtual void interrupt() = 0;
};

struct TextTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::optional<std::string>>> rows;
  std::vector<bool> plain;  // by column: whether it has numbers or booleans, by the type in the database
  bool truncated = false;
};

struct Finding {
  enum class Level : std::uint8_t { ok, note, warning, problem };
  Level level = Level::ok;
  std::string subject;
  std::string detail;
  std::string advice;
};

// From try_admit(): another open transaction is taking one of the identities. Nothing was changed.
class Blocked : public Error {
 public:
  explicit Blocked(const std::string& message) : Error("StoreBusy", message) {}
};

// From the verbs that admit: a request was made by an older catalogue than the store's
// (NewExecution::catalogue_version). Nothing was changed. The caller reads the catalogue, makes its requests anew and
// admits them.
class CatalogueChanged : public Error {
 public:
  explicit CatalogueChanged(const std::string& message) : Error("StoreBusy", message) {}
};

// The verbs that a worker needs: claims, outcomes and its session. A worker of a server has these alone
// (api/remote_work_store.hpp).
class WorkStore {
 public:
  virtual ~WorkStore() = default;

  [[nodiscard]] virtual StoreInfo info() = 0;

  // Writes outcomes and makes the next claim in one transaction, in one round trip where the store can. One verdict per
  // finish, in order; a stale finish changes nothing. `claim` may be null.
  [[nodiscard]] virtual Exchange exchange(std::span<const Finish> finishes, const ClaimRequest* claim) = 0;

  [[nodiscard]] ClaimReply claim(const ClaimRequest& request) { return exchange({}, &request).claim; }
  [[nodiscard]] std::vector<FinishVerdict> finish(std::span<const Finish> finishes) {
    return exchange(finishes, nullptr).verdicts;
  }

  // Does the set-up work of a worker's first calls ahead of them. Nothing that a caller can see changes. After a throw,
  // part of the set-up is left to those calls.
  virtual void warm_up() {}

  // Opens a session, or renews the session that has this id.
  virtual void open_session(const NewSession& session) = 0;
  // Renews the lease, writes progress and counts, releases the executions that the session does not know, and reports
  // cancel requests and losses. An unknown session gets session_lost, and nothing else is done.
  [[nodiscard]] virtual BeatReply beat(const Beat& beat) = 0;
  // The session's running executions whose cancellation was requested. A cheap read: workers call it about once a
  // second.
  [[nodiscard]] virtual std::vector<Uuid> cancel_requests(const Uuid& session) = 0;
  // Releases the executions that the session still holds (their attempts are not spent) and deletes the session. An
  // unknown session is ignored.
  virtual void close_session(const Uuid& session) = 0;

  // The namespace's queues with their settings and figures, by name.
  [[nodiscard]] virtual std::vector<QueueInfo> queues(std::string_view namespace_name) = 0;
};

class Store : public WorkStore {
 public:
  [[nodiscard]] virtual Time now() = 0;

  // ---- Admission (claims and outcomes: WorkStore) ----------------------------------------------------------------
  // Admits the whole span (at most limits::bulk_batch items) in one transaction: all of it or none. A queue is made on
  // its first use. If another open transaction is taking one of the identities, the whole span waits for that
  // transaction, up to 30 s, and then throws StoreBusy. Throws CatalogueChanged when one of the items was made by an
  // older catalogue.
  [[nodiscard]] virtual std::vector<Admission> admit(std::span<const NewExecution> items) = 0;
  // admit() for a batch that one item must not hold up: throws Blocked instead of waiting for another open transaction.
  // The caller then admits each item alone, so that only the blocked item waits.
  [[nodiscard]] virtual std::vector<Admission> try_admit(std::span<const NewExecution> items) { return admit(items); }

  // ---- Sessions (a worker's verbs: WorkStore) --------------------------------------------------------------------
  // All sessions, in the order in which they were opened.
  [[nodiscard]] virtual std::vector<SessionInfo> sessions() = 0;

  // ---- Background ------------------------------------------------------------------------------------------------
  // Takes back the executions of lost sessions, ends executions whose deadline has passed and, if asked to, deletes
  // expired records. A row that cannot be read or changed is left as it is, counted in the report and passed over for
  // limits::sweep_set_aside_for; all other rows are swept. Throws only errors that concern the whole store
  // (StoreUnavailable and errors derived from it).
  [[nodiscard]] virtual SweepReport sweep(const SweepRequest& request) = 0;

  // ---- Reading ---------------------------------------------------------------------------------------------------
  // The execution; nothing when the id is unknown or has expired.
  [[nodiscard]] virtual std::optional<Execution> get(const Uuid& id) = 0;
  // Whether the store knows that the namespace had this execution but has no record of it: the record has expired, or
  // was deleted while its identity is still held (a tombstone). False for an execution that exists, and for one of
  // which nothing is left.
  [[nodiscard]] virtual bool has_expired(std::string_view namespace_name, const Uuid& id) = 0;
  // The states of executions, for callers that wait for results: one entry per id, in order; nullopt for an id that is
  // unknown or has expired.
  [[nodiscard]] virtual std::vector<std::optional<Outcome>> outcomes(std::span<const Uuid> ids) = 0;
  // The execution that holds an identity now and until when, with the fingerprint that requests are compared with. The
  // result may be left out.
  [[nodiscard]] virtual std::optional<Holding> holding(const base::Digest& identity) = 0;
  [[nodiscard]] std::optional<Uuid> holder(const base::Digest& identity) {
    const std::optional<Holding> found = holding(identity);
    return found ? std::optional(found->holder.id) : std::nullopt;
  }
  // Newest first, at most limits::list_page executions. A page with payloads may end earlier (limits::list_bytes).
  [[nodiscard]] virtual std::vector<Execution> list(const ListQuery& query) = 0;
  // The guard that holds an identity, with its result. An expired guard or a stub holds none.
  [[nodiscard]] virtual std::optional<Guard> guard(const base::Digest& identity) = 0;
  // guard() for a call that may be a duplicate: for a guard that has ended, id, task, key, worker and takeover_after
  // may be missing.
  [[nodiscard]] virtual std::optional<Guard> guard_outcome(const base::Digest& identity) { return guard(identity); }
  // All attempts in order, including the running or last one.
  [[nodiscard]] virtual std::vector<Attempt> attempts(const Uuid& id) = 0;

  // ---- Acting on executions --------------------------------------------------------------------------------------
  // One result per id, in order. The first `reason` becomes the error's message (type "Cancelled").
  [[nodiscard]] virtual std::vector<CancelResult> cancel(std::span<const Uuid> ids, std::string_view reason,
                                                         const Actor& by = {}) = 0;
  // Makes a new run of each: same task, queue, input, options and identity, run + 1, and the same effect key unless the
  // request asks for a new one.
  [[nodiscard]] virtual std::vector<RetryResult> retry(std::span<const RetryRequest> requests,
                                                       const Actor& by = {}) = 0;
  // Deletes guards with all their rows, running guards too: the outcomes of their callers are stale afterwards. Ids of
  // other executions are ignored. Returns how many guards were deleted.
  virtual int forget_guards(std::span<const Uuid> ids) = 0;
  // Takes dead letters off their list; their history stays. Returns how many were on the list.
  virtual int discard(std::span<const Uuid> ids, const Actor& by = {}) = 0;
  // Sets the note of finished executions. Returns how many notes were set.
  virtual int annotate(std::span<const Uuid> ids, std::string_view note, const Actor& by = {}) = 0;

  // ---- Queues ----------------------------------------------------------------------------------------------------
  // Changes the queue's settings. If the patch names an actor, writes an audit line in the same transaction.
  virtual void configure_queue(const QueueRef& queue, const QueuePatch& patch) = 0;
  // Cancels (reason "purged") or moves at most `limit` pending executions and returns how many; callers repeat until 0.
  // purge passes over workflows that have begun (app/operations.hpp asks them to end). move throws InvalidArgument, and
  // moves no execution, when one of them holds a key of scope queue (model/queue_key.hpp).
  [[nodiscard]] virtual int purge(const QueueRef& queue, int limit, const Actor& by = {}) = 0;
  [[nodiscard]] virtual int move(const QueueRef& from, const QueueRef& to, int limit, const Actor& by = {}) = 0;

  // ---- Catalogue, settings and audit ---------------------------------------------------------------------------
  // The namespace's tasks and settings with their version. The version is never newer than the entries. If the version
  // is older, a request made with it is refused, and the caller reads the catalogue again.
  [[nodiscard]] virtual StoredCatalogue catalogue(std::string_view namespace_name) = 0;
  // Adds the entry if the task has none; returns the entry that the task has afterwards. Adding writes an audit line.
  [[nodiscard]] virtual TaskEntry declare_task(const TaskEntry& entry) = 0;
  // Adds or replaces the entry and writes an audit line by `actor`; false, and no line, when the task has that
  // definition.
  virtual bool put_task(const TaskEntry& entry, std::string_view actor) = 0;
  // Removes the task's entry and writes an audit line. False, and no audit line, when the task has no entry.
  virtual bool remove_task(std::string_view namespace_name, std::string_view name, std::string_view actor) = 0;
  // Sets the setting, or removes it if the value is empty, and writes an audit line. False, and no audit line, when the
  // setting has that value already.
  virtual bool put_setting(std::string_view namespace_name, const Setting& setting, std::string_view actor) = 0;
  // Newest first.
  [[nodiscard]] virtual std::vector<AuditLine> audit(const AuditQuery& query) = 0;
  [[nodiscard]] std::vector<AuditLine> audit(std::string_view namespace_name, int limit) {
    return audit(AuditQuery{.namespace_name = std::string(namespace_name), .limit = limit});
  }

  // ---- Tokens --------------------------------------------------------------------------------------------------
  // Writes an audit line by `by`, as revoke_token does. A second call with the same id changes nothing.
  [[nodiscard]] virtual Token add_token(const NewToken& token, const Actor& by) = 0;
  // All tokens of a namespace, revoked and expired ones too, in the order in which they were made.
  [[nodiscard]] virtual std::vector<Token> tokens(std::string_view namespace_name) = 0;
  // Finds a token of any namespace, also a revoked or expired one: the caller checks Token::is_good.
  [[nodiscard]] virtual std::optional<Token> find_token(const base::Digest& hash) = 0;
  // Whether a token was ever made, in any namespace. A cheap read.
  [[nodiscard]] virtual bool has_tokens() = 0;
  // Revokes a token; its record stays, as audit lines name it. False when the namespace has no token of that id, or the
  // token is revoked already.
  [[nodiscard]] virtual bool revoke_token(std::string_view namespace_name, const Uuid& id, const Actor& by) = 0;
  // Notes that the tokens were used now. Writes nothing for a token that was noted less than token_touch_every ago.
  virtual void touch_tokens(std::span<const Uuid> ids) = 0;

  // ---- Journal ---------------------------------------------------------------------------------------------------
  // Appends journal entries. An entry needs the execution's present fence, as a finish does; stale entries are left
  // out. One verdict per entry.
  [[nodiscard]] virtual std::vector<FinishVerdict> journal_append(std::span<const JournalEntry> entries) = 0;
  // The execution's journal by position; empty for an execution that is unknown or has expired.
  [[nodiscard]] virtual std::vector<JournalEntry> journal_read(const Uuid& execution) = 0;

  // ---- Workflows -------------------------------------------------------------------------------------------------
  // Appends each turn's entries under its fence and admits the executions that they start; one transaction for the
  // span.
  [[nodiscard]] virtual std::vector<AdvanceReply> advance(std::span<const Advance> turns) = 0;
  // Replaces the labels of a running execution, under its fence.
  [[nodiscard]] virtual FinishVerdict relabel(const Held& held, const Labels& labels) = 0;
  // Journal and events, one History per request; empty for an execution that is unknown or has expired. A history that
  // cannot be read says so in History::unreadable and does not fail the others.
  [[nodiscard]] virtual std::vector<History> histories(std::span<const HistoryRequest> requests) = 0;
  // Sends signals; one result per signal, in order. A signal to a run that was continued goes to the last run of the
  // chain.
  [[nodiscard]] virtual std::vector<SignalResult> signal(std::span<const Signal> signals, const Actor& by = {}) = 0;

  // ---- Activities ----------------------------------------------------------------------------------------------
  // Applies each change as a whole or not at all, the span in one transaction. No activity is named twice.
  [[nodiscard]] virtual std::vector<ActivityReply> change_activities(std::span<const ActivityChange> changes) = 0;
  // The activities by id, without removed ones.
  [[nodiscard]] virtual std::vector<ActivityState> activities(const ActivityQuery& query) = 0;
  // The activity's versions, newest first, also of a removed activity.
  [[nodiscard]] virtual std::vector<ActivityVersion> activity_versions(std::string_view namespace_name,
                                                                       std::string_view id) = 0;
  // Grows with every definition, pause and removal in the namespace, so that a process can tell whether the activities
  // it keeps in memory are current. A cheap read. 0: the namespace never had an activity.
  [[nodiscard]] virtual std::int64_t activity_generation(std::string_view namespace_name) = 0;
  // The activities that are due now, at most `limit`. Reads no others.
  [[nodiscard]] virtual DueActivities due_activities(int limit) = 0;

  // ---- Transactions with the caller's own writes -----------------------------------------------------------------
  // Begins a transaction, calls fn with it and commits; rolls back if fn throws. Throws Unsupported without the
  // capability.
  virtual void transaction(const std::function<void(Transaction&)>& fn) = 0;
  // Joins the transaction that is open on the caller's PGconn*. Throws Unsupported without the capability.
  [[nodiscard]] virtual std::unique_ptr<Transaction> attach(void* connection) = 0;

  // ---- Wakeups between processes ---------------------------------------------------------------------------------
  [[nodiscard]] virtual std::unique_ptr<Listener> listen() = 0;
  // Called after a commit: wakes other processes, as these queues may have work. Never blocks for long, never throws.
  virtual void announce(std::span<const QueueRef> queues) = 0;

  // ---- For operators ---------------------------------------------------------------------------------------------
  // Runs one read-only SQL statement; a statement that would write is refused. Throws Unsupported without the
  // capability.
  [[nodiscard]] virtual TextTable sql(std::string_view statement, int max_rows) = 0;
  // Checks the store's health; one finding per check.
  [[nodiscard]] virtual std::vector<Finding> doctor() = 0;
};

}  // namespace hapax::store
