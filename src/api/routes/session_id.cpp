#include "api/routes/session_id.hpp"

#include "base/sha256.hpp"
#include "base/uuid7.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace hapax::api {

namespace {

constexpr std::size_t mark_at = 12;

std::array<std::uint8_t, 4> mark_of(std::string_view ns, const Uuid& id) {
  std::string text = "hapax session\n";
  text.append(id.bytes.begin(), id.bytes.begin() + mark_at).append(ns);
  const base::Digest digest = base::sha256(text);
  return {digest[0], digest[1], digest[2], digest[3]};
}

}  // namespace

Uuid new_session_id(std::string_view ns) {
  Uuid id = base::new_uuid7();
  const auto mark = mark_of(ns, id);
  std::copy(mark.begin(), mark.end(), id.bytes.begin() + mark_at);
  return id;
}

bool is_session_of(std::string_view ns, const Uuid& id) {
  const auto mark = mark_of(ns, id);
  return std::equal(mark.begin(), mark.end(), id.bytes.begin() + mark_at);
}

}  // namespace hapax::api
