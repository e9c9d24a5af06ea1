// The memory store's state, and the few moves that an execution can make in it.
//
// A plain value guarded by MemoryStore's mutex: nothing here locks, reads a clock or blocks. Each verb is written above
// these moves (admit.cpp, claim.cpp, finish.cpp, …), so that the code shows the rules of
// docs/architecture/store-rules.md: this store is the model that the SQL stores are compared with.
#pragma once

#include "model/claim_limits.hpp"
#include "model/holder.hpp"
#include "store/store.hpp"

#include <deque>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hapax::store::memory {

// The journal entry of a workflow that waits for an execution's end.
struct Waiter {
  Uuid execution;
  std::int32_t position = 0;
};

// An execution, live or finished, with everything that belongs to it. Owned by State::records; its address is stable.
struct Record {
  Execution execution;
  std::optional<std::string> stored_effect_key;
  std::int64_t claim_number = 0;
  std::optional<FinishKind> left_by;  // the finish that ended the attempt under the present fence
  // Set with execution.cancel_requested, or when a newer request overtook the execution, which then does not become
  // pending again.
  std::optional<std::string> cancel_reason;
  std::vector<Attempt> attempts;  // attempts that ended, in the order of their fences
  std::map<std::int32_t, JournalEntry> journal;
  std::int64_t sequence = 0;  // order within its limit key, from 1; head_sequence once claimed
  bool stub = false;
  std::vector<Event> events;  // by number
  std::set<std::string> signal_keys;
  std::vector<Waiter> waiters;

  // Whether the execution ends as cancelled instead of becoming pending again. A workflow ends by itself.
  [[nodiscard]] bool to_be_cancelled() const { return cancel_reason.has_value() && execution.kind != Kind::workflow; }
};

// Claim order: priority descending, run_at, id.
struct ReadyKey {
  int priority = 0;
  Time run_at{};
  Uuid id;
  friend bool operator<(const ReadyKey& a, const ReadyKey& b) {
    return std::tie(b.priority, a.run_at, a.id) < std::tie(a.priority, b.run_at, b.id);
  }
};

using TimedId = std::pair<Time, Uuid>;
using ActivityName = std::pair<std::string, std::string>;  // namespace and id

// Live executions of one limit key.
struct Key {
  // Which parked execution returns first: by sequence if the key is ordered, else by claim order.
  using Place = std::pair<std::int64_t, ReadyKey>;

  KeyLoad load;
  std::map<Place, Record*> parked;
  std::map<Place, Record*> waiting;         // pending and not parked
  std::map<std::int64_t, Record*> members;  // by sequence
};

struct ThroughputTick {
  Time at{};
  std::int64_t completed = 0;
  std::int64_t failed = 0;
};

struct Queue {
  QueueSettings settings;
  std::map<ReadyKey, Record*> ready;     // due, never lost before
  std::map<ReadyKey, Record*> suspects;  // due, lost before
  std::map<TimedId, Record*> delayed;    // by run_at
  std::set<TimedId> dead;                // dead letters, by expiry
  bool keyed = false;                    // the queue has had an execution with a limit key
  std::optional<Time> arrival;           // the rate limit's state
  std::map<LimitKey, Key> keys;
  std::int64_t parked = 0;
  std::int64_t running = 0;
  std::deque<ThroughputTick> throughput;  // of the last minute

  [[nodiscard]] bool limited() const { return keyed || settings.limits != QueueLimits{}; }
};

struct Session {
  NewSession opened;
  Time started_at{};
  Time expires_at{};
  std::map<Uuid, Record*> running;
};

// An activity; removed ones are kept.
struct StoredActivity {
  ActivityState state;
  std::vector<ActivityVersion> versions;  // oldest first
  bool removed = false;
};

// How an execution ends.
struct Ending {
  Status status = Status::completed;
  std::optional<std::string> result;
  std::optional<ErrorInfo> error;
  std::optional<Duration> ran_for;  // none: the attempt started at its claim
  std::optional<Keep> keep;         // of a guard
};

struct State {
  std::map<Uuid, Record> records;
  std::map<QueueRef, Queue> queues;
  std::map<Uuid, Session> sessions;
  std::map<Uuid, std::map<Uuid, Record*>> guards_without_session;  // running guards, by the session that is gone
  std::map<base::Digest, IdentityRow> identities;
  std::map<base::Digest, base::Digest> names;  // to the identity that has or had the name
  std::set<TimedId> deadlines;                 // of live executions
  std::set<TimedId> expiries;                  // of finished ones
  std::int64_t last_sequence = 0;
  std::map<std::pair<std::string, std::string>, TaskEntry> tasks;  // by namespace and name
  std::map<std::pair<std::string, std::string>, std::string> settings;
  std::deque<AuditLine> audit;  // oldest first
  std::vector<Token> tokens;    // in the order they were made
  std::map<ActivityName, StoredActivity> activities;
  std::set<std::pair<Time, ActivityName>> due;                          // by next_due
  std::map<std::string, std::int64_t, std::less<>> generations;         // by namespace
  std::set<std::pair<Uuid, Uuid>> children;                             // parent and child
  std::vector<QueueRef> woken;                                          // queues that the present call woke
  std::map<std::string, std::int32_t, std::less<>> catalogue_versions;  // by namespace
  std::map<base::Digest, std::string> tombstone_namespaces;             // the namespace of each tombstone

