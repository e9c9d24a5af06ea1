// An admission that was refused, as an error with the names of SPEC I9 and I11.
#pragma once

#include "model/execution.hpp"

namespace hapax::model {

[[nodiscard]] bool is_refused(const Admission& admission);
// {"TaskAlreadyExists", …}: what a workflow gets that wanted to start it.
[[nodiscard]] ErrorInfo refusal_of(const Admission& admission);
// {"ResultExpired", …}: the holder's record is gone.
[[nodiscard]] ErrorInfo expired_error();

}  // namespace hapax::model
