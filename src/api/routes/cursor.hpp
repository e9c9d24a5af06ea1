// Cursors: where the next page of a list begins, as text that the client sends back.
//
// A cursor is valid for its list and namespace, on every server of the store: it has a checksum over all three. A
// cursor is not secret and grants nothing; the checksum turns a cursor that was cut, changed or used for another list
// into an error instead of a wrong page (docs/decisions/0028).
#pragma once

#include <hapax/uuid.hpp>

#include <string>
#include <string_view>

namespace hapax::api {

struct CursorPlace {
  std::string_view namespace_name;
  std::string_view list;  // the filters
};

[[nodiscard]] std::string make_cursor(const Uuid& after, const CursorPlace& place);
// Throws InvalidArgument naming "cursor".
[[nodiscard]] Uuid parse_cursor(std::string_view text, const CursorPlace& place);

// The same for lists sorted by name.
[[nodiscard]] std::string make_name_cursor(std::string_view after, const CursorPlace& place);
[[nodiscard]] std::string parse_name_cursor(std::string_view text, const CursorPlace& place);

}  // namespace hapax::api
