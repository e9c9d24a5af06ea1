// The answer to an admission, for single requests and for lines of a batch.
#pragma once

#include "api/request_fields.hpp"
#include "http/principal.hpp"
#include "http/problem_json.hpp"
#include "model/execution.hpp"
#include "model/refusal.hpp"

#include <optional>
#include <string>

namespace hapax::api {

// A caller without the read scope learns only that a key is taken: every conflict is a refusal, whatever the request
// asks for, and no holder is cancelled. Throws Forbidden when the request names a reuse policy.
void fit_to_principal(api::RequestFields& fields, const http::Principal& principal);

// The refusal of an admission, with facts for callers with the read scope; none: the admission is no refusal.
[[nodiscard]] std::optional<http::Problem> refusal_of(const model::Admission& admission, const model::Asking& asked,
                                                      const http::Principal& principal);

// Whether the answer has Retry-After: the holder is in progress, and the caller may know that.
[[nodiscard]] bool is_in_progress(const model::Admission& admission, const http::Principal& principal);

// Returns an error about the field `from` as one about `to`, the name that the caller used.
[[nodiscard]] http::Problem renamed(http::Problem problem, std::string_view from, std::string_view to);
// Returns an InvalidArgument or derived error about a request with the API's names of fields.
[[nodiscard]] http::Problem named_for_api(http::Problem problem, model::Kind kind = model::Kind::task);

}  // namespace hapax::api
