#include "app/tokens/token_file.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/secret_file.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>

namespace hapax::auth {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 6> members = {"id", "hash", "scopes", "namespace", "expires_at", "name"};

const json& member(const json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) { throw InvalidArgument(name, "is missing"); }
  return *found;
}

std::string text(const json& line, const char* name) {
  const json& value = member(line, name);
  if (!value.is_string()) { throw InvalidArgument(name, "is not a string"); }
  return value.get<std::string>();
}

base::Digest parse_hash(const std::string& hex) {
  base::Digest hash{};
  bool good = hex.size() == hash.size() * 2;
  for (std::size_t i = 0; good && i < hash.size(); ++i) {
    const char* const at = hex.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, hash[i], 16);
    good = error == std::errc() && end == at + 2;
  }
  if (!good) { throw InvalidArgument("hash", "is none; expected the 64 hexadecimal digits of a SHA-256"); }
  return hash;
}

model::Scopes parse_scope_list(const json& list) {
  if (!list.is_array()) { throw InvalidArgument("scopes", "is not a list; expected [\"enqueue\",\"read\"]"); }
  std::string names;
  for (const json& name : list) {
    if (!name.is_string()) { throw InvalidArgument("scopes", "has an item that is not a scope's name"); }
    names += (names.empty() ? "" : ",") + name.get<std::string>();
  }
  return model::parse_scopes(names);
}

model::Token parse_line(std::string_view line) {
  base::check_json(line, "line");
  const json object = json::parse(line);
  if (!object.is_object()) { throw InvalidArgument("line", "is not a JSON object"); }
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(members, name) == members.end()) {
      throw InvalidArgument(base::echo(name), "unknown member" + base::suggestion(name, members));
    }
  }
  model::Token token;
  const std::optional<Uuid> id = Uuid::parse(text(object, "id"));
  if (!id) { throw InvalidArgument("id", "is not a UUID"); }
  token.id = *id;
  token.hash = parse_hash(text(object, "hash"));
  token.scopes = parse_scope_list(member(object, "scopes"));
  token.namespace_name = text(object, "namespace");
  model::check_name(token.namespace_name, "namespace");
  if (!member(object, "expires_at").is_null()) {
    token.expires_at = parse_time(text(object, "expires_at"), "expires_at");
  }
  if (object.contains("name")) { token.name = text(object, "name"); }
  if (!token.name.empty()) { model::check_name(token.name, "name"); }
  return token;
}

}  // namespace

TokenLines parse_token_lines(std::string_view text, const std::string& path) {
  TokenLines lines;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    number += 1;
    if (line.ends_with('\r')) { line.remove_suffix(1); }
    if (line.find_first_not_of(" \t") == std::string_view::npos || line.starts_with('#')) { continue; }
    try {
      lines.tokens.push_back(parse_line(line));
    } catch (const InvalidArgument& error) {
      lines.problems.push_back(base::printable(path) + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  return lines;
}

std::string token_line(const model::Token& token) {
  json line = {{"id", token.id.to_string()},
               {"hash", base::to_hex(token.hash)},
               {"scopes", json::array()},
               {"namespace", token.namespace_name},
               {"expires_at", token.expires_at ? json(format_time(*token.expires_at)) : json()},
               {"name", token.name}};
  for (const std::string_view scope : model::scope_names(token.scopes)) { line["scopes"].push_back(scope); }
  return line.dump();
}

std::vector<model::Token> read_token_file(const std::string& path) {
  TokenLines lines = parse_token_lines(base::read_secret_file(path), path);
  if (!lines.problems.empty()) { throw ConfigurationError(lines.problems.front()); }
  return std::move(lines.tokens);
}

}  // namespace hapax::auth
