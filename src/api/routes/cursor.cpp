#include "api/routes/cursor.hpp"

#include <hapax/error.hpp>

#include "base/sha256.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace hapax::api {

namespace {

constexpr std::size_t id_letters = 32;
constexpr std::size_t check_letters = 16;

std::string plain(const Uuid& id) {
  std::string text = id.to_string();
  std::erase(text, '-');
  return text;
}

std::string checksum(std::string_view id, const CursorPlace& place) {
  const std::string whole = "hapax cursor\n" + std::to_string(place.namespace_name.size()) + "\n" +
                            std::string(place.namespace_name) + std::string(place.list) + "\n" + std::string(id);
  return base::to_hex(base::sha256(whole)).substr(0, check_letters);
}

[[noreturn]] void refuse(std::string_view text) {
  throw InvalidArgument("cursor",
                        base::quoted(text) +
                            " is not a cursor of this list; expected `next` of the page before, with the same "
                            "filters");
}

}  // namespace

std::string make_cursor(const Uuid& after, const CursorPlace& place) {
  const std::string id = plain(after);
  return id + checksum(id, place);
}

Uuid parse_cursor(std::string_view text, const CursorPlace& place) {
  const std::string_view id = text.substr(0, id_letters);
  if (text.size() == id_letters + check_letters && text.substr(id_letters) == checksum(id, place)) {
    std::string hyphened(id);
    for (const std::size_t at : {20U, 16U, 12U, 8U}) { hyphened.insert(at, "-"); }
    if (const std::optional<Uuid> after = Uuid::parse(hyphened)) { return *after; }
  }
  refuse(text);
}

std::string make_name_cursor(std::string_view after, const CursorPlace& place) {
  return checksum(after, place) + std::string(after);
}

std::string parse_name_cursor(std::string_view text, const CursorPlace& place) {
  if (text.size() <= check_letters) { refuse(text); }
  const std::string_view name = text.substr(check_letters);
  if (text.substr(0, check_letters) != checksum(name, place)) { refuse(text); }
  return std::string(name);
}

}  // namespace hapax::api
