// Tokens in a file (`hapax serve --token-file F`): for a server whose tokens come with its configuration.
//
// Each line is a JSON object as `hapax token create --file F` writes it; empty lines and lines that begin with # are
// skipped. Deleting a line revokes its token. The file has hashes, not secrets, but is refused when other users may
// read or write it: a user who can add a line can do anything.
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

// The tokens of a file. Throws ConfigurationError for a file that base/secret_file.hpp refuses, and for the first
// invalid line.
[[nodiscard]] std::vector<model::Token> read_token_file(const std::string& path);

}  // namespace hapax::auth
