// A refused admission as an error with a stable name.
#pragma once

#include "model/execution.hpp"

#include <string_view>

namespace hapax::model {

// The name of the error for a refused admission: "TaskAlreadyExists"; empty for an admission that is no refusal.
[[nodiscard]] std::string_view refusal_name(AdmissionVerdict verdict);
[[nodiscard]] bool is_refused(const Admission& admission);
// {"TaskAlreadyExists", …}: the error that a workflow gets when the execution it starts is refused.
[[nodiscard]] ErrorInfo refusal_of(const Admission& admission);
// {"ResultExpired", …}: the holder's record has been deleted.
[[nodiscard]] ErrorInfo expired_error();

}  // namespace hapax::model
