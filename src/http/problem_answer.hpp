// Turns an exception into the answer for the client: application/problem+json.
#pragma once

#include "http/request.hpp"

#include <exception>
#include <string>

namespace hapax::http {

struct ProblemAnswer {
  Response response;
  std::string name;     // "StaleLease"
  std::string defect;   // for the server's log, not for the client: the exception, if it is not one of hapax's errors
  bool closes = false;  // the connection ends after the answer
};

// `asked_by_operator`: the caller has the admin scope, or the server has no tokens. Other callers see no details of the
// store.
[[nodiscard]] ProblemAnswer problem_answer(const std::exception_ptr& error, bool asked_by_operator);

}  // namespace hapax::http
