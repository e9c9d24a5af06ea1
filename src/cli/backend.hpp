// Backend: a command's requests, as calls of the API's routes; its transport carries them to the routes in this process,
// on the store itself, or on a server.
//
// Answers are the JSON documents of src/api. A command prints a document with --json, and reads it
// (api/execution_read.hpp) to make its tables, so each command is written once. Errors are hapax::Error with the names of
// docs/reference/errors.md.
//
// The shell makes and owns the backend. One command uses it, on one thread at a time; any thread may call `overview`.
#pragma once

#include <hapax/uuid.hpp>

#include "api/request_fields.hpp"
#include "app/operations.hpp"
#include "cli/transport.hpp"
#include "model/execution.hpp"
#include "schedule/activities.hpp"

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
// The report so far, and the fraction of the range that is done.
using BackfillProgress = std::function<void(const schedule::Activities::Backfill& so_far, double fraction)>;

class Backend {
 public:
  explicit Backend(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

  // Transport::location and Transport::now.
  [[nodiscard]] std::string location() { return transport_->location(); }
  [[nodiscard]] Time now() { return transport_->now(); }

  // ---- Executions ------------------------------------------------------------------------------------------------
  [[nodiscard]] Uuid find(const ExecutionName& name);
  // Throws NotFound if the execution does not exist.
  void check(const Uuid& id);
  // The execution with attempts[] and, for a workflow, journal[].
  [[nodiscard]] std::string show(const Uuid& id);
  // One page, newest first.
  [[nodiscard]] std::vector<std::string> list(const Listing& listing);
  [[nodiscard]] std::string admit(const api::RequestFields& fields);
  [[nodiscard]] std::unique_ptr<Bulk> bulk() { return transport_->bulk(); }
  // The outcome, or {"id","status"} if `at_most` passes first. Throws ResultExpired when the record is gone.
  [[nodiscard]] std::string await(const Uuid& id, std::optional<Duration> at_most);
  [[nodiscard]] std::string explain(const Uuid& id);
  [[nodiscard]] std::string identity(const api::RequestFields& fields);
  // {"cancelled","requested","finished","executions"}, for at most limits::list_page IDs.
  [[nodiscard]] std::string cancel(std::span<const Uuid> ids, const std::string& reason);
  // {"retried","refused","executions"}, for at most limits::list_page IDs.
  [[nodiscard]] std::string retry(std::span<const Uuid> ids, const Retrying& how);
  // Both return the number of IDs that were dead letters. Both throw NotFound for a single ID that is none.
  [[nodiscard]] std::int64_t discard(std::span<const Uuid> ids);
  [[nodiscard]] std::int64_t annotate(std::span<const Uuid> ids, const std::string& note);

  // ---- Workflows -------------------------------------------------------------------------------------------------
  // {"id","workflow","workflow_id","signal"}
  [[nodiscard]] std::string signal(const model::Signal& signal);
  [[nodiscard]] std::string export_journal(const Uuid& id);
  [[nodiscard]] std::string fork(const Uuid& id, int steps, const std::string& workflow_id);

  // ---- Queues ----------------------------------------------------------------------------------------------------
  [[nodiscard]] std::vector<std::string> queues();
  [[nodiscard]] std::string queue(const std::string& name);
  // set_queue and act_on_queue return the queue's document after the change. set_queue makes a queue that does not
  // exist; act_on_queue and move make one only for Absent::make, and else throw NotFound.
  [[nodiscard]] std::string set_queue(const std::string& name, const QueueValues& values);
  [[nodiscard]] std::string act_on_queue(const std::string& name, QueueAct act, Absent absent);
  [[nodiscard]] Purged purge(const std::string& name);
  [[nodiscard]] std::int64_t move(const MoveRequest& request);
  // api/overview_json.hpp. Any thread.
  [[nodiscard]] std::string overview();

  // ---- Activities and events ---------------------------------------------------------------------------------------
  [[nodiscard]] KnownNames known_names();
  [[nodiscard]] std::vector<std::string> activities(int limit, const std::optional<std::string>& after);
  // The activity with its next fires. Throws NotFound.
  [[nodiscard]] std::string activity(const std::string& id, bool versions);
  [[nodiscard]] std::optional<std::string> find_activity(const std::string& id);
  // Throws NotFound for an activity that never existed; accepts a deleted one.
  void check_activity(const std::string& id);
  // The activity's document with "result": created, changed or unchanged.
  [[nodiscard]] std::string apply_activity(const schedule::Activity& activity);
  void remove_activity(const std::string& id);
  [[nodiscard]] std::string pause_activity(const std::string& id, const std::string& note);
  [[nodiscard]] std::string resume_activity(const std::string& id);
  [[nodiscard]] std::string trigger_activity(const std::string& id, const schedule::Activities::Manual& manual);
  // A call of the route runs a bounded number of ticks; `progress` is called between two calls.
  [[nodiscard]] std::string backfill_activity(const std::string& id, const BackfillRange& range,
                                              const BackfillProgress& progress);
  [[nodiscard]] std::unique_ptr<EventDoor> events() { return transport_->events(); }

 private:
  [[nodiscard]] std::string get(std::string target, Duration waits = Duration::zero());
  // `repeatable`: doing it twice has the same effect as once.
  [[nodiscard]] std::string post(std::string target, std::string body, bool repeatable);
  [[nodiscard]] std::string put(std::string target, std::string body);

  const std::unique_ptr<Transport> transport_;
};

}  // namespace hapax::cli
