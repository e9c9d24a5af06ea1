// Cursors: where the next page of a list begins, as text that a client hands back.
//
// A cursor is good for the list and the namespace it came from, on every server of the store: it has a checksum over all
// three. It is no secret and grants nothing; the checksum is there so that one that was cut, changed or used for another
// list is an error and not a wrong page (docs/decisions/0028).
#pragma once

#include <hapax/uuid.hpp>

#include <string>
#include <string_view>

namespace hapax::server {

struct CursorPlace {
  std::string_view ns;
  std::string_view list;  // the filters
};

[[nodiscard]] std::string make_cursor(const Uuid& after, const CursorPlace& place);
// Throws InvalidArgument naming "cursor".
[[nodiscard]] Uuid parse_cursor(std::string_view text, const CursorPlace& place);

// The same for lists that are in the order of names.
[[nodiscard]] std::string make_name_cursor(std::string_view after, const CursorPlace& place);
[[nodiscard]] std::string parse_name_cursor(std::string_view text, const CursorPlace& place);

}  // namespace hapax::server
