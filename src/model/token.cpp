#include "model/token.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace hapax::model {

namespace {

struct TokenNamed {
  TokenScope scope;
  std::string_view name;
};

constexpr std::array<TokenNamed, 4> all = {{{TokenScope::enqueue, "enqueue"},
                                            {TokenScope::read, "read"},
                                            {TokenScope::work, "work"},
                                            {TokenScope::admin, "admin"}}};

TokenScope parse_scope(std::string_view name) {
  for (const TokenNamed& one : all) {
    if (one.name == name) { return one.scope; }
  }
  std::vector<std::string_view> known;
  for (const TokenNamed& one : all) { known.push_back(one.name); }
  throw InvalidArgument("scopes", base::quoted(name) + " is not a scope" + base::suggestion(name, known));
}

}  // namespace

Scopes parse_scopes(std::string_view text) {
  Scopes scopes;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view name = text.substr(at, comma - at);
    const TokenScope scope = parse_scope(name);
    if (scopes.has(scope)) { throw InvalidArgument("scopes", "'" + std::string(name) + "' is named twice"); }
    scopes.add(scope);
    at = comma + 1;
  }
  return scopes;
}

std::vector<std::string_view> scope_names(Scopes scopes) {
  std::vector<std::string_view> names;
  for (const TokenNamed& one : all) {
    if (scopes.has(one.scope)) { names.push_back(one.name); }
  }
  return names;
}

std::string to_string(Scopes scopes) {
  std::string text;
  for (const std::string_view name : scope_names(scopes)) { text += (text.empty() ? "" : ",") + std::string(name); }
  return text;
}

std::string describe(const NewToken& token) {
  std::string scopes;
  for (const std::string_view name : scope_names(token.scopes)) {
    scopes += (scopes.empty() ? "" : ",") + base::json_quote(name);
  }
  return "{\"name\":" + base::json_quote(token.name) + ",\"scopes\":[" + scopes +
         "],\"expires_in\":" + (token.expires_in ? base::json_quote(format_duration(*token.expires_in)) : "null") + "}";
}

std::string Token::actor() const {
  return name.empty() ? "token " + id.to_string() : "token " + name + " (" + id.to_string() + ")";
}

}  // namespace hapax::model
