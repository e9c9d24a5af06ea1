// HttpError: a refusal that belongs to HTTP itself (a wrong method, a body too long, a token that is none) and has no name
// in the library. Errors of the library keep their own types; server/problem.hpp says which status each of them gets.
#pragma once

#include <hapax/error.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::server {

class HttpError : public Error {
 public:
  HttpError(int status, std::string_view name, const std::string& message) : Error(name, message), status_(status) {}

  [[nodiscard]] int status() const { return status_; }
  // Further headers of the answer: Allow, Retry-After, WWW-Authenticate.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& headers() const { return headers_; }
  // The connection ends after the answer: what follows on it cannot be told from the refused request.
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

// 401: no token, or one that is wrong, revoked or over. The message never tells which.
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

// 415: a body of a type, or in an encoding, that the route does not take.
class UnsupportedMediaType : public HttpError {
 public:
  explicit UnsupportedMediaType(const std::string& message) : HttpError(415, "UnsupportedMediaType", message) {}
};

// The client went away in the middle of its request. Nobody is told; the connection ends.
class ClientGone : public HttpError {
 public:
  ClientGone() : HttpError(499, "ClientGone", "the client has closed the connection") { closing(); }
};

}  // namespace hapax::server
