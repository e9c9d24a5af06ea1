#include "model/effect_key.hpp"

#include <array>

namespace hapax::model {

namespace {

template <std::size_t size>
std::string_view as_text(const std::array<std::uint8_t, size>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

}  // namespace

std::string effect_key(const std::optional<std::string>& stored, const std::optional<base::Digest>& identity,
                       const Uuid& id) {
  if (stored) { return *stored; }
  // Hashed again, so that the key reveals nothing that could be compared with a stored identity.
  const std::array<std::string_view, 3> parts = {"hapax effect key", identity ? "identity" : "execution",
                                                 identity ? as_text(*identity) : as_text(id.bytes)};
  const base::Digest digest = base::sha256_parts(parts);
  return "hx_" + base::to_hex(std::span(digest).first(16));
}

}  // namespace hapax::model
