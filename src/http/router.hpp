// Router: finds the route for a method and a path.
#pragma once

#include "http/call.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::http {

// The body that a route accepts. A body without a Content-Type, or with another one, is refused (415).
enum class BodyRule : std::uint8_t {
  none,    // a body is read and ignored
  json,    // application/json; no body reads as the empty text
  ndjson,  // application/x-ndjson or application/ndjson, read by next_line
  any,     // the handler checks the Content-Type itself
};

using Handler = std::function<Response(Call&)>;

struct Route {
  std::string method;   // "GET"; also answers HEAD
  std::string pattern;  // "/v1/executions/{id}/result"
  Scope scope = Scope::none;
  BodyRule body = BodyRule::none;
  Handler handler;
  std::size_t body_limit = 0;  // bytes; 0: limits::http_body(), or limits::http_stream for ndjson
  std::size_t line_limit = 0;  // for ndjson; 0: limits::http_body()
  bool takes_key = false;      // the handler reads Idempotency-Key; all other routes refuse a request with that header
};

// A Router is built once, then read by all threads.
class Router {
 public:
  // Throws UsageError for an invalid pattern, or one that another route has with the same method. When two patterns fit
  // a path, the one with a literal first wins: /v1/executions/batch before /v1/executions/{id}.
  void add(Route route);

  struct Match {
    const Route* route = nullptr;
    std::vector<std::pair<std::string_view, const std::string*>> parameters;
  };
  // Throws NotFound (404), or HttpError 405 with Allow when the path exists under other methods. HEAD finds GET.
  [[nodiscard]] Match find(std::string_view method, const std::vector<std::string>& segments) const;
  // The path's methods as an Allow header: "GET, HEAD, OPTIONS"; empty: no route has that path.
  [[nodiscard]] std::string allowed(const std::vector<std::string>& segments) const;

  [[nodiscard]] std::vector<const Route*> routes() const;  // in the order they were added

 private:
  struct Entry {
    std::vector<std::string> parts;  // "{id}" keeps its braces
    std::vector<std::unique_ptr<const Route>> routes;
  };
  [[nodiscard]] static bool fits(const Entry& entry, const std::vector<std::string>& segments);
  [[nodiscard]] const Entry* find_entry(const std::vector<std::string>& segments) const;

  std::map<std::size_t, std::vector<Entry>> entries_;  // by the number of segments; literals before parameters
  std::vector<const Route*> order_;
};

}  // namespace hapax::http
