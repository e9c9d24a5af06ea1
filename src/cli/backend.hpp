// Backend: answers a command's requests, from the store itself or from a server over HTTP.
//
// Answers are the JSON documents of src/api. A command prints a document with --json, and reads it
// (api/execution_read.hpp) to make its tables, so each command is written once. Both backends throw the same errors:
// hapax::Error with the names of docs/reference/errors.md.
//
// The shell makes and owns the backend. One command uses it, on one thread at a time; any thread may call `overview`.
#pragma once

#include <hapax/error.hpp>
#include <hapax/uuid.hpp>

#include "api/request_fields.hpp"
#include "app/operations.hpp"
#include "model/execution.hpp"
#include "schedule/activities.hpp"
#include "schedule/event.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hapax::cli {

// A name of an execution other than its ID: one of `task`, `workflow` and `run` is set.
struct ExecutionName {
  std::optional<std::pair<std::string, std::string>> task;      // name and key
  std::optional<std::pair<std::string, std::string>> workflow;  // name and workflow ID
  std::optional<std::string> queue;                             // the queue, for a key of scope queue
  std::optional<std::string> run;                               // the name of an activity's run
};

struct Listing {
  model::ListQuery query;               // its namespace is ignored: the backend has its own
  std::optional<std::string> activity;  // list only the runs of this activity
};

struct Retrying {
  app::RetryOptions options;
  bool named = false;  // IDs were given one by one; then a single ID that cannot be retried is an error
};

struct SignalRequest {
  std::string name;
  std::string data = "null";
  std::optional<std::string> once;
};

// The answer to one line of a bulk enqueue.
struct BulkAnswer {
  std::string admission;  // the admission's document; empty: the line was refused
  std::string error;
  std::string message;
};

// An invalid line of a batch.
class BadLine : public Error {
 public:
  BadLine(std::size_t at, std::string_view name, const std::string& message) : Error(name, message), index(at) {}
  const std::size_t index;  // of the line in its batch
};

// A bulk enqueue: admits requests batch by batch, each batch as a whole or not at all.
class Bulk {
 public:
  virtual ~Bulk() = default;
  // Adds a request to the batch. Throws if the request is found to be invalid; flush() may find more.
  virtual void add(api::RequestFields fields) = 0;
  [[nodiscard]] virtual bool is_full() const = 0;
  // Admits the batch; one answer per request, in order. Throws BadLine for an invalid request; then none of the batch
  // is admitted.
  [[nodiscard]] virtual std::vector<BulkAnswer> flush() = 0;
};

// A queue's settings by key (app/config/queue_keys.hpp), as text that set_queue_value() reads.
using QueueValues = std::vector<std::pair<std::string, std::string>>;
enum class QueueAct : std::uint8_t { pause, resume, drain };
using app::Absent;
using app::Purged;
struct MoveRequest {
  std::string from;
  std::string to;
  std::int64_t limit = INT64_MAX;
  Absent target = Absent::refuse;
};

// The names that a namespace knows, for suggestions.
struct KnownNames {
  std::vector<std::string> tasks;  // workflows too
  std::vector<std::string> queues;
};

// The range of a backfill as the user wrote it, for parse_instant() in the activity's time zone.
struct BackfillRange {
  std::string from;
  std::string to;
};
using BackfillProgress = std::function<void(const schedule::Activities::Backfill& so_far, std::int64_t left)>;

// Sends events to the activities that subscribe to them.
class EventDoor {
 public:
  virtual ~EventDoor() = default;
  // How this side treats an event without an ID; a server may still refuse such an event.
  [[nodiscard]] virtual schedule::MissingId missing_id() = 0;
  [[nodiscard]] virtual std::size_t batch_most() const = 0;
  // An event and the envelope that it was parsed from.
  struct Outgoing {
    schedule::Event event;
    std::string envelope;
  };
  // One document per event (api/activity_json.hpp), without "runs" if the caller may not read them. Throws BadLine for an
  // invalid event; then none of the events is routed.
  [[nodiscard]] virtual std::vector<std::string> send(std::span<const Outgoing> events) = 0;
  // Call this after the last event: writes counts that are not written yet.
  virtual void flush() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // The location of the store, or the URL of the server, for messages.
  [[nodiscard]] virtual std::string location() = 0;

  // The store's clock; through a server, this machine's clock.
  [[nodiscard]] virtual Time now() = 0;

