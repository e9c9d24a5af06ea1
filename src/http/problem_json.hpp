// From an exception to the problem object: the API's answer, and the command line's output with --json.
#pragma once

#include <hapax/error.hpp>

#include <exception>
#include <string>

namespace hapax::http {

struct Problem {
  std::string name;  // "TaskAlreadyExists"
  std::string message;
  int http_status = 0;
  std::string facts;  // further members of the problem object, as JSON text: ,"existing_execution_id":"…"
};

[[nodiscard]] Problem problem_of(const std::exception& error);

// {"type","title","status","detail","message","error",…facts}
[[nodiscard]] std::string problem_json(const Problem& problem);

}  // namespace hapax::http
