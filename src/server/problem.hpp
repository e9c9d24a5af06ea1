// From an exception to the answer that a client gets: application/problem+json, with the names of SPEC.
#pragma once

#include "server/request.hpp"

#include <exception>
#include <string>

namespace hapax::server {

struct ProblemAnswer {
  Response response;
  std::string name;     // "StaleLease"
  std::string defect;   // for our log, not for the client: what was thrown, if it is none of our errors
  bool closes = false;  // the connection ends after it
};

// `asked_by_operator`: with a token that may change anything, or without any; others are not told what is behind the store.
[[nodiscard]] ProblemAnswer problem_answer(const std::exception_ptr& error, bool asked_by_operator);

}  // namespace hapax::server