  // ---- Executions ------------------------------------------------------------------------------------------------
  [[nodiscard]] virtual Uuid find(const ExecutionName& name) = 0;
  // Throws NotFound if the execution does not exist.
  virtual void check(const Uuid& id) = 0;
  // The execution with attempts[] and, for a workflow, journal[].
  [[nodiscard]] virtual std::string show(const Uuid& id) = 0;
  // One page, newest first.
  [[nodiscard]] virtual std::vector<std::string> list(const Listing& listing) = 0;
  [[nodiscard]] virtual std::string admit(const api::RequestFields& fields) = 0;
  [[nodiscard]] virtual std::unique_ptr<Bulk> bulk() = 0;
  // The outcome, or {"id","status"} if `at_most` passes first. Throws ResultExpired when the record is gone.
  [[nodiscard]] virtual std::string await(const Uuid& id, std::optional<Duration> at_most) = 0;
  [[nodiscard]] virtual std::string explain(const Uuid& id) = 0;
  [[nodiscard]] virtual std::string identity(const api::RequestFields& fields) = 0;
  // {"cancelled","requested","finished","executions"}, for at most limits::list_page IDs.
  [[nodiscard]] virtual std::string cancel(std::span<const Uuid> ids, const std::string& reason) = 0;
  // {"retried","refused","executions"}, for at most limits::list_page IDs.
  [[nodiscard]] virtual std::string retry(std::span<const Uuid> ids, const Retrying& how) = 0;
  // Both return the number of IDs that were dead letters. Both throw NotFound for a single ID that is none.
  [[nodiscard]] virtual std::int64_t discard(std::span<const Uuid> ids) = 0;
  [[nodiscard]] virtual std::int64_t annotate(std::span<const Uuid> ids, const std::string& note) = 0;

  // ---- Workflows -------------------------------------------------------------------------------------------------
  // {"id","workflow","workflow_id","signal"}
  [[nodiscard]] virtual std::string signal(const Uuid& id, const SignalRequest& signal) = 0;
  [[nodiscard]] virtual std::string export_journal(const Uuid& id) = 0;
  [[nodiscard]] virtual std::string fork(const Uuid& id, int steps, const std::string& workflow_id) = 0;

  // ---- Queues ----------------------------------------------------------------------------------------------------
  [[nodiscard]] virtual std::vector<std::string> queues() = 0;
  [[nodiscard]] virtual std::string queue(const std::string& name) = 0;
  // set_queue and act_on_queue return the queue's document after the change. set_queue makes a queue that does not
  // exist; act_on_queue and move make one only for Absent::make, and else throw NotFound.
  [[nodiscard]] virtual std::string set_queue(const std::string& name, const QueueValues& values) = 0;
  [[nodiscard]] virtual std::string act_on_queue(const std::string& name, QueueAct act, Absent absent) = 0;
  [[nodiscard]] virtual Purged purge(const std::string& name) = 0;
  [[nodiscard]] virtual std::int64_t move(const MoveRequest& request) = 0;
  // api/overview_json.hpp. Any thread.
  [[nodiscard]] virtual std::string overview() = 0;

  // ---- Activities and events ---------------------------------------------------------------------------------------
  [[nodiscard]] virtual KnownNames known_names() = 0;
  [[nodiscard]] virtual std::vector<std::string> activities(int limit, const std::optional<std::string>& after) = 0;
  // The activity with its next fires. Throws NotFound.
  [[nodiscard]] virtual std::string activity(const std::string& id, bool versions) = 0;
  [[nodiscard]] virtual std::optional<std::string> find_activity(const std::string& id) = 0;
  // Throws NotFound for an activity that never existed; accepts a deleted one.
  virtual void check_activity(const std::string& id) = 0;
  // The activity's document with "result": created, changed or unchanged.
  [[nodiscard]] virtual std::string apply_activity(const schedule::Activity& activity) = 0;
  virtual void remove_activity(const std::string& id) = 0;
  [[nodiscard]] virtual std::string pause_activity(const std::string& id, const std::string& note) = 0;
  [[nodiscard]] virtual std::string resume_activity(const std::string& id) = 0;
  [[nodiscard]] virtual std::string trigger_activity(const std::string& id,
                                                     const schedule::Activities::Manual& manual) = 0;
  // Through a server, `progress` is never called.
  [[nodiscard]] virtual std::string backfill_activity(const std::string& id, const BackfillRange& range,
                                                      const BackfillProgress& progress) = 0;
  [[nodiscard]] virtual std::unique_ptr<EventDoor> events() = 0;
};

}  // namespace hapax::cli
