// A workflow as the store sees it: its journal, what happens to it, and what a run adds to its outcome.
#pragma once

#include "model/execution.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hapax::model {

// One entry of an execution's journal: what ctx.once recorded, and all that a workflow did.
struct JournalEntry {
  Uuid execution;
  std::int64_t fence = 0;
  std::int32_t position = 0;  // unique within the execution; appending a taken position is `stale`
  std::uint8_t kind = 0;      // persisted, meaning given by the writer
  std::string name;
  std::string data;  // JSON bytes
  Time at{};         // set by the store
  // In a turn: an execution that is admitted with the entry, both or neither, and whose end is an event for the
  // execution whose journal this is. An existing one that it is deduplicated to is waited for likewise.
  std::shared_ptr<const NewExecution> start;
  std::optional<Uuid> child;  // set by the store: which execution that was; none when it was refused
};

// Persisted; never renumber.
enum class EventKind : std::uint8_t {
  signal = 0,   // somebody sent it
  ended = 1,    // an execution it started, or joined, has ended
  refused = 2,  // what it wanted to start was not admitted
  cancel = 3,   // its cancellation was asked for
};

// Something that happened to a workflow from outside. Never changed, and kept as long as the workflow.
struct Event {
  Uuid execution;
  std::int64_t number = 0;  // from 1 within the execution, in the order of commit
  EventKind kind = EventKind::signal;
  std::string name;                 // signal
  std::int32_t position = 0;        // ended, refused: of the journal entry that started it
  std::optional<Uuid> child;        // ended; refused by a holder: that one
  Status status = Status::pending;  // ended
  std::optional<std::string> data;  // signal: its payload; ended: the result of what completed
  std::optional<ErrorInfo> error;   // ended and not completed; refused (type is the error's name); cancel (reason)
  Time at{};
};

// What a workflow's run adds to its outcome.
struct Turn {
  std::vector<JournalEntry> entries;  // appended with the outcome: both or neither
  // waiting: due at once if there are events above this number; else at the first of the two instants; without either,
  // when an event comes.
  std::int64_t seen = 0;
  std::optional<Duration> wake_in;  // from the store's now
  std::optional<Time> wake_at;
  std::string stuck;  // waiting: why it cannot go on; kept until its next outcome
  // continued: the next run, under the same identity. Its waiters wait for that one. Signals above `seen`, and those whose
  // numbers are in `carried`, go over to it.
  std::shared_ptr<const NewExecution> next;
  std::vector<std::int64_t> carried;
};

// Entries that a run appends while it goes on. All of them or, when the lease is not its own any more, none.
struct Advance {
  Uuid execution;
  std::int64_t fence = 0;
  std::vector<JournalEntry> entries;
  // It was lost before and has come on since: earlier losses are forgiven.
  bool clears_lost = false;
};

struct AdvanceReply {
  FinishVerdict verdict = FinishVerdict::stale;
  Time at{};  // of the entries
};

// What a workflow has behind it when it begins: a fork's part of another run's journal.
struct Seed {
  std::vector<JournalEntry> entries;  // execution and fence are not looked at
  std::vector<Event> events;          // likewise; numbered anew, in this order
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
  // Why this one cannot be read (its key is missing, a row is damaged); then both lists are empty. Empty: it was read.
  std::string unreadable;
};

struct Signal {
  Uuid execution;
  std::string name;
  std::string data = "null";        // JSON bytes
  std::optional<std::string> once;  // a second signal of the same execution with this key changes nothing
};

enum class SignalVerdict : std::uint8_t {
  accepted,  // also for a repeated one
  finished,  // the workflow has ended
  not_found,
  not_a_workflow,
};

struct SignalResult {
  SignalVerdict verdict = SignalVerdict::not_found;
  Status status = Status::pending;
  Uuid execution;                 // that got it: the last run when the workflow was continued
  std::optional<QueueRef> woken;  // the queue in which it became due by this
};

// The run_at of what waits for an event only: 9999-12-31T23:59:59Z.
inline constexpr Time never_due{std::chrono::seconds(253402300799)};

}  // namespace hapax::model
