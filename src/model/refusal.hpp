// A refused admission as an error with a stable name and the facts of the holder: ID, status, end, result.
#pragma once

#include <hapax/options.hpp>

#include "model/execution.hpp"

#include <string>
#include <string_view>

namespace hapax::model {

// The name of the error for a refused admission: "TaskAlreadyExists"; empty for an admission that is no refusal.
[[nodiscard]] std::string_view refusal_name(AdmissionVerdict verdict);
[[nodiscard]] bool is_refused(const Admission& admission);
// {"TaskAlreadyExists", …}: the error that a workflow gets when the execution it starts is refused.
[[nodiscard]] ErrorInfo refusal_of(const Admission& admission);
// {"ResultExpired", …}: the holder's record has been deleted.
[[nodiscard]] ErrorInfo expired_error();

// The parts of a request that error messages name.
struct Asking {
  std::string_view task;
  std::string_view key;  // empty: the identity is made from the input
  Kind kind = Kind::task;
  IdentityMode mode = IdentityMode::hold;
};
[[nodiscard]] Asking asking_of(const NewExecution& request);  // views into `request`
// The same with views into `task` and `options`, for a request that the engine consumes.
[[nodiscard]] Asking asking_of(const std::string& task, const EnqueueOptions& options, const NewExecution& request);

// Throws the error for a refused admission (TaskAlreadyExists, IdempotencyMismatch, …); returns for created and
// deduplicated ones.
void throw_if_refused(const Admission& admission, const Asking& asking);

}  // namespace hapax::model
