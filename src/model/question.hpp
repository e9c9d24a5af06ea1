// How a workflow is asked from afar (SPEC W4). A question is a workflow of hapax's own, in a queue of its own, that whoever
// has the asked one's function claims and answers; its result is the answer. So it needs no path beside that of all work.
#pragma once

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace hapax::model {

inline constexpr std::string_view question_queue = "hapax.query";
inline constexpr std::string_view question_prefix = "hapax.query:";

// The workflow that asks runs of `workflow`: {"execution", "query", "question"} in, {"answer"} or {"error": {"type",
// "message"}} out; question and answer are texts of JSON.
[[nodiscard]] inline std::string question_name(std::string_view workflow) {
  std::string name(question_prefix);
  if (name.size() + workflow.size() <= limits::name_bytes) { return name.append(workflow); }
  return name + base::to_hex(base::sha256(workflow));
}

[[nodiscard]] inline bool is_question(std::string_view workflow) { return workflow.starts_with(question_prefix); }

// Throws InvalidArgument for a name that nobody else may have a function for.
inline void refuse_question(std::string_view name, std::string field) {
  if (!is_question(name)) { return; }
  throw InvalidArgument(std::move(field), base::quoted(name) + " is not free: names that begin with '" +
                                              std::string(question_prefix) + "' are hapax's own");
}

}  // namespace hapax::model
