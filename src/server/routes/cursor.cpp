#include "server/routes/cursor.hpp"

#include <hapax/error.hpp>

#include "base/sha256.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace hapax::server {

namespace {

constexpr std::size_t id_letters = 32;
constexpr std::size_t check_letters = 16;

std::string plain(const Uuid& id) {
  std::string text = id.to_string();
  std::erase(text, '-');
  return text;
}

std::string checksum(std::string_view id, const CursorPlace& place) {
  const std::string whole = "hapax cursor\n" + std::to_string(place.ns.size()) + "\n" + std::string(place.ns) +
                            std::string(place.list) + "\n" + std::string(id);
  return base::to_hex(base::sha256(whole)).substr(0, check_letters);
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
    for (const std::size_t at : {20, 16, 12, 8}) { hyphened.insert(at, "-"); }
    if (const std::optional<Uuid> after = Uuid::parse(hyphened)) { return *after; }
  }
  throw InvalidArgument("cursor", "'" + base::printable(base::keep_head(text, 60)) +
                                      "' is none of this list; expected `next` of the page before, with the same "
                                      "filters");
}

}  // namespace hapax::server
