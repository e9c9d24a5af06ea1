// The folder and the store of one run of the torture or the herd.
#pragma once

#include "torture/server.hpp"

#include <optional>
#include <string>

namespace hapax::torture {

struct Place {
  std::string folder;
  std::optional<Server> server;  // PostgreSQL only
  std::string url;               // URL of the store, which does not exist yet
  std::string schema_prefix;     // prefix of table names in SQL
};

// `name` becomes part of the folder's and the schema's name.
[[nodiscard]] Place make_place(const std::string& store, const std::string& name);

// The first lines of a file that a child left, for failure messages.
[[nodiscard]] std::string first_lines(const std::string& path);

}  // namespace hapax::torture
