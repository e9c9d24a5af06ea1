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

[[nodiscard]] ProblemAnswer problem_answer(const std::exception_ptr& error);

}  // namespace hapax::server
