// An encrypted payload as it is stored: a JSON object, so that code that expects JSON accepts it.
//   {"$hapax":"aes-256-gcm","key":"2026a","data":"<base64 of nonce, ciphertext and tag>"}
//
// AES-256-GCM with a random nonce of 96 bits. The payload's Place (its field and its row) is authenticated with it: a
// payload that was changed, or moved to another place, cannot be decrypted.
#pragma once

#include <hapax/error.hpp>
#include <hapax/uuid.hpp>

#include "store/encrypted/key_ring.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::encrypted {

// The place that a payload belongs to: a field's name and the values that identify its row.
class Place {
 public:
  explicit Place(std::string_view field) { add(field); }
  Place& add(std::string_view part);
  Place& add(const Uuid& id);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;  // each part after its length
};

[[nodiscard]] bool is_envelope(std::string_view text);

[[nodiscard]] std::string seal(const Key& key, const Place& place, std::string_view plain);

// Decrypts an envelope. Returns other text unchanged: it was written before encryption was turned on, or by the store
// itself. Throws DecryptionFailed when the key is missing, or the payload was changed or belongs to another place.
[[nodiscard]] std::string open(const KeyRing& keys, const Place& place, std::string_view text);

}  // namespace hapax::store::encrypted
