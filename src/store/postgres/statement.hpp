// Statement: SQL with a name under which a connection prepares it.
//
// Texts write {s} for the schema, so that nothing relies on search_path, {now} for the server's clock in whole
// microseconds and {next} for the next number in the order of limit keys. Statements are constants of the files that
// use them; a connection identifies them by address.
#pragma once

#include "store/postgres/params.hpp"

#include <string>
#include <utility>

namespace hapax::store::postgres {

struct Statement {
  const char* name;
  const char* text;
};

// A statement with its parameters, one step of a pipeline.
struct Call {
  const Statement* statement;
  Params params;
};

// Keeps a text that is composed once. Never destroyed: a thread that outlives main, such as one with a stuck handler,
// may use the store while the process ends.
[[nodiscard]] inline const std::string& keep_text(std::string text) { return *new std::string(std::move(text)); }

// `text` with {s}, {now} and {next} filled in.
[[nodiscard]] std::string expand(std::string_view text, const std::string& quoted_schema);

}  // namespace hapax::store::postgres
