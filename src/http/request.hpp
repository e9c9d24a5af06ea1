// Request and Response: input and output of routes. Plain values without any network access.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::http {

struct Header {
  std::string_view name;  // in lower case
  std::string_view value;
};

// The head of one request, checked and parsed by parse_head (http/head.hpp). The views point into `head`, so a
// Request is not copied. Each belongs to one connection and is reused for that connection's next request.
struct Request {
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  std::string head;                                        // the bytes that the views below point into
  std::string_view method;                                 // "GET"
  std::string_view target;                                 // as received: never logged, as queries may hold secrets
  std::string_view path;                                   // the target's path, as received
  std::vector<std::string> segments;                       // the path's, percent-decoded: {"v1", "tasks", "a/b"}
  std::vector<std::pair<std::string, std::string>> query;  // percent-decoded, in the order received
  std::vector<Header> headers;                             // in the order received, with repetitions
  int version_minor = 1;                                   // of HTTP/1.x
  std::string peer;                                        // "127.0.0.1:53122"

  // The first header of this (lower-case) name.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  // All headers of this name.
  [[nodiscard]] std::vector<std::string_view> header_values(std::string_view name) const;
  // A query parameter; throws InvalidArgument naming it when it occurs twice.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string_view content_type = "application/json";  // a static text; no such header when there is no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string error;  // a refusal's error name, for the log
  // Called once, on the call's own fiber, when the answer could not be sent, to release what it handed out. May wait.
  std::function<void()> on_unsent;
};

}  // namespace hapax::http
