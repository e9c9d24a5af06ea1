// Every failure hapax reports is a hapax::Error with a stable name. Match on the type or on name(), never on the text.
//
// docs/reference/errors.md has a paragraph for each: its cause and its remedy.
#pragma once

#include <hapax/status.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace hapax {

// Base of all hapax exceptions.
class Error : public std::runtime_error {
 public:
  Error(std::string_view name, const std::string& message) : std::runtime_error(message), name_(name) {}

  // The name used in the docs and the API: "StaleLease", "TaskAlreadyExists", … It never changes.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// ---- The caller's input ------------------------------------------------------------------------------------------

// A value that hapax does not accept. The message names the field, the value and what was expected.
class InvalidArgument : public Error {
 public:
  InvalidArgument(std::string field, const std::string& message)
      : Error("InvalidArgument", field + ": " + message), field_(std::move(field)) {}
  [[nodiscard]] const std::string& field() const { return field_; }

 protected:
  InvalidArgument(std::string_view name, std::string field, const std::string& message)
      : Error(name, field + ": " + message), field_(std::move(field)) {}

 private:
  std::string field_;
};

// Malformed JSON, or JSON that hapax refuses (depth, duplicate keys, lone surrogates, integers over 64 bits).
class InvalidJson : public InvalidArgument {
 public:
  InvalidJson(std::string field, const std::string& message, std::size_t byte_offset)
      : InvalidArgument("InvalidJson", std::move(field), message + " (at byte " + std::to_string(byte_offset) + ")"),
        byte_offset_(byte_offset) {}
  [[nodiscard]] std::size_t byte_offset() const { return byte_offset_; }

 private:
  std::size_t byte_offset_;
};

// An input or result over its size limit; the message names the limit.
class PayloadTooLarge : public InvalidArgument {
 public:
  PayloadTooLarge(std::string field, std::size_t size, std::size_t limit)
      : InvalidArgument("PayloadTooLarge", std::move(field),
                        std::to_string(size) + " bytes, the limit is " + std::to_string(limit) + " bytes") {}
};

// A caller's key that is empty, over 255 bytes, not UTF-8, or contains control characters.
class InvalidIdempotencyKey : public InvalidArgument {
 public:
  explicit InvalidIdempotencyKey(const std::string& message, std::string field = "task_id")
      : InvalidArgument("InvalidIdempotencyKey", std::move(field), message) {}
};

// A request without a key for a task declared caller_provided.
class IdempotencyKeyRequired : public InvalidArgument {
 public:
  explicit IdempotencyKeyRequired(const std::string& task)
      : InvalidArgument("IdempotencyKeyRequired", "task_id",
                        "task '" + task +
                            "' is declared caller_provided: each request needs a key that says what it is, such as "
                            "\"payment-123\"") {}
};

// Two declarations of one task disagree about its identity rules. The message names both sides.
class ConflictingDeclaration : public Error {
 public:
  explicit ConflictingDeclaration(const std::string& message) : Error("ConflictingDeclaration", message) {}
};

// No execution, queue, activity or dead letter has this ID or name.
class NotFound : public Error {
 public:
  explicit NotFound(const std::string& message) : Error("NotFound", message) {}
};

// ---- Admission ---------------------------------------------------------------------------------------------------

// The key is held by a pending or running execution, and the caller asked for an error in this case.
class TaskAlreadyExists : public Error {
 public:
  TaskAlreadyExists(const std::string& message, Uuid existing, Status existing_status)
      : Error("TaskAlreadyExists", message), existing_execution_id(existing), status(existing_status) {}
  const Uuid existing_execution_id;
  const Status status;
};

// The key is held by a completed execution, and the caller asked for an error in this case.
class TaskAlreadyCompleted : public Error {
 public:
  TaskAlreadyCompleted(const std::string& message, Uuid existing, Time at, std::string result_json)
      : Error("TaskAlreadyCompleted", message),
        existing_execution_id(existing),
        completed_at(at),
        result(std::move(result_json)) {}
  const Uuid existing_execution_id;
  const Time completed_at;
  const std::string result;  // JSON; empty when the execution's record has expired and only its key is still held
};

// Under reuse policy `reject`: the execution that holds the key ended as failed, cancelled or timed out.
class TaskAlreadyFinished : public Error {
 public:
  TaskAlreadyFinished(const std::string& message, Uuid existing, Status existing_status)
      : Error("TaskAlreadyFinished", message), existing_execution_id(existing), status(existing_status) {}
  const Uuid existing_execution_id;
  const Status status;
};

// The key is held by an execution with another input.
class IdempotencyMismatch : public Error {
 public:
  IdempotencyMismatch(const std::string& message, Uuid existing)
      : Error("IdempotencyMismatch", message), existing_execution_id(existing) {}
  const Uuid existing_execution_id;
};

// The queue is draining: it finishes its executions and takes no new ones.
class QueueDraining : public Error {
 public:
  explicit QueueDraining(const std::string& message) : Error("QueueDraining", message) {}
};

// ---- Outcomes ----------------------------------------------------------------------------------------------------

// Thrown by result() of an execution that did not complete. The message is that of the recorded error.
class ExecutionFailed : public Error {
 public:
  ExecutionFailed(std::string_view name, const std::string& message, Uuid id, Status final_status)
      : Error(name, message), execution_id(id), status(final_status) {}
  const Uuid execution_id;
  const Status status;
};

// The wait timed out before the execution ended.
class WaitTimeout : public Error {
 public:
  explicit WaitTimeout(const std::string& message) : Error("WaitTimeout", message) {}
};

// The execution's record was deleted by retention, so its result is no longer available.
class ResultExpired : public Error {
 public:
  explicit ResultExpired(const std::string& message) : Error("ResultExpired", message) {}
};

// A write under an old fence: another worker has the execution, or it has ended. Nothing was changed.
class StaleLease : public Error {
 public:
  explicit StaleLease(const std::string& message) : Error("StaleLease", message) {}
};

// The execution's status does not allow this retry, signal, query or fork.
class WrongStatus : public Error {
 public:
  WrongStatus(const std::string& message, Status actual) : Error("WrongStatus", message), status(actual) {}
  const Status status;
};

// ---- Guarded functions -------------------------------------------------------------------------------------------

// The same call was made before, and the guard's on_duplicate is `raise`.
class DuplicateExecution : public Error {
 public:
  DuplicateExecution(const std::string& message, Time started, std::optional<Time> completed, std::string result_json)
      : Error("DuplicateExecution", message),
        started_at(started),
        completed_at(completed),
        result(std::move(result_json)) {}
  const Time started_at;
  const std::optional<Time> completed_at;  // none: the first call is still running
  const std::string result;                // JSON; empty unless the first call completed
};

// The same call was made before and failed, and the guard's on_failure is `lock`: the failure is the recorded outcome.
class RecordedFailure : public Error {
 public:
  RecordedFailure(const std::string& message, std::string error_type, Time failed)
      : Error("RecordedFailure", message), type(std::move(error_type)), failed_at(failed) {}
  const std::string type;  // of the recorded error: its name(), or its C++ type
  const Time failed_at;
};

// The guarded function ran, but its result cannot be stored. The record is completed with the result null.
class ResultNotStorable : public Error {
 public:
  explicit ResultNotStorable(const std::string& message) : Error("ResultNotStorable", message) {}
};

// A guarded function called itself with the same key, directly or through other functions. Waiting for the first call
// would never end.
class GuardRecursion : public Error {
 public:
  explicit GuardRecursion(const std::string& message) : Error("GuardRecursion", message) {}
};

// ---- The store ---------------------------------------------------------------------------------------------------

// The store cannot be reached, opened or written (down, read-only, full). Trying again later may help.
class StoreUnavailable : public Error {
 public:
  explicit StoreUnavailable(const std::string& message) : Error("StoreUnavailable", message) {}

