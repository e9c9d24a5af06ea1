// Question: a request to the routes of an API, for a server (http/client.hpp) or for this process (http/local_call.hpp).
#pragma once

#include <hapax/error.hpp>
#include <hapax/time.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace hapax::http {

struct Question {
  std::string_view method = "GET";
  std::string target{};  // path and query, percent-encoded
  std::string body{};
  std::string_view content_type = "application/json";
  bool repeatable = false;
  Duration waits{0};  // how long the server may delay its answer (a long poll)
};

// A route's refusal, with the name and message of its problem document.
class RemoteProblem : public Error {
 public:
  RemoteProblem(std::string_view name, const std::string& message, int http_status, std::string problem)
      : Error(name, message), status(http_status), document(std::move(problem)) {}
  const int status;
  const std::string document;  // JSON
};

}  // namespace hapax::http
