#include "http/router.hpp"

#include <algorithm>

namespace hapax::http {

namespace {

bool is_parameter(std::string_view part) { return part.size() > 2 && part.front() == '{' && part.back() == '}'; }

std::vector<std::string> parts_of(const std::string& pattern) {
  if (pattern.empty() || pattern.front() != '/') { throw UsageError("route '" + pattern + "' does not begin with /"); }
  std::vector<std::string> parts;
  for (std::size_t from = 1; from <= pattern.size();) {
    const std::size_t end = std::min(pattern.find('/', from), pattern.size());
    parts.push_back(pattern.substr(from, end - from));
    if (parts.back().empty() && pattern != "/") { throw UsageError("route '" + pattern + "' has an empty part"); }
    from = end + 1;
  }
  if (pattern == "/") { parts.clear(); }
  return parts;
}

// Equal except for the names of parameters.
bool same_shape(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const auto& one, const auto& other) {
    return one == other || (is_parameter(one) && is_parameter(other));
  });
}

bool literals_first(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  return std::lexicographical_compare(
      left.begin(), left.end(), right.begin(), right.end(),
      [](const auto& one, const auto& other) { return !is_parameter(one) && is_parameter(other); });
}

}  // namespace

void Router::add(Route route) {
  std::vector<std::string> parts = parts_of(route.pattern);
  std::vector<Entry>& of_length = entries_[parts.size()];
  auto at = std::find_if(of_length.begin(), of_length.end(), [&](const Entry& entry) { return entry.parts == parts; });
  if (at == of_length.end()) {
    for (const Entry& entry : of_length) {
      if (same_shape(entry.parts, parts)) {
        throw UsageError("route '" + route.pattern + "' was added before with other names of its parameters");
      }
    }
    at = std::find_if(of_length.begin(), of_length.end(),
                      [&](const Entry& entry) { return literals_first(parts, entry.parts); });
    at = of_length.insert(at, Entry{.parts = std::move(parts), .routes = {}});
  }
  for (const auto& other : at->routes) {
    if (other->method == route.method) {
      throw UsageError("route " + route.method + " " + route.pattern + " was added twice");
    }
  }
  at->routes.push_back(std::make_unique<const Route>(std::move(route)));
  order_.push_back(at->routes.back().get());
}

bool Router::fits(const Entry& entry, const std::vector<std::string>& segments) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (is_parameter(entry.parts[i]) ? segments[i].empty() : entry.parts[i] != segments[i]) { return false; }
  }
  return true;
}

const Router::Entry* Router::find_entry(const std::vector<std::string>& segments) const {
  const auto of_length = entries_.find(segments.size());
  if (of_length == entries_.end()) { return nullptr; }
  for (const Entry& entry : of_length->second) {
    if (fits(entry, segments)) { return &entry; }
  }
  return nullptr;
}

Router::Match Router::find(std::string_view method, const std::vector<std::string>& segments) const {
  const Entry* const entry = find_entry(segments);
  if (entry == nullptr) { throw NotFound("there is nothing at this path; /openapi.json lists what there is"); }
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const auto& route : entry->routes) {
    if (route->method != wanted) { continue; }
    Match match{.route = route.get(), .parameters = {}};
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (!is_parameter(entry->parts[i])) { continue; }
      const std::string_view part = entry->parts[i];
      match.parameters.emplace_back(part.substr(1, part.size() - 2), &segments[i]);
    }
    return match;
  }
  throw HttpError(405, "MethodNotAllowed", "this path does not take that method; it takes " + allowed(segments))
      .with("Allow", allowed(segments));
}

std::string Router::allowed(const std::vector<std::string>& segments) const {
  const Entry* const entry = find_entry(segments);
  if (entry == nullptr) { return {}; }
  std::string text;
  for (const auto& route : entry->routes) { text += route->method + (route->method == "GET" ? ", HEAD, " : ", "); }
  return text + "OPTIONS";
}

std::vector<const Route*> Router::routes() const { return order_; }

}  // namespace hapax::http
