// What the memory store knows, and the few moves an execution can make in it.
//
// A plain value guarded by MemoryStore's mutex: nothing here locks, reads a clock or blocks. Each verb of the seam is
// written once more above these moves (admit.cpp, claim.cpp, finish.cpp, …), so that the rules listed in store.hpp can
// be read off the code: this store is the model that the SQL stores are compared with.
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

// Whose journal entry waits for an execution's end.
struct Waiter {
  Uuid execution;
  std::int32_t position = 0;
};

// An execution, live or finished, with all that hangs on it. Owned by State::records; its address is stable.
struct Record {
  Execution execution;
  std::optional<std::string> stored_effect_key;
  std::int64_t claim_number = 0;
  std::optional<FinishKind> left_by;  // the finish that took it off its present fence
  // Set with execution.cancel_requested, or by a newer request that overtook it: it does not go back into the line.
  std::optional<std::string> cancel_reason;
  std::vector<Attempt> attempts;  // those that ended, in the order of their fences
  std::map<std::int32_t, JournalEntry> journal;
  std::int64_t sequence = 0;  // among those of its limit key, from 1
  bool stub = false;
  std::vector<Event> events;  // by number
  std::set<std::string> signal_keys;
  std::vector<Waiter> waiters;

  // When it stops running without an end. A workflow ends by itself.
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
  // Which parked one goes back first: by sequence if ordered, else by claim order.
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
  std::map<ReadyKey, Record*> ready;     // due, never lost
  std::map<ReadyKey, Record*> suspects;  // due, lost before
  std::map<TimedId, Record*> delayed;    // by run_at
  std::set<TimedId> dead;                // dead letters, by expiry
  bool keyed = false;                    // a limit key was once used
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

// An activity, also one that was removed.
struct StoredActivity {
  ActivityState state;
  std::vector<ActivityVersion> versions;  // oldest first
  bool removed = false;
};

// How an execution ends. `was_lost` and `pending` endings belong to no attempt, so the record names no worker.
struct Ending {
  Status status = Status::completed;
  std::optional<std::string> result;
  std::optional<ErrorInfo> error;
  std::optional<Duration> ran_for;  // none: the attempt began when it was claimed
  std::optional<Keep> keep;         // of a guard
};

struct State {
  std::map<Uuid, Record> records;
  std::map<QueueRef, Queue> queues;
  std::map<Uuid, Session> sessions;
  std::map<Uuid, std::map<Uuid, Record*>> guards_left;  // running ones, by the session that is gone
  std::map<base::Digest, IdentityRow> identities;
  std::map<base::Digest, base::Digest> names;  // to identities that have them, or had them and are gone
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
  std::set<std::pair<Uuid, Uuid>> children;                             // parent and child, of all that have one
  std::vector<QueueRef> woken;                                          // by the present call
  std::map<std::string, std::int32_t, std::less<>> catalogue_versions;  // by namespace
  std::map<base::Digest, std::string> buried_in;                        // of tombstones: the namespace

  // ---- Looking -----------------------------------------------------------------------------------------------
  // Null when the id is unknown or has expired.
  [[nodiscard]] Record* find(const Uuid& id, Time now);
  // Null unless it runs under exactly that fence.
  [[nodiscard]] Record* find_running(const Uuid& id, std::int64_t fence);
  // Who holds the identity now.
  [[nodiscard]] std::optional<Holding> find_holding(const base::Digest& identity, Time now) const;
  [[nodiscard]] std::optional<Holder> find_holder(const base::Digest& identity, Time now) const;
  // Moves what has come due from delayed to ready.
  void promote(Queue& queue, Time now);

  // ---- Moves ---------------------------------------------------------------------------------------------------
  // Takes a new pending execution in and makes it the holder of its identity, if it has one.
  // The identity that has the name.
  [[nodiscard]] std::optional<base::Digest> name_owner(const base::Digest& name) const;
  Record& insert(Record record, const IdentityRow& identity, Time now);
  // A pending execution gets another input, instant and deadline.
  void replace(Record& record, const NewExecution& by, Time now);
  // pending → running, attempt and fence raised.
  void start(Record& record, Session& session, std::int64_t claim_number, Time now);
  // A running guard goes to another caller, under the next fence.
  void take_over(Record& record, Session& session, const NewExecution& by, Time now);
  // The session goes; the guards that ran under it run on without one.
  void end_session(std::map<Uuid, Session>::iterator session);
  // A running guard is nobody's: the next caller takes it over.
  void abandon(Record& record);
  // running → pending, due at run_at. The next of its key may go, unless what follows is its end, which lets it go.
  enum class Next : std::uint8_t { may_go, stays };
  void wait(Record& record, Time run_at, Time now, Next next = Next::may_go);
  // running → pending as if never claimed; cancelled if that was asked for.
  void release(Record& record, Time now);
  // pending or running → finished.
  void end(Record& record, Ending ending, Time now);
  // The running attempt is over, as a row of its own.
  void add_attempt(Record& record, std::string outcome, std::optional<ErrorInfo> error, Time started_at, Time now);
  void leave_dead_letters(Record& record);
  // A guard is forgotten, whether it runs or has ended.
  void forget_guard(Record& record);
  // A finished execution is forgotten, with all that hangs on it.
  void forget(Record& record, Time now);

  // ---- Pending executions and their queues -------------------------------------------------------------------------
  void enter_queue(Record& record, Time now);
  void leave_queue(Record& record);

  // ---- Workflows ---------------------------------------------------------------------------------------------------
  // An event for a live execution; a waiting one becomes due.
  void tell(Record& record, Event event, Time now);
  // The journal entry at that place waits for the execution's end, which may have come already.
  void wait_for(const Uuid& awaited, const Waiter& waiter, Time now);
  // What ended is told to those who wait for it.
  void tell_waiters(Record& record, Time now);

  // ---- Limit keys --------------------------------------------------------------------------------------------------
  // A live execution joins the key it has in its queue, at the tail, or leaves it; then the next may go.
  void join_key(Record& record);
  void leave_key(Record& record, Time now);
  [[nodiscard]] Key* key_of(const Record& record);
  [[nodiscard]] std::optional<Keyed> keyed(const Record& record);
  void park(Record& record);
  // Those that may go back into the line by the rule of model/claim_limits.hpp, the next first.
  [[nodiscard]] std::vector<Record*> next_parked(const LimitKey& name, const Key& key) const;
  static constexpr int any_weight = std::numeric_limits<int>::max();
  void unpark(Queue& queue, const LimitKey& name, Time now, int heaviest = any_weight);
  void unpark_all(Queue& queue, Time now);
  void note(std::string_view ns, std::string_view actor, std::string action, std::string subject, std::string detail,
            Time now);
  // Somebody did this to an execution; nothing is written of what hapax does itself.
  void note_act(const Actor& by, std::string action, const Execution& execution, std::string_view detail, Time now);

 private:
  void leave_session(Record& record);
  void put_in_line(Record& record, Time now);
};

// {"Cancelled", reason}: the error of what was cancelled.
[[nodiscard]] ErrorInfo cancelled_error(std::string_view reason);

// An error as any store gives it back: valid text within the limits.
[[nodiscard]] ErrorInfo storable(const ErrorInfo& error);

}  // namespace hapax::store::memory
