#include "http/header_values.hpp"

#include "http/head.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace hapax::http {

namespace {

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && same_ignoring_case(text.substr(text.size() - end.size()), end);
}

// No charset, or utf-8, which JSON requires.
bool is_utf8(std::string_view content_type) {
  while (true) {
    const std::size_t semicolon = content_type.find(';');
    if (semicolon == std::string_view::npos) { return true; }
    content_type.remove_prefix(semicolon + 1);
    std::string_view parameter = base::trimmed(content_type.substr(0, content_type.find(';')));
    if (parameter.size() < 8 || !same_ignoring_case(parameter.substr(0, 8), "charset=")) { continue; }
    parameter.remove_prefix(8);
    if (parameter.size() > 1 && parameter.front() == '"' && parameter.back() == '"') {
      parameter = parameter.substr(1, parameter.size() - 2);
    }
    if (!same_ignoring_case(parameter, "utf-8")) { return false; }
  }
}

}  // namespace

std::string_view media_type(std::string_view content_type) {
  return base::trimmed(content_type.substr(0, content_type.find(';')));
}

bool is_json(std::string_view content_type) {
  const std::string_view type = media_type(content_type);
  return (same_ignoring_case(type, "application/json") || ends_with(type, "+json")) && is_utf8(content_type);
}

bool is_ndjson(std::string_view content_type) {
  const std::string_view type = media_type(content_type);
  return (same_ignoring_case(type, "application/x-ndjson") || same_ignoring_case(type, "application/ndjson") ||
          same_ignoring_case(type, "application/jsonl")) &&
         is_utf8(content_type);
}

bool is_loopback_host(std::string_view host) {
  if (host == "localhost" || host == "[::1]") { return true; }
  if (!host.starts_with("127.") || std::count(host.begin(), host.end(), '.') != 3) { return false; }
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.size() > scheme.size() && same_ignoring_case(origin.substr(0, scheme.size()), scheme) &&
        same_ignoring_case(origin.substr(scheme.size()), host)) {
      return true;
    }
  }
  return false;
}

}  // namespace hapax::http
