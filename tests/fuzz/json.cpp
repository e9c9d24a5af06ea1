// An independent parser accepts whatever check_json accepts; the canonical form is stable and has the same meaning.
#include <hapax/error.hpp>

#include "base/json.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>

namespace {

void require(bool holds) {
  if (!holds) { std::abort(); }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string canonical;
  try {
    canonical = hapax::base::canonical_json(text);
  } catch (const hapax::InvalidJson& error) {
    require(error.byte_offset() <= size);
    return 0;
  }
  require(nlohmann::json::accept(text));
  require(nlohmann::json::parse(text) == nlohmann::json::parse(canonical));
  try {
    require(hapax::base::canonical_json(canonical) == canonical);
  } catch (const hapax::InvalidJson&) {
    // ECMAScript writes a double from 2^64 to below 1e21 as plain digits, which read as an integer exceed 64 bits.
    require(canonical.find_first_of("0123456789") + 20 <= canonical.size());
  }
  return 0;
}
