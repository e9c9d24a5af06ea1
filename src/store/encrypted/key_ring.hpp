// KeyRing: the keys that payloads are encrypted with (SPEC X5). Several read, one writes.
//
// A file of lines "NAME BASE64", each a name of its own and 32 random bytes; the last line writes. Empty lines and those
// that begin with # are passed over. To bring in a new key: first put its line before the last one, so that all programs
// can read it; then move it to the end; take the old one away when nothing is left that was written with it.
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
  // Tells two keys of one name apart, and nothing about the key.
  [[nodiscard]] std::string check() const;
};

class KeyRing {
 public:
  // At least one key. The last writes.
  explicit KeyRing(std::vector<Key> keys) : keys_(std::move(keys)) {}

  [[nodiscard]] const Key& writing() const { return keys_.back(); }
  [[nodiscard]] const Key* find(std::string_view name) const;

 private:
  std::vector<Key> keys_;
};

// Both throw ConfigurationError, beginning with the place: what base/secret_file.hpp refuses, a line that is none, a name
// that is there twice, no key at all. No part of a key is in a message.
[[nodiscard]] KeyRing parse_key_ring(std::string_view text, const std::string& path);
[[nodiscard]] KeyRing read_key_ring(const std::string& path);

}  // namespace hapax::store::encrypted
