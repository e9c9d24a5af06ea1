// KeyRing: the keys that payloads are encrypted with. Every key decrypts; one encrypts.
//
// The key file has lines "NAME BASE64", each with a name of its own and 32 random bytes; the last line's key encrypts.
// Empty lines and lines that begin with # are ignored. To bring in a new key: first add its line before the last one,
// so that all programs can decrypt with it; then move it to the end; remove the old line when no payload is left that
// was written with it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::encrypted {

struct Key {
  std::string name;
  std::array<std::uint8_t, 32> bytes{};
  // Distinguishes two keys of one name and reveals nothing about the key.
  [[nodiscard]] std::string check() const;
};

class KeyRing {
 public:
  // At least one key. The last one encrypts.
  explicit KeyRing(std::vector<Key> keys) : keys_(std::move(keys)) {}

  [[nodiscard]] const Key& writing() const { return keys_.back(); }
  [[nodiscard]] const Key* find(std::string_view name) const;

 private:
  std::vector<Key> keys_;
};

// Both throw ConfigurationError, with the place in front, for a file that base/secret_file.hpp refuses, a line that is
// no key, a name that appears twice, or no key at all. No message contains any part of a key.
[[nodiscard]] KeyRing parse_key_ring(std::string_view text, const std::string& path);
[[nodiscard]] KeyRing read_key_ring(const std::string& path);

}  // namespace hapax::store::encrypted
