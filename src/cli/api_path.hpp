// Builds percent-encoded paths and queries of the API.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace hapax::cli {

// {"queues", "a b", "pause"} is /v1/queues/a%20b/pause.
[[nodiscard]] std::string path(std::initializer_list<std::string_view> parts);

// Builds a query: ?limit=50&status=failed.
class QueryText {
 public:
  QueryText& add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace hapax::cli
