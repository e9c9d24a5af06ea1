// Where a run of the torture or the herd keeps what it has: a folder and a store of its own.
#pragma once

#include "torture/server.hpp"

#include <optional>
#include <string>

namespace hapax::torture {

struct Place {
  std::string folder;
  std::optional<Server> server;  // of PostgreSQL
  std::string url;               // of the store, which is not made yet
  std::string schema_prefix;     // stands before its tables' names in SQL
};

// `name` tells the run from others in the folder's name and the schema's.
[[nodiscard]] Place make_place(const std::string& store, const std::string& name);

// Of a file that a child left, for those who look at a failure.
[[nodiscard]] std::string first_lines(const std::string& path);

}  // namespace hapax::torture
