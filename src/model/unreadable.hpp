// Executions whose payloads do not open, as the key they were written with is not there (SPEC X5): the store shows them
// without, and their error says why.
#pragma once

#include <hapax/error.hpp>

#include "model/execution.hpp"
#include "model/turn.hpp"

#include <string_view>

namespace hapax::model {

inline constexpr std::string_view unreadable_type = "DecryptionFailed";

// A handler may name its error like this too, but what it ran on has an input.
[[nodiscard]] inline bool is_unreadable(const Execution& execution) {
  return execution.input.empty() && execution.error && execution.error->type == unreadable_type;
}

// For whoever needs the payload: throws DecryptionFailed rather than let nothing pass for it.
inline void check_readable(const Execution& execution) {
  if (is_unreadable(execution)) { throw DecryptionFailed(execution.error->message); }
}

// The same of a history that was asked for by itself.
inline void check_readable(const History& history) {
  if (!history.unreadable.empty()) { throw DecryptionFailed(history.unreadable); }
}

}  // namespace hapax::model
