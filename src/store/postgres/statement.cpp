#include "store/postgres/statement.hpp"

namespace hapax::store::postgres {

namespace {

// A string literal that names the sequence of limit keys.
std::string next_sequence(const std::string& quoted_schema) {
  std::string literal;
  for (const char c : quoted_schema) { literal += c == '\'' ? "''" : std::string(1, c); }
  return "nextval('" + literal + ".live_sequence'::regclass)";
}

}  // namespace

std::string expand(std::string_view text, const std::string& quoted_schema) {
  static constexpr std::string_view schema_mark = "{s}";
  static constexpr std::string_view now_mark = "{now}";
  static constexpr std::string_view next_mark = "{next}";
  // clock_timestamp() advances while a transaction waits for a lock, as a lease does.
  static constexpr std::string_view now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
  std::string out;
  out.reserve(text.size() + 256);
  while (!text.empty()) {
    if (text.starts_with(schema_mark)) {
      out += quoted_schema;
      text.remove_prefix(schema_mark.size());
    } else if (text.starts_with(now_mark)) {
      out += now;
      text.remove_prefix(now_mark.size());
    } else if (text.starts_with(next_mark)) {
      out += next_sequence(quoted_schema);
      text.remove_prefix(next_mark.size());
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace hapax::store::postgres
