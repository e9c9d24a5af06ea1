// Request and Response: what routes are given and what they answer. Plain values; no network in them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::server {

struct Header {
  std::string_view name;  // in lower case
  std::string_view value;
};

// The head of one request, checked and taken apart by parse_head (server/head.hpp). The views point into `head`, so it is
// not copied. It belongs to its connection and is used again for the next request there.
struct Request {
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  std::string head;                                        // the bytes that the views below point into
  std::string_view method;                                 // "GET"
  std::string_view target;                                 // as it came: never logged, as queries may hold secrets
  std::string_view path;                                   // of the target, as it came
  std::vector<std::string> segments;                       // of the path, percent-decoded: {"v1", "tasks", "a/b"}
  std::vector<std::pair<std::string, std::string>> query;  // percent-decoded, in their order
  std::vector<Header> headers;                             // in their order, repeated ones too
  int version_minor = 1;                                   // of HTTP/1.x
  std::string peer;                                        // "127.0.0.1:53122"

  // The first header of that (lower-case) name.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
  // All of that name.
  [[nodiscard]] std::vector<std::string_view> header_values(std::string_view name) const;
  // A query parameter; throws InvalidArgument naming it when it is there twice.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string_view content_type = "application/json";  // of a text that stays; no header when there is no body
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string error;  // what a refusal is called, for the log
  // Called once, on the call's own fiber, when the answer could not be sent: for what was handed out with it. May wait.
  std::function<void()> on_unsent;
};

}  // namespace hapax::server
