// Remote queries of a running workflow. A question is an internal workflow in a reserved queue. A worker that has the
// asked workflow's function claims the question; the question's result is the answer. So questions use the same path as
// all other work.
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

// The name of the internal workflow that asks runs of `workflow`. Input {"execution", "query", "question"}, result
// {"answer"} or {"error": {"type", "message"}}; question and answer are JSON texts.
[[nodiscard]] inline std::string question_name(std::string_view workflow) {
  std::string name(question_prefix);
  if (name.size() + workflow.size() <= limits::name_bytes) { return name.append(workflow); }
  return name + base::to_hex(base::sha256(workflow));
}

[[nodiscard]] inline bool is_question(std::string_view workflow) { return workflow.starts_with(question_prefix); }

// Throws InvalidArgument for a reserved name, which user code may not register a function for.
inline void refuse_question(std::string_view name, std::string field) {
  if (!is_question(name)) { return; }
  throw InvalidArgument(std::move(field), base::quoted(name) + " is reserved: names that begin with '" +
                                              std::string(question_prefix) + "' are hapax's own");
}

}  // namespace hapax::model
