// Backend: where a command's answers come from: the store itself, or a server that is asked over HTTP.
//
// What it answers are the documents of src/wire, as JSON text: what a command prints with --json, and what its tables are
// made of (wire/execution_read.hpp). So a command is written once. Errors are the same too: hapax::Error with the names of
// docs/reference/errors.md, whoever threw first.
//
// Made by the shell, used by one command on the main thread; `overview` also by the thread that looks for `hapax top`.
#pragma once

#include <hapax/error.hpp>
#include <hapax/uuid.hpp>

#include "engine/purging.hpp"
#include "model/execution.hpp"
#include "schedule/activities.hpp"
#include "schedule/event.hpp"
#include "wire/request.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hapax::cli {

// What an execution is known as, beside its id. One of the three.
struct ExecutionName {
  std::optional<std::pair<std::string, std::string>> task;      // and the key
  std::optional<std::pair<std::string, std::string>> workflow;  // and the workflow's id
  std::optional<std::string> queue;                             // where the key was given, if it is of scope queue
  std::optional<std::string> run;                               // of an activity
};

struct Listing {
  model::ListQuery query;               // but its namespace, which is the backend's
  std::optional<std::string> activity;  // only its runs
};

struct Retrying {
  bool new_effect_key = false;
  bool named = false;  // ids were given one by one: a single one that cannot be retried is an error
};

struct SignalRequest {
  std::string name;
  std::string data = "null";
  std::optional<std::string> once;
};

// What became of a line of a bulk.
struct BulkAnswer {
  std::string admission;  // a document; empty: it was refused
  std::string error;
  std::string message;
};

// A line of a batch that cannot be taken.
class BadLine : public Error {
 public:
  BadLine(std::size_t at, std::string_view name, const std::string& message) : Error(name, message), index(at) {}
  const std::size_t index;  // in the batch
};

// Many requests, admitted batch by batch, each batch as a whole or not at all.
class Bulk {
 public:
  virtual ~Bulk() = default;
  // Throws what is wrong with it, as far as that can be told here.
  virtual void add(wire::RequestFields fields) = 0;
  [[nodiscard]] virtual bool is_full() const = 0;
  // What was added since. Throws BadLine, having admitted none of it.
  [[nodiscard]] virtual std::vector<BulkAnswer> flush() = 0;
};

// Settings of a queue by their keys (config/queue_keys.hpp); an empty value takes one away.
using QueueValues = std::vector<std::pair<std::string, std::string>>;
enum class QueueAct : std::uint8_t { pause, resume, drain };
using engine::Purged;
struct Moving {
  std::int64_t limit = INT64_MAX;
  bool create = false;  // the queue to move to
};

// What this namespace has heard of.
struct KnownNames {
  std::vector<std::string> tasks;  // and workflows
  std::vector<std::string> queues;
};

// Ticks of a time gone by, as people write it: parse_instant's words, in the activity's time zone.
struct BackfillRange {
  std::string from;
  std::string to;
};
using BackfillProgress = std::function<void(const schedule::Activities::Backfill& so_far, std::int64_t left)>;

// Events on their way to the activities that want them.
class EventDoor {
 public:
  virtual ~EventDoor() = default;
  // What is to be done here about those without an id; a server may refuse them all the same.
  [[nodiscard]] virtual schedule::MissingId missing_id() = 0;
  [[nodiscard]] virtual std::size_t batch_most() const = 0;
  // One envelope with what it was read as.
  struct Outgoing {
    schedule::Event event;
    std::string envelope;
  };
  // A document for each (wire/event_json.hpp); without "runs" if the caller may not know. Throws BadLine, having routed
  // none of them.
  [[nodiscard]] virtual std::vector<std::string> send(std::span<const Outgoing> events) = 0;
  // Nothing more comes.
  virtual void flush() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Where it is, for people.
  [[nodiscard]] virtual std::string location() = 0;

  // By the store's clock, or this machine's where that is not told.
  [[nodiscard]] virtual Time now() = 0;

  // ---- Executions ------------------------------------------------------------------------------------------------
  [[nodiscard]] virtual Uuid find(const ExecutionName& name) = 0;
  // Throws NotFound unless it is there.
  virtual void check(const Uuid& id) = 0;
  // With attempts[] and, of a workflow, journal[].
  [[nodiscard]] virtual std::string show(const Uuid& id) = 0;
  // One page, newest first.
  [[nodiscard]] virtual std::vector<std::string> list(const Listing& listing) = 0;
  [[nodiscard]] virtual std::string admit(const wire::RequestFields& fields) = 0;
  [[nodiscard]] virtual std::unique_ptr<Bulk> bulk() = 0;
  // The outcome, or {"id","status"} when the time was over first. Throws ResultExpired when its record is gone.
  [[nodiscard]] virtual std::string await(const Uuid& id, std::optional<Duration> at_most) = 0;
  [[nodiscard]] virtual std::string explain(const Uuid& id) = 0;
  [[nodiscard]] virtual std::string identity(const wire::RequestFields& fields) = 0;
  // {"cancelled","requested","finished","executions"} of at most limits::list_page ids.
  [[nodiscard]] virtual std::string cancel(std::span<const Uuid> ids, const std::string& reason) = 0;
  // {"retried","refused","executions"} likewise.
  [[nodiscard]] virtual std::string retry(std::span<const Uuid> ids, const Retrying& how) = 0;
  // How many there were.
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
  // The queue as it is then. set_queue makes one that is not there, the others when they are told to create; else NotFound.
  [[nodiscard]] virtual std::string set_queue(const std::string& name, const QueueValues& values) = 0;
  [[nodiscard]] virtual std::string act_on_queue(const std::string& name, QueueAct act, bool create) = 0;
  [[nodiscard]] virtual Purged purge(const std::string& name) = 0;
  [[nodiscard]] virtual std::int64_t move(const std::string& from, const std::string& to, const Moving& how) = 0;
  // wire/overview_json.hpp. Any thread.
  [[nodiscard]] virtual std::string overview() = 0;

  // ---- Activities and events ---------------------------------------------------------------------------------------
  [[nodiscard]] virtual KnownNames known_names() = 0;
  [[nodiscard]] virtual std::vector<std::string> activities(int limit, const std::optional<std::string>& after) = 0;
  // With its next fires. Throws NotFound.
  [[nodiscard]] virtual std::string activity(const std::string& id, bool versions) = 0;
  [[nodiscard]] virtual std::optional<std::string> find_activity(const std::string& id) = 0;
  // Throws NotFound for one that was never there.
  virtual void check_activity(const std::string& id) = 0;
  // The activity, with "result": created, changed or unchanged.
  [[nodiscard]] virtual std::string apply_activity(const schedule::Activity& activity) = 0;
  virtual void remove_activity(const std::string& id) = 0;
  [[nodiscard]] virtual std::string pause_activity(const std::string& id, const std::string& note) = 0;
  [[nodiscard]] virtual std::string resume_activity(const std::string& id) = 0;
  [[nodiscard]] virtual std::string trigger_activity(const std::string& id,
                                                     const schedule::Activities::Manual& manual) = 0;
  // `progress` may be left unasked.
  [[nodiscard]] virtual std::string backfill_activity(const std::string& id, const BackfillRange& range,
                                                      const BackfillProgress& progress) = 0;
  [[nodiscard]] virtual std::unique_ptr<EventDoor> events() = 0;
};

}  // namespace hapax::cli
