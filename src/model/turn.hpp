// The values of workflows in the store: journal entries, events, and the turn that a workflow's worker adds to an
// outcome.
#pragma once

#include "model/execution.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hapax::model {

// One entry of an execution's journal: a record of ctx.once, or one operation of a workflow.
struct JournalEntry {
  Uuid execution;
  std::int64_t fence = 0;
  std::int32_t position = 0;  // unique within the execution; appending a taken position is `stale`
  std::uint8_t kind = 0;      // persisted; the writer defines its meaning (JournalKind)
  std::string name;
  std::string data;  // JSON bytes
  Time at{};         // set by the store
  // In a turn: an execution admitted in the transaction that appends the entry. The end of that execution, or of the
  // existing one that the request was deduplicated to, becomes an event of the execution that owns this journal.
  std::shared_ptr<const NewExecution> start;
  std::optional<Uuid> child;  // set by the store: the execution of `start`; none if it was refused
};

// Persisted; never renumber.
enum class EventKind : std::uint8_t {
  signal = 0,   // a signal was sent to the workflow
  ended = 1,    // an execution that the workflow started, or was deduplicated to, has ended
  refused = 2,  // an execution that the workflow tried to start was not admitted
  cancel = 3,   // the workflow's cancellation was requested
};

// An event of a workflow that comes from outside its code. Immutable, and kept as long as the workflow.
struct Event {
  Uuid execution;
  std::int64_t number = 0;  // from 1 within the execution, in the order of commit
  EventKind kind = EventKind::signal;
  std::string name;                 // signal
  std::int32_t position = 0;        // ended, refused: the journal entry that started the execution
  std::optional<Uuid> child;        // ended: the execution; refused by a holder: the holder
  Status status = Status::pending;  // ended
  std::optional<std::string> data;  // signal: its payload; ended: the result of a completed execution
  std::optional<ErrorInfo> error;   // ended and not completed; refused (type is the error's name); cancel (reason)
  Time at{};
};

// The workflow-specific part of an outcome: journal entries, and when or how the workflow continues.
struct Turn {
  std::vector<JournalEntry> entries;  // appended in the transaction of the outcome
  // For `waiting`: when the workflow becomes due. At once if it has events with numbers above `seen`; otherwise at the
  // earlier of wake_in and wake_at; without these, when an event arrives.
  std::int64_t seen = 0;
  std::optional<Duration> wake_in;  // from the store's now
  std::optional<Time> wake_at;
  std::string stuck;  // waiting: why the workflow cannot go on; kept until its next outcome
  // For `continued`: the next run, under the same identity. The waiters now wait for the next run. Signals and
  // cancellations with numbers above `seen`, and signals with numbers in `carried`, are copied to the next run.
  std::shared_ptr<const NewExecution> next;
  std::vector<std::int64_t> carried;
};

// Entries that a workflow's worker appends between outcomes: all of them, or none if the fence is stale.
struct Advance {
  Uuid execution;
  std::int64_t fence = 0;
  std::vector<JournalEntry> entries;
  // Resets the count of lost leases: the workflow has made progress since its worker was lost.
  bool clears_lost = false;
};

struct AdvanceReply {
  FinishVerdict verdict = FinishVerdict::stale;
  Time at{};  // of the entries
};

// The journal that a workflow begins with: a fork's copy of the first part of another run's journal.
struct Seed {
  std::vector<JournalEntry> entries;  // execution and fence are ignored
  std::vector<Event> events;          // execution and number are ignored; numbered from 1 in this order
};

struct HistoryRequest {
  Uuid execution;
  std::int32_t from_position = 0;
  std::int64_t after_event = 0;
};

// Entries by position, events by number.
struct History {
  std::vector<JournalEntry> entries;
  std::vector<Event> events;
  // Why the history cannot be read (its encryption key is missing, a row is damaged); both lists are then empty. Empty:
  // it was read.
  std::string unreadable;
};

struct Signal {
  Uuid execution;
  std::string name;
  std::string data = "null";        // JSON bytes
  std::optional<std::string> once;  // a second signal to the same execution with this key changes nothing
};

enum class SignalVerdict : std::uint8_t {
  accepted,  // also for a repeated signal
  finished,  // the workflow has ended
  not_found,
  not_a_workflow,
};

struct SignalResult {
  SignalVerdict verdict = SignalVerdict::not_found;
  Status status = Status::pending;
  Uuid execution;                 // the execution that got the signal: the last run if the workflow was continued
  std::optional<QueueRef> woken;  // the queue of the workflow, if the signal made it due
};

// The run_at of a workflow that waits only for an event: 9999-12-31T23:59:59Z.
inline constexpr Time never_due{std::chrono::seconds(253402300799)};

}  // namespace hapax::model
