// Operations: every act on the executions, dead letters and queues of a namespace. App and Admin (hapax/app.hpp,
// hapax/admin.hpp), the routes and the commands all act through it, so that the three refuse the same acts in the same
// words.
//
// An object is cheap: it holds a namespace and the actor for the audit log, and keeps nothing between calls. Every
// member blocks, as it calls the store. An act that makes executions claimable, or frees what others wait for, wakes the
// workers of this process and of other processes. Any thread may call any member. The engine must outlive the object.
#pragma once

#include <hapax/inspect.hpp>

#include "engine/engine.hpp"
#include "model/audit.hpp"
#include "model/execution.hpp"
#include "model/explain.hpp"
#include "model/token.hpp"
#include "model/turn.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::app {

// Executions of one namespace, without payloads. Acts on many executions take at most limits::list_page at a time.
using Page = std::vector<model::Execution>;

// The result of one retry. `new_id` is the ID of the new run, if there is one.
struct Retried {
  Uuid id;
  Uuid new_id;
  model::RetryResult result;
};
struct RetryOptions {
  bool new_effect_key = false;  // the new run gets another effect key: a new external request
};

struct Signalled {
  model::Execution run;                  // id, task and identity_key are those of the run that got the signal
  std::optional<model::QueueRef> woken;  // its queue, if the signal made it due
};

// Whether an act makes a queue that does not exist, or refuses its name as mistyped.
enum class Absent : std::uint8_t { refuse, make };

struct Purged {
  std::int64_t cancelled = 0;  // pending executions that have ended now
  std::int64_t requested = 0;  // workflows that have begun and now unwind
};

struct Moving {
  model::QueueRef to;
  std::int64_t limit = INT64_MAX;
  Absent target = Absent::refuse;
};

// Sets the statuses of a query without statuses: cancel takes pending and running executions, retry takes failed ones.
void select_unfinished(model::ListQuery& query);
void select_failed(model::ListQuery& query);

// The error for a single execution whose cancel or retry had no effect: WrongStatus, TaskAlreadyExists or NotFound.
[[noreturn]] void throw_cancel_refusal(const Uuid& id, const model::CancelResult& result);
[[noreturn]] void throw_retry_refusal(const Uuid& id, const model::RetryResult& result);
// Throws NotFound for an execution that is not a dead letter.
void require_dead_letter(const model::Execution& execution);
// Throws InvalidArgument for an execution that is not a workflow's run.
void require_workflow(const model::Execution& run);

// Throws InvalidArgument for a limit out of range, and for a move from a queue to itself. Operations calls both; a command
// calls them before it opens the store.
void check_audit(const model::AuditQuery& query);
void check_move(const model::QueueRef& from, const Moving& moving);

// The query of a list. Throws InvalidArgument for a limit out of range or an impossible filter.
[[nodiscard]] model::ListQuery query_of(const std::string& namespace_name, const ListOptions& options);

class Operations {
 public:
  Operations(engine::Engine& engine, std::string namespace_name, model::Actor by)
      : engine_(engine), namespace_name_(std::move(namespace_name)), by_(std::move(by)) {}

  [[nodiscard]] const std::string& namespace_name() const { return namespace_name_; }
  [[nodiscard]] store::Store& store() const { return engine_.store(); }
  [[nodiscard]] model::QueueRef queue_ref(std::string_view name) const { return {namespace_name_, std::string(name)}; }

  // ---- Executions ------------------------------------------------------------------------------------------------
  struct Explained {
    model::Execution execution;  // without payloads
    std::vector<model::Reason> reasons;
  };
  // Throws NotFound.
  [[nodiscard]] Explained explain(const Uuid& id) const;
  // The executions among `ids` that exist in the namespace, in the order of `ids`.
  [[nodiscard]] Page named(std::span<const Uuid> ids) const;

  // Cancels pending executions and asks running ones to stop. One result per execution, in order. The store escapes and
  // cuts the reason, so that a program can give any error's text; routes and commands call check_reason() first.
  [[nodiscard]] std::vector<model::CancelResult> cancel(const Page& page, std::string_view reason) const;
  // As cancel() of a page, for one execution. Throws NotFound, and WrongStatus for an execution that has ended.
  [[nodiscard]] model::CancelResult cancel(const Uuid& id, std::string_view reason) const;
  // Throws InvalidArgument for a reason that is too long or not UTF-8.
  static void check_reason(std::string_view reason);
  // Makes a new run of each execution that failed, was cancelled or timed out. One result per execution, in order.
  [[nodiscard]] std::vector<Retried> retry(const Page& page, const RetryOptions& options) const;
  // As retry() of a page, for one execution. Throws the errors of throw_retry_refusal().
  [[nodiscard]] Retried retry(const Uuid& id, const RetryOptions& options) const;

