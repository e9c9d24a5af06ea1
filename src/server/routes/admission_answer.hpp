// What an admission is answered with (SPEC I12), for single requests and for the lines of a batch.
#pragma once

#include "model/execution.hpp"
#include "server/principal.hpp"
#include "wire/problem.hpp"
#include "wire/request.hpp"

#include <optional>
#include <string>

namespace hapax::server {

// Whoever may not read learns that a key is taken and nothing else: for them every conflict is a refusal, whatever they
// asked for.
void fit_to_principal(wire::RequestFields& fields, const Principal& principal);

// What was asked for, as messages name it.
struct Asked {
  std::string task;
  std::string key;  // empty: an identity made of the input, or none
  model::Kind kind = model::Kind::task;
};
[[nodiscard]] Asked asked_of(const model::NewExecution& request);

// The refusal of an admission, with facts for those who may read; nothing: it is none.
[[nodiscard]] std::optional<wire::Problem> refusal_of(const model::Admission& admission, const Asked& asked,
                                                      const Principal& principal);

// Whether the answer says when to ask again: the holder is in progress, and the caller may know.
[[nodiscard]] bool is_in_progress(const model::Admission& admission, const Principal& principal);

// InvalidArgument and its kin about a key, said with the API's name for it.
[[nodiscard]] wire::Problem named_for_api(wire::Problem problem);

}  // namespace hapax::server
