// Router: which handler answers a method and a path.
#pragma once

#include "server/call.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::server {

// What a route takes as a request's body. A body of another Content-Type, or with none, is refused (415).
enum class BodyRule : std::uint8_t {
  none,    // a body that comes all the same is passed over
  json,    // application/json; no body at all reads as the empty text
  ndjson,  // application/x-ndjson or application/ndjson, read by next_line
  any,     // the handler looks at the Content-Type itself
};

using Handler = std::function<Response(Call&)>;

struct Route {
  std::string method;   // "GET"; answers HEAD too
  std::string pattern;  // "/v1/executions/{id}/result"
  Scope scope = Scope::none;
  BodyRule body = BodyRule::none;
  Handler handler;
  std::size_t body_limit = 0;  // bytes; 0: limits::http_body(), or limits::http_stream for ndjson
  std::size_t line_limit = 0;  // of ndjson; 0: limits::http_body()
  bool takes_key = false;      // the handler reads Idempotency-Key; every other route refuses a request that has one
};

// Built once, then read by all threads.
class Router {
 public:
  // Throws UsageError for a pattern that is none or that another route has with the same method. Where two patterns fit a
  // path, the one that has a literal first counts: /v1/executions/batch before /v1/executions/{id}.
  void add(Route route);

  struct Match {
    const Route* route = nullptr;
    std::vector<std::pair<std::string_view, const std::string*>> parameters;
  };
  // Throws NotFound (404); HttpError 405 with Allow when the path is known under other methods. HEAD finds GET.
  [[nodiscard]] Match find(std::string_view method, const std::vector<std::string>& segments) const;
  // What the path answers to, as Allow spells it: "GET, HEAD, OPTIONS"; empty: nothing has that path.
  [[nodiscard]] std::string allowed(const std::vector<std::string>& segments) const;

  [[nodiscard]] std::vector<const Route*> routes() const;  // in the order they were added

 private:
  struct Entry {
    std::vector<std::string> parts;  // "{id}" is kept with its braces
    std::vector<std::unique_ptr<const Route>> routes;
  };
  [[nodiscard]] static bool fits(const Entry& entry, const std::vector<std::string>& segments);
  [[nodiscard]] const Entry* find_entry(const std::vector<std::string>& segments) const;

  std::map<std::size_t, std::vector<Entry>> entries_;  // by the number of segments; literals before parameters
  std::vector<const Route*> order_;
};

}  // namespace hapax::server
