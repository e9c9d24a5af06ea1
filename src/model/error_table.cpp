#include "model/error_table.hpp"

#include <algorithm>
#include <array>

namespace hapax::model {

namespace {

// tests/rooms/errors_test.py compares this table with hapax/error.hpp, the statuses of http::HttpError and
// docs/reference/errors.md.
constexpr std::array error_kinds = {
    // The caller's input
    ErrorKind{"InvalidArgument", 400, exit_usage},
    ErrorKind{"InvalidJson", 400, exit_data},
    ErrorKind{"PayloadTooLarge", 413, exit_data},
    ErrorKind{"InvalidIdempotencyKey", 400, exit_data},
    ErrorKind{"IdempotencyKeyRequired", 400, exit_data},
    ErrorKind{"ConflictingDeclaration", 409, exit_conflict},
    ErrorKind{"NotFound", 404, exit_missing},
    ErrorKind{"Unauthorized", 401, exit_permission},
    ErrorKind{"Forbidden", 403, exit_permission},
    ErrorKind{"UsageError", 400, exit_usage},
    ErrorKind{"MissingFile", 404, exit_missing},
    ErrorKind{"ConfigurationError", 500, exit_configuration},
    // Admission
    ErrorKind{"TaskAlreadyExists", 409, exit_conflict},
    ErrorKind{"TaskAlreadyCompleted", 409, exit_conflict},
    ErrorKind{"TaskAlreadyFinished", 409, exit_conflict},
    ErrorKind{"IdempotencyMismatch", 422, exit_data},
    ErrorKind{"QueueDraining", 409, exit_conflict},
    // Outcomes
    ErrorKind{"WaitTimeout", 202, exit_still_going},
    ErrorKind{"ResultExpired", 410, exit_missing},
    ErrorKind{"StaleLease", 409, exit_conflict},
    ErrorKind{"WrongStatus", 409, exit_conflict},
    // Guarded functions: no route and no command throws these
    ErrorKind{"DuplicateExecution", 500, exit_internal},
    ErrorKind{"RecordedFailure", 500, exit_internal},
    ErrorKind{"ResultNotStorable", 500, exit_internal},
    ErrorKind{"GuardRecursion", 500, exit_internal},
    // The store, or the server in its place
    ErrorKind{"StoreUnavailable", 503, exit_store},
    ErrorKind{"StoreBusy", 503, exit_store},
    ErrorKind{"CommitUnknown", 503, exit_store},
    ErrorKind{"ServerUnavailable", 503, exit_store},
    ErrorKind{"BadAnswer", 500, exit_store},
    ErrorKind{"SchemaMismatch", 500, exit_configuration},
    ErrorKind{"DecryptionFailed", 500, exit_configuration},
    ErrorKind{"Unsupported", 501, exit_usage},
    // Over HTTP
    ErrorKind{"BadRequest", 400, exit_internal},
    ErrorKind{"RequestTimeout", 408, exit_store},
    ErrorKind{"MethodNotAllowed", 405, exit_internal},
    ErrorKind{"ExpectationFailed", 417, exit_internal},
    ErrorKind{"NotImplemented", 501, exit_internal},
    ErrorKind{"VersionNotSupported", 505, exit_internal},
    ErrorKind{"TargetTooLong", 414, exit_internal},
    ErrorKind{"HeadersTooLarge", 431, exit_internal},
    ErrorKind{"UnsupportedMediaType", 415, exit_internal},
    ErrorKind{"QueryTimeout", 504, exit_internal},
    ErrorKind{"QueryFailed", 502, exit_internal},
    ErrorKind{"MisdirectedRequest", 421, exit_internal},
    ErrorKind{"TooManyConnections", 503, exit_store},
    // Running
    ErrorKind{"OutputError", 500, exit_store},
    ErrorKind{"ShuttingDown", 503, exit_store},
    ErrorKind{"InternalError", 500, exit_internal},
};

}  // namespace

const ErrorKind* find_error(std::string_view name) {
  const auto found = std::ranges::find(error_kinds, name, &ErrorKind::name);
  return found == error_kinds.end() ? nullptr : &*found;
}

}  // namespace hapax::model
