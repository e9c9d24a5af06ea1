// The key of a guarded call: the guard's name with the arguments' canonical JSON, or with the text of a key function. A
// long key is hashed, never cut.
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "guard/core.hpp"

namespace hapax::detail {

namespace {

constexpr std::string_view hashed_prefix = "sha256:";

std::string hashed(std::string_view key) { return std::string(hashed_prefix) + base::to_hex(base::sha256(key)); }

}  // namespace

GuardFingerprint fingerprint_of(std::string_view canonical) { return base::sha256(canonical); }

GuardCallName name_by_arguments(const GuardCore& core, std::string canonical) {
  if (canonical.size() > base::payload_limit()) {
    throw PayloadTooLarge("arguments", canonical.size(), base::payload_limit());
  }
  // JSON escapes control characters only up to U+001F; a key with others is hashed.
  const bool readable = canonical.size() <= limits::key_bytes && !base::has_control_characters(canonical);
  return {{core.options().namespace_name, core.name(), readable ? std::move(canonical) : hashed(canonical)}, {}};
}

GuardCallName name_by_key(const GuardCore& core, std::string key) {
  if (key.empty()) { throw InvalidIdempotencyKey("is empty; expected what makes two calls the same", "key"); }
  if (!base::is_valid_utf8(key)) { throw InvalidIdempotencyKey("is not UTF-8", "key"); }
  if (base::has_control_characters(key)) {
    throw InvalidIdempotencyKey("has control characters: " + base::quoted(key, '"'), "key");
  }
  // A caller's key that looks like a hash is hashed too, so that it cannot equal the hash of another key.
  if (key.size() > limits::key_bytes || key.starts_with(hashed_prefix)) { key = hashed(key); }
  return {{core.options().namespace_name, core.name(), std::move(key)}, {}};
}

}  // namespace hapax::detail