  // ---- Workflows -------------------------------------------------------------------------------------------------
  // Sends a signal to a run, or to the last run if it was continued as new. Throws NotFound, InvalidArgument and its
  // derived errors, and WrongStatus for a workflow that has ended.
  [[nodiscard]] Signalled signal(const model::Signal& signal) const;

  // ---- Dead letters ----------------------------------------------------------------------------------------------
  // The dead letters among `ids`. A single ID that is not a dead letter throws NotFound; among several IDs such an ID
  // is skipped.
  [[nodiscard]] Page dead_letters(std::span<const Uuid> ids) const;
  // Takes dead letters off their queue's list; their history stays. Returns how many were on the list.
  int discard(const Page& page) const;
  // Sets the note of finished executions; an empty note removes it. Returns how many notes were set. Throws
  // InvalidArgument for a note that check_note() refuses.
  int annotate(const Page& page, std::string_view note) const;
  static void check_note(std::string_view note);

  // ---- Queues ----------------------------------------------------------------------------------------------------
  // Throws NotFound, with a suggestion if a similar name exists.
  [[nodiscard]] model::QueueInfo queue(const model::QueueRef& queue) const;
  // Returns the queue after the change. Throws InvalidArgument for an invalid setting.
  model::QueueInfo configure(const model::QueueRef& queue, model::QueuePatch patch, Absent absent) const;
  // Cancels all pending executions. Throws NotFound for a queue that does not exist.
  Purged purge(const model::QueueRef& queue) const;
  // Moves pending executions; returns how many. Throws NotFound for a queue that does not exist.
  std::int64_t move(const model::QueueRef& from, const Moving& moving) const;

  // ---- Tokens ----------------------------------------------------------------------------------------------------
  // Throws InvalidArgument when the namespace has limits::tokens good tokens. The token's namespace is ignored.
  [[nodiscard]] model::Token add_token(model::NewToken token) const;
  // Revokes a token by its ID, or by its name if only one good token has it. Throws NotFound, also for a token that was
  // revoked already, and UsageError when several good tokens have the name.
  model::Token revoke_token(const std::string& id_or_name) const;

  // ---- Audit log -------------------------------------------------------------------------------------------------
  // Newest first; the query's namespace is ignored. Throws what check_audit() throws.
  [[nodiscard]] std::vector<model::AuditLine> audit(model::AuditQuery query) const;

 private:
  friend class PurgeSteps;
  friend class MoveSteps;

  void wake(const Page& page) const;

  engine::Engine& engine_;
  std::string namespace_name_;
  model::Actor by_;
};

// The executions of an act on many, in batches: executions named by ID, or all that a query matches. One thread uses a
// Batches. The act may remove executions from the list, so the batches follow a cursor.
struct Selection {
  std::vector<Uuid> ids;                  // at most limits::list_page
  std::optional<model::ListQuery> query;  // its namespace, limit, payloads and cursor are set by Batches
};
class Batches {
 public:
  Batches(const Operations& operations, Selection selection);
  // Reads the next batch; empty at the end. Throws NotFound when the query names a queue that does not exist.
  [[nodiscard]] Page next();
  // Whether next() would certainly return no execution.
  [[nodiscard]] bool at_end() const { return at_end_; }

 private:
  const Operations& operations_;
  Selection selection_;
  bool at_end_ = false;
};

// A purge or a move in steps, each a bounded number of transactions, between which the caller may stop. One thread uses
// it. The constructors throw what Operations::purge() and move() throw.
class PurgeSteps {
 public:
  PurgeSteps(const Operations& operations, model::QueueRef queue);
  // Does a part of the work. Returns false when nothing is left to do.
  [[nodiscard]] bool step();
  [[nodiscard]] const Purged& purged() const { return purged_; }

 private:
  const Operations& operations_;
  const model::QueueRef queue_;
  model::ListQuery begun_;  // workflows that have begun, which Store::purge() passes over
  bool pending_is_done_ = false;
  Purged purged_;
};

class MoveSteps {
 public:
  MoveSteps(const Operations& operations, model::QueueRef from, Moving moving);
  [[nodiscard]] bool step();
  [[nodiscard]] std::int64_t moved() const { return moved_; }

 private:
  const Operations& operations_;
  const model::QueueRef from_;
  const Moving moving_;
  std::int64_t moved_ = 0;
};

}  // namespace hapax::app
