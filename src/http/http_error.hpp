// HttpError: a refusal that belongs to HTTP itself (a wrong method, a body too long, an invalid token) and has no name
// in the library. Errors of the library keep their own types; http/problem_answer.hpp maps them to statuses.
#pragma once

#include <hapax/error.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::http {

class HttpError : public Error {
 public:
  HttpError(int status, std::string_view name, const std::string& message) : Error(name, message), status_(status) {}

  [[nodiscard]] int status() const { return status_; }
  // Further headers of the answer: Allow, Retry-After, WWW-Authenticate.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& headers() const { return headers_; }
  // Close the connection after the answer: the bytes that follow may belong to the refused request.
  [[nodiscard]] bool closes() const { return closes_; }

  HttpError& with(std::string name, std::string value) {
    headers_.emplace_back(std::move(name), std::move(value));
    return *this;
  }
  HttpError& closing() {
    closes_ = true;
    return *this;
  }

 private:
  int status_;
  std::vector<std::pair<std::string, std::string>> headers_;
  bool closes_ = false;
};

// 401: no token, or one that is wrong, revoked or expired. The message never says which.
class Unauthorized : public HttpError {
 public:
  explicit Unauthorized(const std::string& message) : HttpError(401, "Unauthorized", message) {
    with("WWW-Authenticate", "Bearer");
  }
};

// 403: the token does not have the scope, or the call comes from another origin.
class Forbidden : public HttpError {
 public:
  explicit Forbidden(const std::string& message) : HttpError(403, "Forbidden", message) {}
};

// 415: the route does not take bodies of this type or encoding.
class UnsupportedMediaType : public HttpError {
 public:
  explicit UnsupportedMediaType(const std::string& message) : HttpError(415, "UnsupportedMediaType", message) {}
};

// The client closed the connection during its request. There is no answer; the connection ends.
class ClientGone : public HttpError {
 public:
  ClientGone() : HttpError(499, "ClientGone", "the client has closed the connection") { closing(); }
};

}  // namespace hapax::http