  // ---- Looking (identities.cpp) --------------------------------------------------------------------------------
  // Null when the id is unknown or has expired.
  [[nodiscard]] Record* find(const Uuid& id, Time now);
  // Null unless the execution runs under exactly that fence.
  [[nodiscard]] Record* find_running(const Uuid& id, std::int64_t fence);
  [[nodiscard]] std::optional<Holding> find_holding(const base::Digest& identity, Time now) const;
  [[nodiscard]] std::optional<Holder> find_holder(const base::Digest& identity, Time now) const;
  // Moves the delayed executions that are due to ready or suspects.
  void promote(Queue& queue, Time now);

  // ---- Moves ---------------------------------------------------------------------------------------------------
  // The identity that has the name (IdentityClaim::name).
  [[nodiscard]] std::optional<base::Digest> name_owner(const base::Digest& name) const;
  // Adds a new pending execution and makes it the holder of its identity, if it has one.
  Record& insert(Record record, const IdentityRow& identity, Time now);
  // Gives a pending holder the fields of a newer request.
  void replace(Record& record, const NewExecution& by, Time now);
  // pending → running, attempt and fence raised.
  void start(Record& record, Session& session, std::int64_t claim_number, Time now);
  // Gives a running guard to another caller, under the next fence.
  void take_over(Record& record, Session& session, const NewExecution& by, Time now);
  // Deletes the session; its guards run on without one.
  void end_session(std::map<Uuid, Session>::iterator session);
  // Takes a running guard from its session, so that the next caller takes it over.
  void abandon(Record& record);
  // running → pending, due at run_at. Unparks the next execution of its key, unless the caller then ends this
  // execution, which unparks the next one.
  enum class Unpark : std::uint8_t { yes, no };
  void make_pending(Record& record, Time run_at, Time now, Unpark unpark_next = Unpark::yes);
  // running → pending as if never claimed. The execution ends as cancelled if its cancellation was requested.
  void release(Record& record, Time now);
  // pending or running → finished.
  void end(Record& record, Ending ending, Time now);
  // Records the attempt that was running.
  void add_attempt(Record& record, std::string outcome, std::optional<ErrorInfo> error, Time started_at, Time now);
  void leave_dead_letters(Record& record);
  // Deletes a guard, running or ended.
  void forget_guard(Record& record);
  // Deletes a finished execution with everything that belongs to it.
  void forget(Record& record, Time now);

  // ---- Pending executions and their queues (park.cpp) ---------------------------------------------------------
  void enter_queue(Record& record, Time now);
  void leave_queue(Record& record);

  // ---- Workflows (events.cpp) ------------------------------------------------------------------------------------
  // Adds an event to a live execution; a workflow that waits becomes due.
  void send_event(Record& record, Event event, Time now);
  // Makes the journal entry wait for the execution's end; if it has ended already, the event is added at once.
  void wait_for(const Uuid& awaited, const Waiter& waiter, Time now);
  // Adds the event of the execution's end to each live waiter.
  void notify_waiters(Record& record, Time now);

  // ---- Limit keys (park.cpp) ----------------------------------------------------------------------------------
  // join_key adds a live execution at the tail of its limit key. leave_key removes it and unparks the next.
  void join_key(Record& record);
  void leave_key(Record& record, Time now);
  [[nodiscard]] Key* key_of(const Record& record);
  [[nodiscard]] std::optional<Keyed> keyed(const Record& record);
  void park(Record& record);
  // The parked executions that may become claimable by the rule of model/claim_limits.hpp, the first one first.
  [[nodiscard]] std::vector<Record*> next_parked(const LimitKey& name, const Key& key) const;
  static constexpr int any_weight = std::numeric_limits<int>::max();
  void unpark(Queue& queue, const LimitKey& name, Time now, int heaviest = any_weight);
  void unpark_all(Queue& queue, Time now);

  // ---- Audit (audit.cpp) -----------------------------------------------------------------------------------------
  void write_audit(std::string_view namespace_name, std::string_view actor, std::string action, std::string subject,
                   std::string detail, Time now);
  // The audit line of an actor's act on an execution. Writes nothing when the actor is unknown (hapax itself).
  void write_act(const Actor& by, std::string action, const Execution& execution, std::string_view detail, Time now);

 private:
  void leave_session(Record& record);
  void unpark_one(Record& record, Time now);
};

// The error {"Cancelled", reason} of a cancelled execution.
[[nodiscard]] ErrorInfo cancelled_error(std::string_view reason);

// An error as every store returns it: valid text within the limits.
[[nodiscard]] ErrorInfo storable(const ErrorInfo& error);

}  // namespace hapax::store::memory