 protected:
  StoreUnavailable(std::string_view name, const std::string& message) : Error(name, message) {}
};

// Another writer held the store longer than the busy timeout.
class StoreBusy : public StoreUnavailable {
 public:
  explicit StoreBusy(const std::string& message) : StoreUnavailable("StoreBusy", message) {}
};

// The connection broke between a commit and its answer, and reading the outcome back failed too. The write may or may
// not have taken effect. Repeating it with the same key, or the same execution ID, is safe.
class CommitUnknown : public StoreUnavailable {
 public:
  explicit CommitUnknown(const std::string& message) : StoreUnavailable("CommitUnknown", message) {}
};

// The store's schema is missing, older or newer than this build can use. The message names the command to run.
class SchemaMismatch : public Error {
 public:
  explicit SchemaMismatch(const std::string& message) : Error("SchemaMismatch", message) {}
};

// The call is not supported by this kind of store (complete_in on the memory store, attach on SQLite).
class Unsupported : public Error {
 public:
  explicit Unsupported(const std::string& message) : Error("Unsupported", message) {}
};

// An encrypted payload cannot be decrypted: its key is not in the key file, or the payload was changed or moved in the
// database. Nothing was changed; the right key file makes it readable again.
class DecryptionFailed : public Error {
 public:
  explicit DecryptionFailed(const std::string& message) : Error("DecryptionFailed", message) {}
};

// The configuration is invalid. The message begins with the place (hapax.toml:3 or the variable's name) and names the
// value and what was expected.
class ConfigurationError : public Error {
 public:
  explicit ConfigurationError(const std::string& message) : Error("ConfigurationError", message) {}
};

// ---- Use of the library ------------------------------------------------------------------------------------------

// The program broke a rule of the API: an enqueue inside app.transaction, a use of a context after its handler
// returned, a worker without handlers.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error("UsageError", message) {}
};

// The app is shutting down and takes no more work.
class ShuttingDown : public Error {
 public:
  ShuttingDown() : Error("ShuttingDown", "the application is shutting down") {}
};

}  // namespace hapax
