#include "api/routes/idempotency_key.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <string_view>
#include <vector>

namespace hapax::api {

namespace {

[[noreturn]] void refuse(std::string_view value, const char* why) {
  throw InvalidIdempotencyKey("the header Idempotency-Key, " + base::quoted(value) + ", " + why +
                              "; expected a string in quotes, such as \"charge-order-456\"");
}

// RFC 8941, 3.3.3: printable ASCII, with the escapes \" and \\. Parameters after it are ignored.
std::string unquoted(std::string_view value) {
  std::string key;
  std::size_t at = 1;
  for (; at < value.size() && value[at] != '"'; ++at) {
    const char c = value[at];
    if (c < ' ' || c > '~') { refuse(value, "has letters that are not printable ASCII"); }
    if (c != '\\') {
      key += c;
      continue;
    }
    ++at;
    if (at == value.size() || (value[at] != '"' && value[at] != '\\')) { refuse(value, "has a stray backslash"); }
    key += value[at];
  }
  if (at == value.size()) { refuse(value, "has no closing quote"); }
  const std::string_view rest = value.substr(at + 1);
  if (!rest.empty() && rest.front() != ';') { refuse(value, "goes on behind its closing quote"); }
  return key;
}

}  // namespace

std::optional<std::string> idempotency_key(const http::Request& request) {
  const std::vector<std::string_view> values = request.header_values("idempotency-key");
  if (values.empty()) { return std::nullopt; }
  if (values.size() > 1) {
    throw InvalidIdempotencyKey("there are " + std::to_string(values.size()) +
                                " headers Idempotency-Key; expected one at most");
  }
  const std::string_view value = values.front();
  return value.starts_with('"') ? unquoted(value) : std::string(value);
}

}  // namespace hapax::api
