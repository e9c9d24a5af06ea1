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

// Throws DecryptionFailed for an unreadable execution. Callers that need the payload call this first, so that they do
// not take the empty text for it.
inline void check_readable(const Execution& execution) {
  if (is_unreadable(execution)) { throw DecryptionFailed(execution.error->message); }
}

// Throws DecryptionFailed for an unreadable history.
inline void check_readable(const History& history) {
  if (!history.unreadable.empty()) { throw DecryptionFailed(history.unreadable); }
}

}  // namespace hapax::model
