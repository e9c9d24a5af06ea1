#include "http/request.hpp"

#include <hapax/error.hpp>

namespace hapax::http {

std::optional<std::string_view> Request::header(std::string_view name) const {
  for (const Header& each : headers) {
    if (each.name == name) { return each.value; }
  }
  return std::nullopt;
}

std::vector<std::string_view> Request::header_values(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Header& each : headers) {
    if (each.name == name) { values.push_back(each.value); }
  }
  return values;
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  std::optional<std::string> found;
  for (const auto& [each, value] : query) {
    if (each != name) { continue; }
    if (found) { throw InvalidArgument(std::string(name), "is in the query twice; expected it once"); }
    found = value;
  }
  return found;
}

}  // namespace hapax::http
