// Tokens in a file (`hapax serve --token-file F`): for a server whose tokens come with its configuration.
//
// A line is a JSON object as `hapax token create --file F` adds it; empty lines and those that begin with # are passed
// over. A token is revoked by deleting its line. The file has no secrets in it but hashes, and is refused all the same when
// others may read or write it: who can add a line can do anything.
//   {"id":"0193…","hash":"9f86d081…","scopes":["enqueue","read"],"namespace":"shop","expires_at":null,"name":"billing"}
#pragma once

#include "model/token.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::auth {

struct TokenLines {
  std::vector<model::Token> tokens;
  std::vector<std::string> problems;  // "tokens:3: scopes: …"
};

[[nodiscard]] TokenLines parse_token_lines(std::string_view text, const std::string& path);
[[nodiscard]] std::string token_line(const model::Token& token);

// Throws ConfigurationError for what base/secret_file.hpp refuses, and for the first line that is none.
[[nodiscard]] std::vector<model::Token> read_token_file(const std::string& path);

}  // namespace hapax::auth
