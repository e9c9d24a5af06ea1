// Executions whose payloads cannot be decrypted because their encryption key is missing. The store returns such an
// execution without payloads and with an error that says why.
#pragma once

#include <hapax/error.hpp>

#include "model/execution.hpp"
#include "model/turn.hpp"

#include <string_view>

namespace hapax::model {

inline constexpr std::string_view unreadable_type = "DecryptionFailed";

// A handler's error may have the same type, but then the execution has an input.
[[nodiscard]] inline bool is_unreadable(const Execution& execution) {
  return execution.input.empty() && execution.error && execution.error->type == unreadable_type;
}

// Throws DecryptionFailed. Callers that need the payload check this, so that an empty text is not taken for it.
inline void check_readable(const Execution& execution) {
  if (is_unreadable(execution)) { throw DecryptionFailed(execution.error->message); }
}

// The same check for a history.
inline void check_readable(const History& history) {
  if (!history.unreadable.empty()) { throw DecryptionFailed(history.unreadable); }
}

}  // namespace hapax::model
